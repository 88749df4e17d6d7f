"""Let a model move from a start under constant controls: what `plausim simulate` does."""

from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from plausim import mechanics
from plausim.mechanics.joints import JOINTS, parts, sizes
from plausim.mechanics.kinematics import frames
from plausim.mechanics.model import WORLD, Model, on_device
from plausim.parameters import find, paths
from plausim.report.motion import Curve, draw_motion

UNITS = {"hinge": ("rad", "rad/s"), "slide": ("m", "m/s"), "ball": ("quaternion", "rad/s"), "free": ("m, quaternion", "m/s, rad/s")}
MOST_DRAWN = 1000  # rows of the motion that the figure looks at


@dataclass(frozen=True)
class Run:
    model: Model
    time: Float[np.ndarray, " steps"]
    states: Float[np.ndarray, "steps state"]


def changed(model: Model, values: dict[str, float]) -> Model:
    """The model with other numbers, by path."""
    known = paths(model)
    for path, value in values.items():
        model = find(known, path).write(model, value)
    return model


def run(model: Model, seconds: float, start: dict[str, float], control: dict[str, float]) -> Run:
    """So many seconds from where the file draws the robot, but for the joints named in `start`."""
    state = mechanics.start(model)
    scalar = {n: p.positions.start for n, k, p in zip(model.joints.name, model.joints.kind, parts(model.joints.kind),
              strict=True) if JOINTS[k].positions == 1}  # fmt: skip
    for name, value in start.items():
        state[_place(scalar, name, "hinge or slide")] = value
    actuators = {name: i for i, name in enumerate(model.actuators.name)}
    constant = np.zeros(len(actuators))
    for name, value in control.items():
        constant[_place(actuators, name, "actuator")] = value
    steps = max(1, round(seconds / float(model.timestep)))
    states = mechanics.simulate(model, state, np.tile(constant, (steps, 1)))
    time = float(model.timestep) * np.arange(1, steps + 1)
    return Run(model, time, np.asarray(states))


def _place(known: dict[str, int], name: str, what: str) -> int:
    if name not in known:
        raise ValueError(f"the model has no {what} {name}; it has {', '.join(known) or 'none'}.")
    return known[name]


def curves(run: Run) -> list[Curve]:
    """Positions, then velocities, joint by joint."""
    nq, _ = sizes(run.model.joints.kind)
    found: list[Curve] = []
    for which in (0, 1):
        for name, kind, part in zip(
            run.model.joints.name, run.model.joints.kind, parts(run.model.joints.kind), strict=True
        ):
            columns = run.states[:, (part.positions if which == 0 else _shifted(part.velocities, nq))].T
            for i, values in enumerate(columns):
                found.append(Curve(name if len(columns) == 1 else f"{name} {i}", UNITS[kind][which], values))
    return found


def _shifted(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


def bones(run: Run) -> Float[np.ndarray, "steps bones 2 3"]:
    """Lines from each body to its parent, and to its sites and its centre of mass."""
    model, (nq, _) = on_device(run.model), sizes(run.model.joints.kind)

    def lines(q):
        world, found = frames(model, q), []
        for i, parent in enumerate(model.bodies.parent):
            if parent != WORLD:
                found.append((world[parent].pos, world[i].pos))
            ends = [model.sites.pos[s] for s, body in enumerate(model.sites.body) if body == i]
            found += [(world[i].pos, world[i].pos + world[i].turn @ end) for end in (*ends, 2 * model.bodies.com[i])]
        return jnp.array([jnp.stack(pair) for pair in found]).reshape(-1, 2, 3)

    return np.asarray(jax.jit(jax.vmap(lines))(jnp.asarray(run.states[:, :nq])))


def draw(run: Run, name: str, file: Path) -> None:
    """The figure of `plausim simulate --plot`."""
    every = max(1, len(run.time) // MOST_DRAWN)
    seen = Run(run.model, run.time[::every], run.states[::every])
    draw_motion(seen.time, curves(seen), bones(seen), name).savefig(file, dpi=120)


def write_csv(run: Run, name: str, file: Path) -> None:
    """Time and every number of the state, with a line of names."""
    names = [c.name for c in curves(run)]
    half = sizes(run.model.joints.kind)[0]
    header = ["time", *(f"{n}.{'position' if i < half else 'velocity'}" for i, n in enumerate(names))]
    np.savetxt(file, np.column_stack([run.time, run.states]), delimiter=",", header=",".join(header), comments="")


def summary(run: Run, name: str) -> str:
    """One line of what happened."""
    if not np.all(np.isfinite(run.states)):
        row = int(np.argmax(~np.all(np.isfinite(run.states), axis=1)))
        return (
            f"{name}: the motion becomes infinite after {run.time[row]:.3g} s; use a shorter timestep "
            f"(now {float(run.model.timestep):g} s) or an implicit integrator (now {run.model.integrator})."
        )
    fastest = float(np.max(np.abs(run.states[:, sizes(run.model.joints.kind)[0] :]), initial=0.0))
    return f"{name}: {len(run.time)} steps, {run.time[-1]:g} s; the largest velocity was {fastest:.3g}."
