"""The second seam: what is to be found out, as a density over points with constraints.

    evaluate: (point) -> (log-density, gaps)      gaps are zero where the constraints hold; both from one rollout

A point is flat and in internal units: the parameters in their unit box first, then whatever else must be found with
them (noise levels, the start states of shooting windows). `evaluate` is of one point; `jax.vmap`, `jax.grad` and
`jax.jit` work on it, unless `differentiable` says no. Limits are not part of the density: a sampler keeps to them
in its own way. Anything that can be written as such a function can be inferred, whether a simulator is in it or not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

Number = Float[Array, ""]
Point = Float[Array, " dimensions"]
Points = Float[Array, "particles dimensions"]
Gaps = Float[Array, " gaps"]


class Evaluation(NamedTuple):
    logdensity: Number
    gaps: Gaps


class Simulator(NamedTuple):
    """Measurements, noise included, of any point: all that likelihood-free methods see. What was not measured is 0."""

    simulate: Callable[[Array, Point], Float[Array, "recordings steps channels"]]  # of a key and a point
    observed: Float[np.ndarray, "recordings steps channels"]
    prior: Callable[[Point], Number] | None = None  # log-density of points, beside the limits


class Motion(NamedTuple):
    """Recordings behind a target, for those who show results: each row is a sample after a step."""

    recordings: tuple[str, ...]
    channels: tuple[str, ...]
    time: Float[np.ndarray, " steps"]  # s
    observed: Float[np.ndarray, "recordings steps channels"]
    known: Bool[np.ndarray, "recordings steps channels"]
    predict: Callable[[Point], Float[Array, "recordings steps channels"]]  # from the measured first states
    model: Callable[[Float[Array, " parameters"]], Any] | None  # the simulator at the answer's values, to be saved


@dataclass(frozen=True)
class Target:
    """A density over points, its limits, and what its coordinates mean."""

    evaluate: Callable[[Point], Evaluation]
    names: tuple[str, ...]  # of all coordinates
    lower: Float[np.ndarray, " dimensions"]  # limits; infinite where there are none
    upper: Float[np.ndarray, " dimensions"]
    parameters: int  # how many of the first coordinates are the answer; the rest is only found with them
    starts: Callable[[int], Float[np.ndarray, "particles dimensions"]]  # so many points to begin from
    values: Callable[[Points], Float[Array, "particles parameters"]]  # the answer in the user's units
    units: tuple[str, ...] = ()
    motion: "Motion | None" = None  # what was measured, where that is motion
    simulator: "Simulator | None" = None  # for methods that know no density
    stiffness: float = 1.0  # how much log-density a unit of a gap is worth: the scale of penalties
    differentiable: bool = True

    @property
    def dimensions(self) -> int:
        return len(self.names)


def clamp(target: Target, points: Float[Array, "*batch dimensions"]) -> Float[Array, "*batch dimensions"]:
    """The nearest points within the limits."""
    lower, upper = (jnp.asarray(end, points.dtype) for end in (target.lower, target.upper))
    return jnp.minimum(jnp.maximum(points, _row(lower, points.ndim)), _row(upper, points.ndim))


def _row(limits: Float[Array, " dimensions"], axes: int) -> Float[Array, "*batch dimensions"]:
    return limits.reshape((1,) * (axes - 1) + limits.shape)


def soften(target: Target, sigma: float = 1e-2) -> Target:
    """Constraints as a normal density of their gaps (`eq:likelihood-defect`), for samplers that know no constraints."""
    if not sigma > 0:
        raise ValueError(f"the gaps' standard deviation is {sigma:g}; give a number above 0, such as 0.01.")

    def evaluate(point: Point) -> Evaluation:
        logdensity, gaps = target.evaluate(point)
        normaliser = gaps.shape[0] * float(np.log(sigma) + 0.5 * np.log(2.0 * np.pi))
        return Evaluation(logdensity - 0.5 * jnp.sum((gaps / sigma) ** 2) - normaliser, gaps[:0])

    return replace(target, evaluate=evaluate)


def density(
    logdensity: Callable[[Point], Number],
    lower: Float[np.ndarray, " dimensions"] | list[float],
    upper: Float[np.ndarray, " dimensions"] | list[float],
    names: tuple[str, ...] = (),
    simulator: Simulator | None = None,
) -> Target:
    """A target out of any log-density over a box, in the units that it is written in.

    Methods that know no density need a `simulator` whose likelihood it is.

    Example:
        >>> from plausim.target import density
        >>> normal = density(lambda x: -0.5 * (x @ x), lower=[-9.0, -9.0], upper=[9.0, 9.0])
        >>> normal.names, normal.starts(3).shape
        (('x0', 'x1'), (3, 2))

    """
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    if low.shape != high.shape or not np.all(low < high):
        raise ValueError(f"the limits {low} and {high} are no box; each lower one must be below its upper one.")
    if names and len(names) != low.size:
        raise ValueError(f"there are {len(names)} names for {low.size} coordinates; give each one, or none.")
    return Target(
        evaluate=lambda point: Evaluation(logdensity(point), point[:0]),
        names=names or tuple(f"x{i}" for i in range(low.size)),
        lower=low,
        upper=high,
        parameters=low.size,
        starts=lambda count: low + (high - low) * spread(count, low.size),
        values=lambda points: points,
        units=("",) * low.size,
        simulator=simulator,
    )


def spread(count: int, dimensions: int) -> Float[np.ndarray, "count dimensions"]:
    """Evenly spread points of the unit box: Sobol's, not scrambled, without the corner that they begin with."""
    from scipy.stats import qmc

    if count < 1:
        raise ValueError(f"{count} points were asked for; ask for at least 1.")
    if not dimensions:
        return np.zeros((count, 0))
    return qmc.Sobol(dimensions, scramble=False).random_base2(count.bit_length())[1 : count + 1]
