"""What is inferred: numbers of a model, their limits, and how a vector of them becomes a model.

`parameter(path, low, high)` says which number is in doubt (`plausim.paths` has them all), `choose(model, parameters)`
checks them against a model, `place(chosen, values)` is the model with these values, inside a compiled step too.
`margins` says how far a model is from what cannot exist.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.mechanics.model import Model, on_device
from plausim.mechanics.spatial import symmetric
from plausim.paths import KINDS, Path, find, paths, write_ten

Number = Float[Array, ""]
Values = Float[Array, " parameters"]
Into = Callable[[Model, dict[str, Number]], Model]

ROUNDING = 1e-6  # how far the digits of a file may carry an inertia past the limit, of its trace


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
        if not (np.isfinite(self.low) and np.isfinite(self.high)):
            raise ValueError(f"{self.name} has the limits {self.low:g} and {self.high:g}; both must be finite.")
        if self.low >= self.high:
            raise ValueError(f"{self.name} has the limits {self.low:g} and {self.high:g}; give the lower one first.")
        if self.log and self.low <= 0:
            raise ValueError(f"{self.name} is on a logarithmic scale from {self.low:g}; start it above 0.")


@dataclass(frozen=True)
class Parameters:
    """A model, and which of its numbers are in doubt."""

    model: Model
    chosen: tuple[Parameter, ...]
    writers: tuple[tuple[Path, ...], ...]  # of each parameter, the numbers that it sets
    into: Into | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.chosen)


def parameter(path: str, low: float, high: float, *tied: str, log: bool = False) -> Parameter:
    """A number in doubt between two limits, called by its path.

    Args:
        path: which number of the model, such as `link2.mass`; `plausim parameters` lists all of them.
        low: the lower limit, in the number's own unit.
        high: the upper one.
        tied: paths of further numbers that always have the same value.
        log: whether the scale is logarithmic: for what is in doubt by orders of magnitude.

    Example:
        >>> from plausim import parameter
        >>> parameter("elbow.damping", 1e-5, 1e-1, "shoulder.damping", log=True).paths
        ('elbow.damping', 'shoulder.damping')

    """
    return Parameter(path, low, high, (path, *tied), log)


def choose(model: Model, chosen: Sequence[Parameter], into: Into | None = None) -> Parameters:
    """Pick the numbers of a model that are in doubt.

    Args:
        model: the robot, which keeps all its other numbers.
        chosen: what is in doubt; a path that is not there is an error with the closest ones.
        into: `into(model, {name: value})` returns the model with those parameters in place that have no path, or that
            change several numbers at once. It is traced by JAX.

    Example:
        >>> from plausim import choose, parameter, robot
        >>> chosen = choose(robot("double-pendulum"), [parameter("link2.mass", 0.05, 0.5)])
        >>> chosen.names
        ('link2.mass',)

    """
    names = [p.name for p in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"the parameter {name} is given {names.count(name)} times; each may be given once.")
    for p in chosen:
        if not p.paths and into is None:
            raise ValueError(f"{p.name} has no path, and there is no function that would use it; give it one of them.")
    known = paths(model)
    writers = tuple(tuple(find(known, path) for path in p.paths) for p in chosen)
    _set_once(names, writers)
    for p, found in zip(chosen, writers, strict=True):
        for path in found:
            value = float(path.read(model))
            if not p.low <= value <= p.high:
                warnings.warn(
                    f"{path.name} is {value:g} in the model, outside its limits {p.low:g} and {p.high:g}.", stacklevel=2
                )
    units = (replace(p, unit=p.unit or (w[0].unit if w else "")) for p, w in zip(chosen, writers, strict=True))
    return Parameters(model, tuple(units), writers, into)


def _set_once(names: Sequence[str], writers: Sequence[tuple[Path, ...]]) -> None:
    """No number is set by two parameters: the last one would win unseen."""
    owner: dict[str, str] = {}
    for name, found in zip(names, writers, strict=True):
        for path in found:
            if path.name in owner:
                raise ValueError(
                    f"{path.name} is set by {owner[path.name]} and by {name}; each number may be set once."
                )
            owner[path.name] = name
    for path in owner:
        body, ten, _ = path.partition(".logcholesky.")
        clash = [p for p in owner if p == f"{body}.mass" or p.startswith((f"{body}.com.", f"{body}.inertia."))]
        if ten and clash:
            raise ValueError(
                f"{clash[0]} follows from {body}.logcholesky, which is chosen too; choose one or the other."
            )


def place(parameters: Parameters, values: Values) -> Model:
    """The model with these values. Inside a step, what is not inferred stays known to the compiler.

    Example:
        >>> import jax.numpy as jnp
        >>> from plausim import choose, parameter, robot
        >>> chosen = choose(robot("double-pendulum"), [parameter("link2.mass", 0.05, 0.5)])
        >>> print(place(chosen, jnp.array([0.25])).bodies.mass)
        [0.2  0.25]

    """
    model = on_device(parameters.model, values.dtype)
    tens: dict[int, dict[int, Number]] = {}
    for path, value in _written(parameters, values):
        if path.ten is None:
            model = path.write(model, value)
        else:
            tens.setdefault(path.ten[0], {})[path.ten[1]] = value
    for body, numbers in tens.items():  # all of a body's at once, since each way there and back costs
        model = write_ten(model, body, numbers)
    if parameters.into is not None:
        model = parameters.into(model, dict(zip(parameters.names, values, strict=True)))
    return model


def _written(parameters: Parameters, values: Values) -> Iterator[tuple[Path, Number]]:
    for found, value in zip(parameters.writers, values, strict=True):
        yield from ((path, value) for path in found)


# ---- the unit box


def limits(parameters: Parameters) -> tuple[Float[np.ndarray, " parameters"], Float[np.ndarray, " parameters"]]:
    return np.array([p.low for p in parameters.chosen], float), np.array([p.high for p in parameters.chosen], float)


def from_unit(parameters: Parameters, point: Values) -> Values:
    """From the unit box to values: linear, or linear in the logarithm."""
    low, high, log = _ends(parameters, point.dtype)
    inside = low + (high - low) * point
    return jnp.where(log, jnp.exp(jnp.where(log, inside, 0.0)), inside)


def to_unit(parameters: Parameters, values: Values) -> Values:
    """The way back."""
    low, high, log = _ends(parameters, values.dtype)
    inside = jnp.where(log, jnp.log(jnp.where(log, values, 1.0)), values)
    return (inside - low) / (high - low)


def _ends(parameters: Parameters, dtype: Any) -> tuple[Values, Values, np.ndarray]:
    """Where the scale of each parameter begins and ends, and whether it is logarithmic."""
    log = np.array([p.log for p in parameters.chosen], bool)
    low, high = (np.where(log, np.log(np.where(log, end, 1.0)), end) for end in limits(parameters))
    return jnp.asarray(low, dtype), jnp.asarray(high, dtype), log


def sobol(parameters: Parameters, count: int) -> Float[np.ndarray, "count parameters"]:
    """Evenly spread points of the unit box: Sobol's, not scrambled, without the corner that they begin with."""
    from scipy.stats import qmc

    generator = qmc.Sobol(len(parameters.chosen), scramble=False)
    return generator.random_base2(count.bit_length())[1 : count + 1]


