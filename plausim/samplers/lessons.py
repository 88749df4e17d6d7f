"""What likelihood-free methods learn from: simulations of parameters drawn from the prior, and a summary of each.

Parameters are Sobol points within their limits. Where a prior is more than that, simulations count as it says.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.target import Number, Point, Points, Simulator, Target, clamp, spread

from .chains import limited
from .protocol import Key

AT_ONCE = 2000  # simulations side by side; of more, only summaries are in memory
SOME = 5000  # simulations that say how far the numbers of a summary spread
FAR = 5.0  # of these spreads: chaotic simulations beyond look as if they were there

Look = Callable[[Float[Array, "recordings steps channels"]], Float[Array, " numbers"]]


class Lessons(NamedTuple):
    unit: Float[np.ndarray, "simulations parameters"]  # where each is between the limits
    rows: Float[Array, "rows numbers"]  # summaries, and that of the recordings at the end
    weight: Float[Array, " simulations"]  # 1 in the mean; 0 of what came to nothing
    lost: Number  # how many came to nothing


def lessons(key: Key, simulator: Simulator, target: Target, start: Point, count: int, look: Look) -> Lessons:
    """So many simulations, as `look` sees them; what is not a parameter is as in `start`."""
    unit, answer = spread(count, target.parameters), target.parameters
    low, high = target.lower[:answer], target.upper[:answer]
    values = jnp.asarray(low + (high - low) * unit, start.dtype)  # by NumPy: XLA would fold it, and slowly
    prior = simulator.prior or (lambda point: jnp.zeros((), point.dtype))

    def one(each: tuple[Key, Float[Array, " parameters"]]) -> tuple[Float[Array, " numbers"], Number]:
        point = start.at[:answer].set(each[1])
        return look(simulator.simulate(each[0], point)), prior(point)

    rows, weight = jax.lax.map(one, (jax.random.split(key, count), values), batch_size=AT_ONCE)
    alive = jnp.all(jnp.isfinite(rows), 1) & jnp.isfinite(weight)
    weight = jnp.where(alive, jnp.exp(weight - jnp.max(weight, where=alive, initial=-jnp.inf)), 0.0)
    weight = weight / jnp.maximum(jnp.mean(weight), jnp.finfo(weight.dtype).tiny)
    rows = standardised(rows, alive, look(jnp.asarray(simulator.observed, jnp.float32)))
    return Lessons(unit, rows, weight.astype(rows.dtype), jnp.sum(~alive).astype(rows.dtype))


def simulated(method: str, target: Target) -> Simulator:
    """The target's simulator, if it has one, and a box to draw from."""
    if target.simulator is None:
        raise ValueError(
            f"{method} learns from simulations with noise, and this target has no simulator: give it one, as in "
            'density(..., simulator=...); of several recordings there is one with combine="product" only.'
        )
    endless = [n for n, boxed in zip(target.names[: target.parameters], limited(target), strict=False) if not boxed]
    if endless:
        raise ValueError(f"{method} draws between limits, and {', '.join(endless)} has none; give it some.")
    return target.simulator


def surviving(key: Key, simulator: Simulator, tries: Float[Array, "tries n dimensions"]) -> Points:
    """The first of some tries that can be simulated: what has been learned knows nothing of those that cannot."""
    every = tries.reshape(-1, tries.shape[2])
    finite = lambda each: jnp.all(jnp.isfinite(simulator.simulate(*each)))  # noqa: E731
    alive = jax.lax.map(finite, (jax.random.split(key, len(every)), every), batch_size=AT_ONCE)
    return tries[jnp.argmax(alive.reshape(tries.shape[:2]), 0), jnp.arange(tries.shape[1])]


def placed(target: Target, start: Point, unit: Float[Array, "n parameters"]) -> Points:
    """Points whose parameters are so far between their limits."""
    count = target.parameters
    low, high = (jnp.asarray(end[:count], start.dtype) for end in (target.lower, target.upper))
    return clamp(target, jnp.tile(start, (len(unit), 1)).at[:, :count].set(low[None] + (high - low)[None] * unit))


def standardised(
    rows: Float[Array, "simulations numbers"], alive: Array, observed: Float[Array, " numbers"]
) -> Float[Array, "rows numbers"]:
    """All rows, and the observed one at the end, in units of how far the usual ones are from the median."""
    some = jnp.where(alive[:, None], rows, jnp.nan)[:: -(-len(rows) // SOME)]
    low, middle, high = jnp.nanpercentile(some, jnp.asarray([16.0, 50.0, 84.0], rows.dtype), 0)
    usual = jnp.where(high > low, 0.5 * (high - low), 1.0)
    rows = jnp.concatenate([jnp.where(alive[:, None], rows, middle[None]), observed[None]])
    return jnp.clip((rows - middle[None]) / usual[None], -FAR, FAR)
