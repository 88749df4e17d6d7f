"""What is inferred: numbers of a model by path, their limits, and how a vector of them becomes a model.

    link2.mass  link2.com.x  link2.inertia.xx  link2.pos.z  link2.tilt.y  link2.logcholesky.d1
    elbow.damping  elbow.frictionloss  floor.friction  servo.kp  gravity.z  timestep

A path is an element's name, a field and, where the field has several numbers, a component. Where two elements share
both, the kind in front tells them apart: `geom:foot.pos.z`.

Layers of use: `paths(model)` lists everything, `choose(model, ...)` picks, `place(chosen, values)` gives the model with
these values, inside a compiled step too.
"""

import difflib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.mechanics import cholesky
from plausim.mechanics.model import Model, on_device

Number = Float[Array, ""]
Values = Float[Array, " parameters"]
Into = Callable[[Model, dict[str, Number]], Model]

XYZ = ("x", "y", "z")
SYMMETRIC = ("xx", "yy", "zz", "xy", "xz", "yz")
SINGLE = ("",)
KINDS = {"bodies": "body", "joints": "joint", "actuators": "actuator", "sites": "site", "geoms": "geom"}
FIELDS: dict[str, dict[str, tuple[tuple[str, ...], str]]] = {  # components and unit; of joints, for hinges and slides
    "bodies": {
        "mass": (SINGLE, "kg"), "com": (XYZ, "m"), "inertia": (SYMMETRIC, "kg m^2"),
        "pos": (XYZ, "m"), "tilt": (XYZ, "rad"),
    },
    "joints": {
        "damping": (SINGLE, "N m s/rad|N s/m"), "armature": (SINGLE, "kg m^2|kg"), "frictionloss": (SINGLE, "N m|N"),
        "frictionspeed": (SINGLE, "rad/s|m/s"), "stiffness": (SINGLE, "N m/rad|N/m"), "springref": (SINGLE, "rad|m"),
        "ref": (SINGLE, "rad|m"), "lower": (SINGLE, "rad|m"), "upper": (SINGLE, "rad|m"),
        "limitstiffness": (SINGLE, "N m/rad|N/m"), "limitdissipation": (SINGLE, "s/rad|s/m"),
        "pos": (XYZ, "m"), "axis": (XYZ, ""),
    },
    "actuators": {
        "gear": (tuple("012345"), ""), "gain": (tuple("012"), ""), "bias": (tuple("012"), ""),
        "ctrllower": (SINGLE, ""), "ctrlupper": (SINGLE, ""), "forcelower": (SINGLE, ""), "forceupper": (SINGLE, ""),
    },
    "sites": {"pos": (XYZ, "m")},
    "geoms": {
        "friction": (SINGLE, ""), "stiffness": (SINGLE, "N/m"), "dissipation": (SINGLE, "s/m"),
        "slipspeed": (SINGLE, "m/s"), "size": (tuple("012"), "m"), "pos": (XYZ, "m"),
    },
}  # fmt: skip


class Path(NamedTuple):
    """A number of a model: how it is read, and the model with another one in its place."""

    name: str
    unit: str
    read: Callable[[Model], Any]
    write: Callable[[Model, Any], Model]


@dataclass(frozen=True)
class Parameter:
    """A number in doubt. All of `paths` are set to it; without any, a function of the model uses it by name."""

    name: str
    low: float
    high: float
    paths: tuple[str, ...] = ()
    log: bool = False  # whether the unit interval is stretched over its logarithm
    unit: str = ""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"{self.name} has the limits {self.low:g} and {self.high:g}; give the lower one first.")
        if self.log and self.low <= 0:
            raise ValueError(f"{self.name} is on a logarithmic scale from {self.low:g}; start it above 0.")


@dataclass(frozen=True)
class Parameters:
    """A model, and which of its numbers are in doubt."""

    model: Model
    chosen: tuple[Parameter, ...]
    writers: tuple[tuple[Path, ...], ...]
    into: Into | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.chosen)


def parameter(path: str, low: float, high: float, *tied: str, log: bool = False) -> Parameter:
    """A parameter that goes by its path; further paths are set to the same value."""
    return Parameter(path, low, high, (path, *tied), log)


