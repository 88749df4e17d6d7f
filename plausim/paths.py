"""Every number of a model by path: what it is now, in which unit, and the model with another one in its place.

    link2.mass  link2.com.x  link2.inertia.xx  link2.pos.z  link2.tilt.y  link2.logcholesky.d1
    elbow.damping  elbow.frictionloss  geom:foot.friction  servo.kp  hip.gear  gravity.z  timestep

A path is an element's name, a field and, where the field has several numbers, a component. Where two elements share
both, the kind in front tells them apart: `geom:foot.pos.z`. What an element does not use (the limits of a joint
without limits) has no path.
"""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plausim.mechanics import cholesky
from plausim.mechanics.joints import JOINTS
from plausim.mechanics.model import Model

KINDS = {"bodies": "body", "joints": "joint", "actuators": "actuator", "sites": "site", "geoms": "geom"}
ENCODE = jax.jit(cholesky.encode)  # one operation at a time, it would be compiled in twenty parts
SIZES = {"plane": 0, "sphere": 1, "capsule": 2, "cylinder": 2, "box": 3}  # how many numbers say how large it is


class Path(NamedTuple):
    """A number of a model."""

    name: str
    kind: str  # body, joint, actuator, site, geom or world
    unit: str
    read: Callable[[Model], Any]
    write: Callable[[Model, Any], Model]
    ten: tuple[int, int] | None = None  # a body, and which of the ten numbers that make its inertia


class Field(NamedTuple):
    """A number that all elements of a kind have, or several."""

    unit: str  # for a hinge|for a slide, where that differs
    components: tuple[str, ...] = ("",)
    used: Callable[[Model, int, int], bool] = lambda model, row, component: True


def _scalar(m: Model, row: int, _: int) -> bool:
    return m.joints.kind[row] in ("hinge", "slide")


def _not_free(m: Model, row: int, _: int) -> bool:
    return m.joints.kind[row] != "free"


def _limited(m: Model, row: int, _: int) -> bool:
    return m.joints.limited[row]


def _rough(m: Model, row: int, _: int) -> bool:
    return any(row in geoms for geoms in m.geoms.rough)


def _slides(m: Model, row: int, _: int) -> bool:
    return any(row in pair and bool(geoms) for pair, geoms in zip(m.geoms.touch, m.geoms.rough, strict=True))


def _gain(m: Model, row: int, c: int) -> bool:
    return not list(_servo(m, row)) and (c == 0 or not _motor(m, row))


def _bias(m: Model, row: int, _: int) -> bool:
    return not list(_servo(m, row)) and not _motor(m, row)


XYZ = ("x", "y", "z")
FIELDS: dict[str, dict[str, Field]] = {
    "bodies": {
        "mass": Field("kg"),
        "com": Field("m", XYZ),
        "inertia": Field("kg m^2", ("xx", "yy", "zz", "xy", "xz", "yz")),
        "pos": Field("m", XYZ),
        "tilt": Field("rad", XYZ),
    },
    "joints": {
        "damping": Field("N m s/rad|N s/m"),
        "armature": Field("kg m^2|kg"),
        "frictionloss": Field("N m|N"),
        "frictionspeed": Field("rad/s|m/s"),
        "stiffness": Field("N m/rad|N/m", used=_not_free),
        "springref": Field("rad|m", used=_scalar),
        "ref": Field("rad|m", used=_scalar),
        "lower": Field("rad|m", used=_limited),
        "upper": Field("rad|m", used=_limited),
        "limitstiffness": Field("N m/rad|N/m", used=_limited),
        "limitdissipation": Field("s/rad|s/m", used=_limited),
        "forcelower": Field("N m|N", used=lambda m, row, _: m.joints.forcelimited[row]),
        "forceupper": Field("N m|N", used=lambda m, row, _: m.joints.forcelimited[row]),
        "pos": Field("m", XYZ, used=_not_free),
    },
    "actuators": {
        "gear": Field("", tuple("012345"), used=lambda m, row, c: c < JOINTS[_driven(m, row)].velocities),
        "gain": Field("", tuple("012"), used=_gain),
        "bias": Field("", tuple("012"), used=_bias),
        "ctrllower": Field("", used=lambda m, row, _: m.actuators.ctrllimited[row]),
        "ctrlupper": Field("", used=lambda m, row, _: m.actuators.ctrllimited[row]),
        "forcelower": Field("N m|N", used=lambda m, row, _: m.actuators.forcelimited[row]),
        "forceupper": Field("N m|N", used=lambda m, row, _: m.actuators.forcelimited[row]),
    },
    "sites": {"pos": Field("m", XYZ)},
    "geoms": {
        "friction": Field("", used=_rough),
        "stiffness": Field("N/m"),
        "dissipation": Field("s/m"),
        "slipspeed": Field("m/s", used=_slides),
        "size": Field("m", tuple("012"), used=lambda m, row, c: c < SIZES[m.geoms.kind[row]]),
        "pos": Field("m", XYZ),
    },
}


