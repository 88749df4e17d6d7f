"""Let a model move from a start under constant controls: what `plausim simulate` does."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from plausim import mechanics
from plausim.mechanics.integrators import INTEGRATORS
from plausim.mechanics.joints import parts, sizes
from plausim.mechanics.kinematics import frames
from plausim.mechanics.model import WORLD, Model, on_device
from plausim.parameters import impossible
from plausim.paths import changed, closest
from plausim.report.motion import Curve, Skeleton, draw_motion
from plausim.writing import replacing

MOST_STEPS = 5_000_000
MOST_DRAWN = 1000  # rows of the motion that the figure looks at
PLACE, TURN, SPIN = (".x", ".y", ".z"), (".qw", ".qx", ".qy", ".qz"), (".rx", ".ry", ".rz")
NUMBERS = {  # of each kind of joint, its positions and its velocities: what follows its name, and the unit
    "hinge": ([("", "rad")], [("", "rad/s")]),
    "slide": ([("", "m")], [("", "m/s")]),
    "ball": ([(c, "quaternion") for c in TURN], [(c, "rad/s") for c in SPIN]),
    "free": (
        [(c, "m") for c in PLACE] + [(c, "quaternion") for c in TURN],
        [(c, "m/s") for c in PLACE] + [(c, "rad/s") for c in SPIN],
    ),
}


class Plan(NamedTuple):
    start: Float[np.ndarray, " state"]
    controls: Float[np.ndarray, "steps controls"]


class Run(NamedTuple):
    model: Model
    time: Float[np.ndarray, " rows"]
    states: Float[np.ndarray, "rows state"]  # the first is the start


def read(source: str, ignore: Iterable[str] = ()) -> Model:
    """A robot from a file, or one of those that come along, by name."""
    if source in mechanics.ROBOTS and not Path(source).exists():
        return mechanics.robot(source)
    if not Path(source).exists():
        named = f"a file (.xml or .urdf) or one of the models that come along: {', '.join(mechanics.ROBOTS)}"
        raise ValueError(f"there is no model file {source}; name {named}.")
    return mechanics.load(source, ignore=list(ignore))


def prepare(model: Model, values: Mapping[str, float], integrator: str | None = None) -> Model:
    """The model with other numbers by path, and moved on in another way, if it can exist."""
    if integrator is not None:
        if integrator not in INTEGRATORS:
            raise ValueError(f"there is no integrator {integrator}; there are {', '.join(INTEGRATORS)}.")
        model = replace(model, integrator=integrator)
    model = changed(model, values)
    if wrong := impossible(model):
        raise ValueError(f"such a robot cannot exist: {'; '.join(wrong)}.")
    return model


def plan(model: Model, seconds: float, start: Mapping[str, float], control: Mapping[str, float]) -> Plan:
    """So many seconds, from where the file draws the robot but for the numbers named in `start`."""
    state, places = mechanics.start(model), state_names(model)
    for name, value in start.items():
        state[_row(places, name, "joint position or velocity")] = value
    _turned(model, state)
    constant, places = np.zeros(len(model.actuators.name)), {n: i for i, n in enumerate(model.actuators.name)}
    for name, value in control.items():
        constant[_row(places, name, "actuator")] = value
    return Plan(state, np.tile(constant, (step_count(seconds, float(model.timestep)), 1)))


def _turned(model: Model, state: Float[np.ndarray, " state"]) -> None:
    """A quaternion of any length is a turn, but that of length 0."""
    for name, kind, part in zip(model.joints.name, model.joints.kind, parts(model.joints.kind), strict=True):
        if kind in ("ball", "free") and not np.any(state[part.positions][-4:]):
            raise ValueError(
                f"{name} starts with the quaternion 0 0 0 0, which is no turn; start it at {name}.qw=1, unturned."
            )


def run(model: Model, plan: Plan) -> Run:
    states = np.asarray(mechanics.simulate(model, plan.start, plan.controls))
    time = float(model.timestep) * np.arange(len(states) + 1)
    return Run(model, time, np.concatenate([plan.start[None], states]))


def step_count(seconds: float, timestep: float) -> int:
    if not 0 < seconds < np.inf:
        raise ValueError(f"{seconds:g} seconds cannot be simulated; ask for more than 0.")
    steps = max(1, round(seconds / timestep))
    if steps > MOST_STEPS:
        raise ValueError(
            f"{seconds:g} s in steps of {timestep:g} s are {steps:,} steps, of {MOST_STEPS:,} at most; ask for "
            f"{MOST_STEPS * timestep:g} s or less."
        )
    return steps


def state_names(model: Model) -> dict[str, int]:
    """Where each number of the state stands: `elbow.position`, `elbow.velocity`; `elbow` alone is its position."""
    numbers = [f"{name}.{'position' if i == 0 else 'velocity'}" for i in (0, 1) for name, _ in _columns(model, i)]
    found = {name: i for i, name in enumerate(numbers)}
    return found | {n.removesuffix(".position"): i for n, i in found.items() if n.endswith(".position")}


def _columns(model: Model, which: int) -> list[tuple[str, str]]:
    """Name and unit of the positions (0) or velocities (1)."""
    named = zip(model.joints.name, model.joints.kind, strict=True)
    return [(f"{name}{component}", unit) for name, kind in named for component, unit in NUMBERS[kind][which]]


def _row(known: Mapping[str, int], name: str, what: str) -> int:
    if name not in known:
        names = [n for n in known if not n.endswith(".position")]
        listed = f"there are {', '.join(names)}" if names else "there are none"
        raise ValueError(f"the model has no {what} {name}; {closest(name, names, listed)}")
    return known[name]


def curves(run: Run) -> list[Curve]:
    """Positions, then velocities, joint by joint."""
    columns = _columns(run.model, 0) + _columns(run.model, 1)
    return [Curve(name, unit, values) for (name, unit), values in zip(columns, run.states.T, strict=True)]


def skeleton(run: Run) -> Skeleton:
    """Lines from each body to its parent and sites, and along its capsules; of a bare last link, to its centre."""
    model, (nq, _) = on_device(run.model), sizes(run.model.joints.kind)

    def lines(q):
        world, bones, tips = frames(model, q), [], []
        for i, parent in enumerate(model.bodies.parent):
            here, ends = world[i], _ends(model, i)
            if parent != WORLD:
                bones.append((world[parent].pos, here.pos))
            bones += [tuple(here.pos + here.turn @ place for place in pair) for pair in ends]
            if i not in model.bodies.parent:
                tips.append(bones[-1][1] if bones else here.pos)
        pairs = [jnp.stack(pair) for pair in bones]
        return jnp.stack(pairs) if pairs else jnp.zeros((0, 2, 3)), jnp.array(tips).reshape(-1, 3)

    bones, tips = jax.jit(jax.vmap(lines))(jnp.asarray(run.states[:, :nq]))
    floors = [i for i, kind in enumerate(model.geoms.kind) if kind == "plane" and model.geoms.body[i] == WORLD]
    level = [float(model.geoms.pos[i, 2]) for i in floors if float(model.geoms.turn[i, 2, 2]) > 0.999]
    return Skeleton(np.asarray(bones), np.asarray(tips), max(level, default=None))


def _ends(model: Model, body: int) -> list[tuple[jax.Array, jax.Array]]:
    """Lines that are fixed in a body's frame."""
    b, s, g = model.bodies, model.sites, model.geoms
    origin = jnp.zeros_like(b.pos[body])
    found = []
    for i in (i for i, owner in enumerate(g.body) if owner == body and g.kind[i] in ("capsule", "cylinder")):
        along = g.size[i, 1] * g.turn[i, :, 2]
        found.append((g.pos[i] - along, g.pos[i] + along))
    found += [(origin, s.pos[i]) for i, owner in enumerate(s.body) if owner == body]
    return found or ([] if body in b.parent else [(origin, b.com[body])])


