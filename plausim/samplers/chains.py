"""What the Markov chains share: a density without limits for those that follow slopes, starts, and the last samples.

A coordinate between two limits becomes the logistic function of one that has none, and the density gets the slope of
that function as a factor: so the chain's samples, mapped back, are samples of the density within the limits.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.target import Number, Point, Points, Target, clamp

from .protocol import Key

EDGE = 1e-6  # of the box: how near to a limit a chain may start
LEAST = -1e30  # log-density where there is none: a number, so that differences stay numbers
NUDGE = 1e-3  # between the starts of chains, where there are no limits to spread them over


class Unlimited(NamedTuple):
    """A target's density over all of R^n, and the way there and back."""

    logdensity: Callable[[Point], Number]
    inside: Callable[[Points], Points]
    outside: Callable[[Points], Points]


def unlimited(target: Target) -> Unlimited:
    boxed = limited(target)
    low, width = np.where(boxed, target.lower, 0.0), np.where(boxed, target.upper - target.lower, 1.0)

    def inside(free: Point) -> Point:
        part = jax.nn.sigmoid(free)
        return jnp.where(boxed, jnp.asarray(low, free.dtype) + jnp.asarray(width, free.dtype) * part, free)

    def outside(point: Point) -> Point:
        part = (point - jnp.asarray(low, point.dtype)) / jnp.asarray(width, point.dtype)
        part = jnp.clip(part, EDGE, 1.0 - EDGE)
        return jnp.where(boxed, jnp.log(part) - jnp.log1p(-part), point)

    def logdensity(free: Point) -> Number:
        slopes = jnp.where(boxed, free - 2.0 * jax.nn.softplus(free), 0.0)
        return target.evaluate(inside(free)).logdensity + jnp.sum(slopes)

    return Unlimited(logdensity, lambda points: clamp(target, jax.vmap(inside)(points)), jax.vmap(outside))


def limited(target: Target) -> np.ndarray:
    """Which coordinates have limits: both, or none."""
    ends = np.isfinite([target.lower, target.upper])
    for name, one in zip(target.names, ends[0] != ends[1], strict=True):
        if one:
            raise ValueError(f"{name} has a limit on one side only; give it one on the other side, too, however far.")
    return ends[0]


def within(target: Target) -> Callable[[Points], Float[Array, " particles"]]:
    """The log-densities of points, -infinity beyond the limits, where nothing is evaluated."""
    evaluate = jax.vmap(target.evaluate)

    def logdensity(points: Points) -> Float[Array, " particles"]:
        inside = clamp(target, points)
        found = evaluate(inside).logdensity
        return jnp.where(jnp.all(inside == points, 1) & jnp.isfinite(found), found, -jnp.inf)

    return logdensity


class Begun(NamedTuple):
    points: Points
    lost: Number  # how many of all starts have no density


def begun(key: Key, target: Target, points: Points, chains: int) -> Begun:
    """So many of the starts with a density, in their order, and again; apart also where no limits spread them."""
    alive = jnp.isfinite(within(target)(points))
    order = jnp.argsort(~alive, stable=True)[jnp.arange(chains) % jnp.maximum(jnp.sum(alive), 1)]
    nudge = jnp.where(limited(target), 0.0, NUDGE).astype(points.dtype)
    away = nudge[None] * jax.random.normal(key, (chains, points.shape[1]), points.dtype)
    return Begun(points[order] + away, jnp.sum(~alive).astype(points.dtype))


def latest(samples: Points, new: Float[Array, "chains dimensions"]) -> Points:
    """The last samples, with new ones at the end."""
    return jnp.concatenate([samples, new])[len(new) :]
