"""Stein variational gradient descent (Liu and Wang 2016; `sec:svgd`): particles that move until they are a sample."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from plausim.target import Points, Target, clamp

from .particles import clipped, moved, optimiser, rescued
from .protocol import Info, Key, Method, Sampler
from .stein import direction


class State(NamedTuple):
    points: Points
    memory: Any  # Adam's


def svgd(rate: float = 0.02) -> Method:
    """SVGD with Adam; limits are kept by clipping, constraints are not known.

    Args:
        rate: the first learning rate, in units of the unit box; it falls to a hundredth along a cosine.

    """

    def make(target: Target, iterations: int) -> Sampler:
        adam = optimiser(rate, iterations)
        slopes = jax.vmap(jax.value_and_grad(lambda point: target.evaluate(point).logdensity))

        def init(key: Key, points: Points) -> State:
            return State(points, adam.init(points))

        def step(key: Key, state: State) -> tuple[State, Info]:
            logdensity, score = slopes(state.points)
            alive = jnp.isfinite(logdensity) & jnp.all(jnp.isfinite(score), 1)
            found = rescued(key, alive)
            points, score, logdensity = (x[found.heir] for x in (state.points, score, logdensity))
            phi, bandwidth = direction(points, clipped(score), points)
            points, memory = moved(adam, points, len(points) * phi, state.memory)
            info = {"logdensity": jnp.mean(logdensity), "best": jnp.max(logdensity), "bandwidth": bandwidth}
            return State(clamp(target, points), memory), info | {"lost": jnp.sum(found.lost).astype(points.dtype)}

        return Sampler("svgd", init, step, lambda key, state, n: drawn(key, target, state.points, n))

    return Method("svgd", {"rate": rate}, make)


def drawn(key: Key, target: Target, points: Points, count: int) -> Points:
    """So many of the particles: all of them in their order, or drawn from them where another number is wanted."""
    inside = clamp(target, points)
    if count == len(points):
        return inside
    rows: Array = jax.random.choice(key, len(points), (count,), replace=count > len(points))
    return inside[rows]