def paths(model: Model) -> dict[str, Path]:
    """All numbers of a model by path.

    Example:
        >>> from plausim import mechanics, paths
        >>> model = mechanics.robot("double-pendulum")
        >>> path = paths.paths(model)["link2.mass"]
        >>> print(path.read(model), path.unit)
        0.1 kg

    """
    everything = list(_all(model))
    times = Counter(path.name for path in everything)
    named: dict[str, Path] = {}
    for path in everything:
        own = path.name if times[path.name] == 1 else f"{path.kind}:{path.name}"
        while own in named:  # an element without a name is called by kind and number, and another one may be, too
            own += "'"
        named[own] = path._replace(name=own)
    return named


def find(known: Mapping[str, Path], path: str) -> Path:
    """The number that a path leads to, or an error with the closest ones."""
    if path in known:
        return known[path]
    kind, _, rest = path.partition(":")
    if rest in known and known[rest].kind == kind:
        return known[rest]
    several = [name for name in known if name.split(":", 1)[-1] == path]
    if several:
        raise ValueError(f"{path} may be {' or '.join(several)}; say which.")
    body = path.split(".logcholesky.")[0]
    if body != path and f"{body}.mass" in known:
        raise ValueError(f"{path}: {body} has no mass, or an inertia that no body can have; give it another one first.")
    raise ValueError(f"the model has no number {path}; {closest(path, known, '`plausim parameters` lists all paths.')}")


def closest(name: str, known: Iterable[str], otherwise: str) -> str:
    """What may have been meant."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def changed(model: Model, values: Mapping[str, Any]) -> Model:
    """The model with other numbers, by path.

    Example:
        >>> from plausim import mechanics, paths
        >>> heavier = paths.changed(mechanics.robot("double-pendulum"), {"link2.mass": 0.2})
        >>> print(heavier.bodies.mass)
        [0.2 0.2]

    """
    known = paths(model)
    for path, value in values.items():
        model = find(known, path).write(model, value)
    return model


def write_ten(model: Model, row: int, numbers: Mapping[int, Any]) -> Model:
    """Some of the ten numbers of `cholesky` that make a body's inertia; the others stay what they are."""
    ten, b = _ten(model, row), model.bodies
    for component, value in numbers.items():
        ten = ten.at[component].set(value)
    made = dict(zip(("mass", "com", "inertia"), cholesky.decode(ten), strict=True))
    return replace(model, bodies=replace(b, **{field: put(getattr(b, field), row, new) for field, new in made.items()}))


def put(numbers: Any, where: Any, value: Any) -> Any:
    """The array with another number in it. What is NumPy's stays so, in double precision, unless it meets JAX."""
    if isinstance(numbers, jax.Array) or isinstance(value, jax.Array):
        return jnp.asarray(numbers).at[where].set(value)
    copy = np.array(numbers)
    copy[where] = value
    return copy


