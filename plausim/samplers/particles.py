"""What the particle methods share: a step in a direction, and the care that keeps one particle from spoiling all."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Int

from plausim.target import Points

from .protocol import Key

CLIP = 10.0  # times the median norm: what is longer is shortened
FINAL_RATE = 0.01  # of the first: where the learning rate ends


def optimiser(rate: float, iterations: int) -> optax.GradientTransformation:
    """Adam, its rate falling as a cosine; it climbs."""
    schedule = optax.cosine_decay_schedule(rate, max(iterations, 1), alpha=FINAL_RATE)
    return optax.chain(optax.scale_by_adam(b1=0.9, b2=0.99), optax.scale_by_schedule(schedule))


def moved(adam: optax.GradientTransformation, points: Any, along: Any, memory: Any) -> tuple[Any, Any]:
    """Points, or any tree of arrays."""
    with jax.numpy_dtype_promotion("standard"):  # optax counts in integers; how strict the user is, is not its business
        stride, memory = adam.update(along, memory)
    return jax.tree.map(lambda x, d: x + jnp.asarray(d), points, stride), memory


def clipped(slopes: Points, times: float = CLIP) -> Points:
    """No particle's slope longer than so many times the median one: a score of 1e200 is finite, and ruins the rest."""
    norms = jnp.max(jnp.abs(slopes), 1)
    limit = times * jnp.median(norms)
    shrink = jnp.where(norms > limit, limit / jnp.where(norms > 0, norms, 1.0), 1.0)
    return jnp.where(norms[:, None] > 0, slopes * shrink[:, None], slopes)


class Found(NamedTuple):
    """Particles that came to nothing, and what takes their place."""

    lost: Bool[Array, " particles"]
    heir: Int[Array, " particles"]  # the number of the particle that each one goes on from: mostly itself


def rescued(key: Key, alive: Bool[Array, " particles"]) -> Found:
    """Each lost particle goes on from a living one, drawn at random; where none lives, nothing moves."""
    count = alive.shape[0]
    own = jnp.arange(count)

    def replaced() -> Array:
        ranks = jnp.cumsum(alive, dtype=own.dtype)  # the living, counted from 1
        wanted = jax.random.randint(key, (count,), 1, jnp.maximum(ranks[-1], 1) + 1, own.dtype)
        drawn = jnp.minimum(jnp.searchsorted(ranks, wanted), count - 1).astype(own.dtype)
        return jnp.where(alive | ~jnp.any(alive), own, drawn)

    return Found(~alive, jax.lax.cond(jnp.all(alive), lambda: own, replaced))
