"""The direction in which particles move to become a sample: driven by the scores, kept apart by the kernel."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plausim.target import Number, Points

BLOCK = 500  # rows of the kernel at a time, where all of them would be too many
WHOLE = 2000  # particles whose kernel is held as a whole, and that the bandwidth of more is estimated from


class Direction(NamedTuple):
    phi: Points
    bandwidth: Number


def direction(points: Points, score: Points, features: Points) -> Direction:
    """phi (`eq:svgd_update`) with the kernel exp(-|a - b|^2 / h) of some features of the points.

    Features are the points themselves, or their first coordinates: then the others are driven only, not kept apart.
    """
    h = bandwidth(features)
    if len(points) <= WHOLE:
        return Direction(_rows(features, points, score, features, h), h)
    whole = -(-len(points) // BLOCK) * BLOCK
    padded = jnp.pad(features, ((0, whole - len(points)), (0, 0))).reshape(-1, BLOCK, features.shape[1])
    phi = jax.lax.map(lambda block: _rows(block, points, score, features, h), padded)
    return Direction(phi.reshape(whole, -1)[: len(points)], h)


def _rows(block: Points, points: Points, score: Points, features: Points, h: Number) -> Points:
    """phi at the particles of a block: k(j, i) score_j + grad_j k(j, i), mean over all j."""
    kernel = jnp.exp(-squared_distances(block, features) / h)
    driven = kernel @ score
    apart = (2.0 / h) * (jnp.sum(kernel, 1, keepdims=True) * block - kernel @ features)
    rest = points.shape[1] - features.shape[1]
    return (driven + jnp.pad(apart, ((0, 0), (0, rest)))) / len(points)


def squared_distances(a: Points, b: Points) -> Float[Array, "rows columns"]:
    squares = jnp.sum(a * a, 1)[:, None] + jnp.sum(b * b, 1)[None, :] - 2.0 * (a @ b.T)
    return jnp.maximum(squares, 0.0)


def bandwidth(features: Points) -> Number:
    """The median heuristic: median of the squared distances over log(N + 1) (`sec:svgd`)."""
    some = features[:: -(-len(features) // WHOLE)]
    squares = squared_distances(some, some)
    return jnp.maximum(median(squares) / jnp.log(jnp.asarray(len(features) + 1.0, features.dtype)), 1e-12)


def median(values: Float[Array, "rows columns"]) -> Number:
    """The upper median of numbers that are not negative, by halving their bits: far quicker than to sort them."""
    wide = values.dtype == jnp.float64
    kind, bits = (jnp.uint64, 63) if wide else (jnp.uint32, 31)
    words = jax.lax.bitcast_convert_type(values, kind)
    half = values.size // 2

    def narrow(i: Array, low: Array) -> Array:
        middle = low | (jnp.ones((), kind) << (bits - 1 - i).astype(kind))
        below = jnp.sum(words < middle, dtype=jnp.int32)
        return jnp.where(below <= half, middle, low)

    found = jax.lax.fori_loop(0, bits, narrow, jnp.zeros((), kind))
    return jax.lax.bitcast_convert_type(found, values.dtype)