def choose(model: Model, chosen: Sequence[Parameter], into: Into | None = None) -> Parameters:
    """Pick the numbers in doubt. `into(model, {name: value})` places those that have no path, or change several."""
    known = paths(model)
    names = [p.name for p in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the parameter {name} is given {names.count(name)} times; each may be given once.")
    for p in chosen:
        if not p.paths and into is None:
            raise ValueError(f"{p.name} has no path, and there is no function that would use it; give it one of them.")
    writers = tuple(tuple(find(known, path) for path in p.paths) for p in chosen)
    for p, found in zip(chosen, writers, strict=True):
        for path in found:
            value = float(path.read(model))
            if not p.low <= value <= p.high:
                warnings.warn(
                    f"{path.name} is {value:g} in the model, outside its limits {p.low:g} and {p.high:g}.", stacklevel=2
                )
    units = [replace(p, unit=p.unit or (w[0].unit if w else "")) for p, w in zip(chosen, writers, strict=True)]
    return Parameters(model, tuple(units), writers, into)


def find(known: dict[str, Path], path: str) -> Path:
    """The number that a path leads to, or an error with the closest ones."""
    if path in known:
        return known[path]
    several = [name for name in known if name.split(":", 1)[-1] == path]
    if several:
        raise ValueError(f"{path} may be {' or '.join(several)}; say which.")
    near = difflib.get_close_matches(path, known, n=3, cutoff=0.4)
    advice = f"did you mean {', '.join(near)}?" if near else "`plausim parameters` lists all paths of a model."
    raise ValueError(f"the model has no number {path}; {advice}")


def place(parameters: Parameters, values: Values) -> Model:
    """The model with these values. Inside a step, what is not inferred stays known to the compiler."""
    model = on_device(parameters.model, values.dtype)
    for writers, value in zip(parameters.writers, values, strict=True):
        for path in writers:
            model = path.write(model, value)
    if parameters.into is not None:
        model = parameters.into(model, dict(zip(parameters.names, values, strict=True)))
    return model


# ---- the unit box


def limits(parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p.low for p in parameters.chosen]), np.array([p.high for p in parameters.chosen])


def from_unit(parameters: Parameters, point: Values) -> Values:
    """From the unit box to values: linear, or linear in the logarithm."""
    ends = [(np.log(p.low), np.log(p.high)) if p.log else (p.low, p.high) for p in parameters.chosen]
    low, high = (jnp.asarray(end, point.dtype) for end in np.array(ends).reshape(-1, 2).T)
    log = np.array([p.log for p in parameters.chosen], bool)
    inside = low + (high - low) * point
    return jnp.where(log, jnp.exp(jnp.where(log, inside, 0.0)), inside)


def to_unit(parameters: Parameters, values: Values) -> Values:
    """The way back."""
    ends = [(np.log(p.low), np.log(p.high)) if p.log else (p.low, p.high) for p in parameters.chosen]
    low, high = (jnp.asarray(end, values.dtype) for end in np.array(ends).reshape(-1, 2).T)
    log = np.array([p.log for p in parameters.chosen], bool)
    inside = jnp.where(log, jnp.log(jnp.where(log, values, 1.0)), values)
    return (inside - low) / (high - low)


def sobol(parameters: Parameters, count: int) -> Float[np.ndarray, "count parameters"]:
    """Evenly spread points of the unit box: Sobol's, not scrambled, without the corner that they begin with."""
    from scipy.stats import qmc

    generator = qmc.Sobol(len(parameters.chosen), scramble=False)
    return generator.random_base2(count.bit_length())[1 : count + 1]


# ---- every number of a model


def paths(model: Model) -> dict[str, Path]:
    """All numbers of a model by path."""
    found: dict[str, list[tuple[str, Path]]] = {}
    for kind, path in _all(model):
        found.setdefault(path.name, []).append((kind, path))
    named = {}
    for name, several in found.items():
        for kind, path in several:
            own = name if len(several) == 1 else f"{kind}:{name}"
            named[own] = path._replace(name=own)
    return named


def _all(model: Model) -> Iterable[tuple[str, Path]]:
    for part, fields in FIELDS.items():
        for row, name in enumerate(getattr(model, part).name):
            scalar = part != "joints" or model.joints.kind[row] in ("hinge", "slide")
            for field, (components, unit) in fields.items():
                if scalar or field in ("damping", "armature", "frictionloss", "frictionspeed", "stiffness", "pos"):
                    own = _unit(model, part, row, unit)
                    for c, component in enumerate(components):
                        full = ".".join(filter(None, (name, field, component)))
                        yield KINDS[part], _element(part, field, row, None if components == SINGLE else c, full, own)
    for row, name in enumerate(model.bodies.name):
        for c, component in enumerate(cholesky.NAMES):
            yield "body", _ten(row, c, f"{name}.logcholesky.{component}")
    yield from (("actuator", path) for row in range(len(model.actuators.name)) for path in _servo(model, row))
    for c, axis in enumerate(XYZ):
        yield "", Path(f"gravity.{axis}", "m/s^2", lambda m, c=c: m.gravity[c], _gravity(c))
    yield "", Path("timestep", "s", lambda m: m.timestep, lambda m, v: replace(m, timestep=v))


