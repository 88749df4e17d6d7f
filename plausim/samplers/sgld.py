"""Stochastic gradient Langevin dynamics (Welling and Teh 2011): steps up the slope, with the noise that a sample needs.

blackjax's step, one chain for each particle, and each evaluates all data: noise is all there is of the stochastic. The
unit of a step is the density's squared width, coordinate by coordinate: sqrt(dx^2 / ds^2), of moves dx and of what they
changed in the slope s, the median over chains and the mean over the last iterations. In this unit slopes are about 1;
far from the summit they are cut to LONGEST. The step falls geometrically, since a long one widens the sample. Limits
are mapped away, see `chains`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plausim.target import Number, Point, Points, Target

from .chains import begun, unlimited
from .extras import need
from .protocol import Info, Key, Method, Sampler
from .svgd import drawn

SOME = 100  # chains that widths are measured by, where there are more
MEMORY = 0.95  # of the squares of moves and of what they changed
LONGEST = 10.0  # slope, in units in which it is about 1
FIRST = 1e-3  # the move by which widths are measured at first
LEAST = 1e-30  # a change of slope below this one is none


class Width(NamedTuple):
    """How far chains moved along each coordinate, and how much that changed the slope: mean squares."""

    moves: Point
    changes: Point


class State(NamedTuple):
    points: Points  # without limits
    logdensity: Float[Array, " particles"]
    slopes: Points
    width: Width
    lost: Number  # starts without density that no iteration has reported yet
    iteration: Array


def sgld(rate: float = 1.0, last: float = 0.02) -> Method:
    """SGLD; the chains' last points are the draws.

    Args:
        rate: the first step, in units of the squared width: chains forget where they were in about 2 / rate iterations.
        last: the last step; of a normal density, it widens the sample by about an eighth of it.

    """
    if not 0 < last <= rate:
        raise ValueError(f"steps go from {rate:g} to {last:g}; they must fall, and stay above 0.")
    need("sgld", "blackjax", "blackjax")

    def make(target: Target, iterations: int) -> Sampler:
        from blackjax.sgmcmc.sgld import build_kernel

        free, kernel = unlimited(target), build_kernel()
        evaluate = jax.vmap(jax.value_and_grad(free.logdensity))

        @jax.jit
        def init(key: Key, points: Points) -> State:
            start, nudge = jax.random.split(key)
            starts, lost = begun(start, target, points, len(points))
            points = free.outside(starts)
            logdensity, slopes = evaluate(points)
            away = FIRST * jax.random.normal(nudge, points.shape, points.dtype)
            width = Width(middle(away), middle(evaluate(points + away)[1] - slopes))
            return State(points, logdensity, slopes, width, lost, jnp.zeros((), points.dtype))

        def one(key: Key, point: Point, slope: Point, root: Point, size: Number) -> Point:
            """A step in coordinates in which the density is about 1 wide."""
            scaled = jnp.clip(root * slope, -LONGEST, LONGEST)
            return (root * kernel(key, point / root, lambda *_: scaled, None, size)).astype(point.dtype)

        def step(key: Key, state: State) -> tuple[State, Info]:
            size = rate * (last / rate) ** (state.iteration / iterations)
            keys, root = jax.random.split(key, len(state.points)), (state.width.moves / state.width.changes) ** 0.25
            with jax.numpy_dtype_promotion("standard"):
                points = jax.vmap(one, (0, 0, 0, None, None))(keys, state.points, state.slopes, root, size)
            logdensity, slopes = evaluate(points)
            alive = jnp.isfinite(logdensity) & jnp.all(jnp.isfinite(slopes), 1)
            points, slopes = (
                jnp.where(alive[:, None], new, old) for new, old in ((points, state.points), (slopes, state.slopes))
            )
            logdensity = jnp.where(alive, logdensity, state.logdensity)
            width = remembered(state.width, points - state.points, slopes - state.slopes)
            said = {
                "logdensity": jnp.mean(logdensity),
                "best": jnp.max(logdensity),
                "size": size,
                "simulations": jnp.asarray(len(points), points.dtype),
                "refused": jnp.sum(~alive).astype(points.dtype),  # steps to where there is no density
                "lost": state.lost,
            }
            return State(points, logdensity, slopes, width, jnp.zeros_like(state.lost), state.iteration + 1), said

        return Sampler("sgld", init, step, lambda key, state, n: drawn(key, target, free.inside(state.points), n))

    return Method("sgld", {"rate": rate, "last": last}, make)


def middle(values: Points) -> Point:
    """The chains' median square: one chain in a chasm has no say in how the others step."""
    return jnp.maximum(jnp.nanmedian(jnp.square(values[:: -(-len(values) // SOME)]), 0), LEAST)


def remembered(width: Width, moves: Points, changes: Points) -> Width:
    new = Width(middle(moves), middle(changes))
    return jax.tree.map(lambda old, now: MEMORY * old + (1.0 - MEMORY) * now, width, new)