def _all(model: Model) -> Iterator[Path]:
    for part, fields in FIELDS.items():
        for row, name in enumerate(getattr(model, part).name):
            for field, about in fields.items():
                yield from _numbers(model, part, row, name, field, about)
            if part == "bodies" and np.all(np.isfinite(_ten(model, row))):
                yield from (_of_ten(row, c, name) for c in range(len(cholesky.NAMES)))
            if part == "actuators":
                yield from _servo(model, row)
    for c, axis in enumerate(XYZ):
        yield _world(f"gravity.{axis}", "m/s^2", "gravity", c)
    yield _world("timestep", "s", "timestep", ())


def _world(name: str, unit: str, field: str, where: Any) -> Path:
    return Path(
        name, "world", unit,
        lambda m: getattr(m, field)[where], lambda m, v: replace(m, **{field: put(getattr(m, field), where, v)}),
    )  # fmt: skip


def _numbers(model: Model, part: str, row: int, name: str, field: str, about: Field) -> Iterator[Path]:
    used = [c for c in range(len(about.components)) if about.used(model, row, c)]
    one_each = np.ndim(getattr(getattr(model, part), field)) == 1
    for c in used:
        component = about.components[c] if len(used) > 1 else ""
        where = row if one_each else (row, c)
        yield _element(
            part, field, where, ".".join(filter(None, (name, field, component))), _unit(model, part, row, about)
        )


def _element(part: str, field: str, where: Any, name: str, unit: str) -> Path:
    def write(model: Model, value: Any) -> Model:
        elements = getattr(model, part)
        return replace(model, **{part: replace(elements, **{field: put(getattr(elements, field), where, value)})})

    return Path(name, KINDS[part], unit, lambda m: getattr(getattr(m, part), field)[where], write)


def _driven(model: Model, actuator: int) -> str:
    """The kind of the joint that an actuator acts on."""
    return model.joints.kind[model.actuators.joint[actuator]]


def _unit(model: Model, part: str, row: int, about: Field) -> str:
    """Of what turns the unit before the bar, of what slides the one behind it."""
    turning, _, sliding = about.unit.partition("|")
    moves = {"joints": lambda: model.joints.kind[row], "actuators": lambda: _driven(model, row)}
    return sliding if sliding and moves[part]() == "slide" else turning


def _ten(model: Model, row: int) -> jax.Array:
    b = model.bodies
    return ENCODE(*(jnp.asarray(numbers[row]) for numbers in (b.mass, b.com, b.inertia)))


def _of_ten(row: int, c: int, body: str) -> Path:
    return Path(
        name=f"{body}.logcholesky.{cholesky.NAMES[c]}",
        kind="body",
        unit="m" if c >= 7 else "",
        read=lambda model: _ten(model, row)[c],
        write=lambda model, value: write_ten(model, row, {c: value}),
        ten=(row, c),
    )


def _motor(model: Model, row: int) -> bool:
    """Whether the force is the control times a number."""
    a = model.actuators
    return not np.any(a.gain[row][1:]) and not np.any(a.bias[row])


def _servo(model: Model, row: int) -> Iterator[Path]:
    """The gains of a position servo (gain kp, bias -kp and -kv) and of a velocity servo (gain kv, bias -kv)."""
    a = model.actuators
    gain, bias = np.asarray(a.gain[row]), np.asarray(a.bias[row])
    if gain[1] or gain[2] or bias[0]:
        return
    kp, kv = Field("N m/rad|N/m"), Field("N m s/rad|N s/m")
    if bias[1] == -gain[0] != 0:
        yield _gains(model, row, "kp", kp, gain=True, bias=1)
        yield _gains(model, row, "kv", kv, gain=False, bias=2)
    elif bias[1] == 0 and bias[2] == -gain[0] != 0:
        yield _gains(model, row, "kv", kv, gain=True, bias=2)


def _gains(model: Model, row: int, which: str, about: Field, gain: bool, bias: int) -> Path:
    def write(model: Model, value: Any) -> Model:
        a = model.actuators
        new = {"bias": put(a.bias, (row, bias), -value)} | ({"gain": put(a.gain, (row, 0), value)} if gain else {})
        return replace(model, actuators=replace(a, **new))

    name, unit = f"{model.actuators.name[row]}.{which}", _unit(model, "actuators", row, about)
    return Path(name, "actuator", unit, lambda m: -m.actuators.bias[row][bias], write)