def draw(run: Run, name: str, file: Path) -> None:
    """The figure of `plausim simulate --plot`."""
    seen = np.unique(np.linspace(0, len(run.time) - 1, min(len(run.time), MOST_DRAWN)).astype(int))
    few = Run(run.model, run.time[seen], run.states[seen])
    draw_motion(few.time, curves(few), skeleton(few), name).savefig(file, dpi=120)


def write_csv(run: Run, file: Path) -> None:
    """Time and every number of the state, below a line of names."""
    names = [n for n in state_names(run.model) if n.endswith((".position", ".velocity"))]
    rows = np.column_stack([run.time, run.states])
    with replacing(file) as temporary:
        np.savetxt(temporary, rows, delimiter=",", header=",".join(["time", *names]), comments="", fmt="%.12g")


def summary(run: Run, name: str) -> str:
    """One line of what happened."""
    done = f"{name}: {run.time[-1]:g} s in {len(run.time) - 1:,} steps of {float(run.model.timestep):g} s"
    moving = _columns(run.model, 1)
    if not moving:
        return f"{done}; nothing moved: it has no joints."
    speeds = np.abs(run.states[:, run.states.shape[1] - len(moving) :])
    if not np.any(speeds):
        return f"{done}; nothing moved."
    row, column = np.unravel_index(np.argmax(speeds), speeds.shape)
    (joint, unit), when = moving[column], run.time[row]
    return f"{done}; fastest was {joint} with {speeds[row, column]:.3g} {unit} at {when:.3g} s."


def check(run: Run, name: str) -> None:
    """A motion that became infinite is an error that says when, and what to do."""
    fine = np.all(np.isfinite(run.states), axis=1)
    if not fine.all():
        raise ValueError(
            f"{name}: the motion becomes infinite at {run.time[np.argmin(fine)]:.3g} s; use a shorter timestep (now "
            f"{float(run.model.timestep):g} s), another integrator (now {run.model.integrator}), or less stiff "
            f"numbers, such as --set timestep={float(run.model.timestep) / 5:g}"
        )