# ---- what cannot be

TRIANGLE = "no principal moment of inertia may exceed the sum of the two others"
NOT_BELOW_0 = {
    "bodies": ("mass",),
    "joints": (
        "damping", "armature", "frictionloss", "frictionspeed", "stiffness", "limitstiffness", "limitdissipation",
    ),
    "geoms": ("stiffness", "dissipation", "friction", "slipspeed"),
}  # fmt: skip


def margins(model: Model) -> dict[str, Any]:
    """Numbers that are below 0 where no such machine can exist, by what they are of; they have gradients.

    A sampler may keep them above 0 as constraints, so that an impossible value is not met as NaN.
    """
    found: dict[str, Any] = {}
    for part, fields in NOT_BELOW_0.items():
        elements = getattr(model, part)
        for field in fields:
            for i, name in enumerate(elements.name):
                own = f"{name}.{field}"
                found[f"{KINDS[part]}:{own}" if own in found else own] = getattr(elements, field)[i]
    for i, name in enumerate(model.bodies.name):
        found[f"{name}.inertia ({TRIANGLE})"] = _room(model.bodies.inertia[i])
    for i, (name, limited) in enumerate(zip(model.joints.name, model.joints.limited, strict=True)):
        if limited:
            found[f"{name}.upper - {name}.lower"] = model.joints.upper[i] - model.joints.lower[i]
    return found | {"timestep": model.timestep}


def _room(inertia: Any) -> Number:
    """How far the largest moment is from the sum of the others, of their total."""
    matrix = symmetric(jnp.asarray(inertia))
    total = jnp.trace(matrix)
    least = jnp.linalg.eigvalsh(0.5 * total * jnp.eye(3, dtype=matrix.dtype) - matrix)[0]
    return least / jnp.maximum(jnp.abs(total), 1e-12) + ROUNDING


def impossible(model: Model) -> list[str]:
    """What of a model cannot exist, in words; nothing, if all can.

    Example:
        >>> from plausim import changed, robot
        >>> impossible(changed(robot("double-pendulum"), {"link2.mass": -0.1}))
        ['link2.mass: -0.1 is below 0']

    """
    said = [f"{what}: {float(v):.3g} is below 0" for what, v in margins(model).items() if not float(v) >= 0.0]
    return said if float(model.timestep) else [*said, "timestep: 0 is no time to move in"]
