"""Stein variational gradient descent (Liu and Wang 2016; `sec:svgd`): particles that move until they are a sample."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plausim.target import Number, Points, Target, clamp

from .particles import clipped, moved, optimiser, rescued
from .protocol import Info, Key, Method, Sampler
from .stein import direction

COOL = 1e-3  # the first weight of the scores


class State(NamedTuple):
    points: Points
    memory: Any  # Adam's
    iteration: Array


def svgd(rate: float = 0.02, anneal: float = 0.5) -> Method:
    """SVGD with Adam; limits are kept by clipping, constraints are not known.

    Args:
        rate: the first learning rate, in units of the unit box; it falls to a hundredth along a cosine.
        anneal: for which part of the iterations the scores are weighted down, from `COOL` to 1 along a geometric rise
            (D'Angelo and Fortuin 2021): while they are weak, particles spread over all modes. 0 is plain SVGD.

    Example:
        >>> import plausim
        >>> plausim.svgd(rate=0.05).settings
        {'rate': 0.05, 'anneal': 0.5}

    """
    if not 0 <= anneal < 1:
        raise ValueError(f"anneal is {anneal:g}; it is a part of the iterations: from 0, for none of them, to below 1.")

    def make(target: Target, iterations: int) -> Sampler:
        adam = optimiser(rate, iterations)
        slopes = jax.vmap(jax.value_and_grad(lambda point: target.evaluate(point).logdensity))

        def init(key: Key, points: Points) -> State:
            return State(points, adam.init(points), jnp.zeros((), points.dtype))

        def step(key: Key, state: State) -> tuple[State, Info]:
            logdensity, score = slopes(state.points)
            alive = jnp.isfinite(logdensity) & jnp.all(jnp.isfinite(score), 1)
            found = rescued(key, alive)
            points, score, logdensity = (x[found.heir] for x in (state.points, score, logdensity))
            weight = warmth(state.iteration / iterations, anneal)
            phi, bandwidth = direction(points, weight * clipped(score), points)
            points, memory = moved(adam, points, len(points) * phi, state.memory)
            info = {
                "logdensity": jnp.mean(logdensity),
                "best": jnp.max(logdensity),
                "bandwidth": bandwidth,
                "simulations": jnp.asarray(len(points), points.dtype),
                "lost": jnp.sum(found.lost).astype(points.dtype),
            }
            return State(clamp(target, points), memory, state.iteration + 1), info

        return Sampler("svgd", init, step, lambda key, state, n: drawn(key, target, state.points, n))

    return Method("svgd", {"rate": rate, "anneal": anneal}, make)


def warmth(progress: Number, anneal: float) -> Number:
    """What the scores are multiplied by: 1 after the first part, COOL at the start of it."""
    if not anneal:
        return jnp.ones_like(progress)
    return jnp.minimum(COOL * (1.0 / COOL) ** (progress / anneal), 1.0)


def drawn(key: Key, target: Target, points: Points, count: int) -> Float[Array, "count dimensions"]:
    """So many of the particles: all of them in their order, or drawn from them where another number is wanted."""
    inside = clamp(target, points)
    if count == len(points):
        return inside
    if count < len(points):
        return inside[jax.random.permutation(key, len(points))[:count]]
    return inside[jax.random.randint(key, (count,), 0, len(points))]