def _unit(model: Model, part: str, row: int, unit: str) -> str:
    """Of a hinge the unit before the bar, of a slide the one behind it."""
    slides = part == "joints" and model.joints.kind[row] == "slide"
    return unit.split("|")[-1 if slides else 0]


def _element(part: str, field: str, row: int, component: int | None, name: str, unit: str) -> Path:
    where = row if component is None else (row, component)

    def write(model: Model, value: Any) -> Model:
        elements = getattr(model, part)
        numbers = jnp.asarray(getattr(elements, field)).at[where].set(value)
        return replace(model, **{part: replace(elements, **{field: numbers})})

    return Path(name, unit, lambda m: getattr(getattr(m, part), field)[where], write)


def _ten(row: int, component: int, name: str) -> Path:
    """One of the ten numbers that are always a possible inertia; the others stay what they are."""

    def read(model: Model) -> Any:
        b = model.bodies
        return cholesky.encode(*(jnp.asarray(n[row]) for n in (b.mass, b.com, b.inertia)))

    def write(model: Model, value: Any) -> Model:
        b = model.bodies
        mass, com, inertia = cholesky.decode(read(model).at[component].set(value))
        changed = {"mass": mass, "com": com, "inertia": inertia}
        fields = {field: jnp.asarray(getattr(b, field)).at[row].set(new) for field, new in changed.items()}
        return replace(model, bodies=replace(b, **fields))

    return Path(name, "", lambda m: read(m)[component], write)


def _servo(model: Model, row: int) -> Iterable[Path]:
    """The gains of a position servo (gain kp, bias -kp and -kv) and of a velocity servo (gain kv, bias -kv)."""
    a = model.actuators
    gain, bias = np.asarray(a.gain[row]), np.asarray(a.bias[row])
    position = bias[1] == -gain[0] != 0
    if position:
        yield _gains(a.name[row], "kp", row, gain=0, bias=1)
        yield _gains(a.name[row], "kv", row, gain=None, bias=2)
    elif bias[2] == -gain[0] != 0:
        yield _gains(a.name[row], "kv", row, gain=0, bias=2)


def _gains(name: str, which: str, row: int, gain: int | None, bias: int) -> Path:
    def write(model: Model, value: Any) -> Model:
        a = model.actuators
        changed = {"bias": jnp.asarray(a.bias).at[row, bias].set(-value)}
        if gain is not None:
            changed["gain"] = jnp.asarray(a.gain).at[row, gain].set(value)
        return replace(model, actuators=replace(a, **changed))

    return Path(f"{name}.{which}", "", lambda m: -m.actuators.bias[row][bias], write)


def _gravity(component: int) -> Callable[[Model, Any], Model]:
    return lambda model, value: replace(model, gravity=jnp.asarray(model.gravity).at[component].set(value))


# ---- what cannot be


def margins(model: Model) -> dict[str, Any]:
    """Numbers that are negative where no such machine can exist, by what they are of: smooth but for the inertias'."""
    b, j, g = model.bodies, model.joints, model.geoms
    found = {f"{name}.mass": b.mass[i] for i, name in enumerate(b.name)}
    for i, name in enumerate(b.name):
        xx, yy, zz, xy, xz, yz = b.inertia[i]
        matrix = jnp.stack([jnp.asarray(n) for n in (xx, xy, xz, xy, yy, yz, xz, yz, zz)]).reshape(3, 3)
        least = jnp.linalg.eigvalsh(0.5 * jnp.trace(matrix) * jnp.eye(3, dtype=matrix.dtype) - matrix)[0]
        found[f"{name}.inertia (no principal moment exceeds the sum of the two others)"] = least
    for field in ("damping", "armature", "frictionloss", "stiffness", "limitstiffness"):
        found |= {f"{name}.{field}": getattr(j, field)[i] for i, name in enumerate(j.name)}
    for field in ("stiffness", "dissipation", "friction"):
        found |= {f"{name}.{field}": getattr(g, field)[i] for i, name in enumerate(g.name)}
    return found | {"timestep": model.timestep}


def impossible(model: Model) -> list[str]:
    """What is wrong with a model, in words; rounding is forgiven."""
    scale = 1e-9 * float(np.max(np.abs(np.asarray(model.bodies.inertia)), initial=1e-9))
    return [f"{what}: {float(v):g} is below 0" for what, v in margins(model).items() if not float(v) >= -scale]
