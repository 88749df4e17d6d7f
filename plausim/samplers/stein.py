"""The direction in which particles move to become a sample: driven by the scores, kept apart by the kernel."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plausim.target import Number, Points

BLOCK = 500  # rows of the kernel at a time, where all of them would be too many
WHOLE = 2000  # particles whose kernel is held as a whole, and that the bandwidth of more is estimated from
LEAST = 1e-30  # a bandwidth below this one is no bandwidth


class Direction(NamedTuple):
    phi: Points
    bandwidth: Number


def direction(points: Points, score: Points, features: Float[Array, "particles features"]) -> Direction:
    """phi (`eq:svgd_update`) with the kernel exp(-|a - b|^2 / h) of some features of the points.

    Features are the points themselves, or their first coordinates: then the others are driven only, not kept apart.
    """
    features = features - jnp.mean(features, 0, keepdims=True)  # a cloud far from 0 keeps the digits of its distances
    h, rest = bandwidth(features), points.shape[1] - features.shape[1]
    aside = jnp.concatenate([score, features, jnp.ones_like(features[:, :1])], 1)  # all that the kernel multiplies
    if len(points) <= WHOLE:
        return Direction(_rows(features, aside, features, rest, h), h)
    whole = -(-len(points) // BLOCK) * BLOCK
    padded = jnp.pad(features, ((0, whole - len(points)), (0, 0))).reshape(-1, BLOCK, features.shape[1])
    phi = jax.lax.map(lambda block: _rows(block, aside, features, rest, h), padded)
    return Direction(phi.reshape(whole, -1)[: len(points)], h)


def _rows(
    block: Float[Array, "rows features"],
    aside: Float[Array, "particles numbers"],
    features: Float[Array, "particles features"],
    rest: int,
    h: Number,
) -> Float[Array, "rows dimensions"]:
    """phi at the particles of a block: k(j, i) score_j + grad_j k(j, i), mean over all j."""
    summed = jnp.exp(-squared_distances(block, features) / h) @ aside  # in one product: it takes most of the time
    driven, middle, weight = jnp.split(summed, [block.shape[1] + rest, summed.shape[1] - 1], 1)
    apart = (2.0 / h) * (weight * block - middle)
    return (driven + jnp.pad(apart, ((0, 0), (0, rest)))) / len(features)


def squared_distances(
    a: Float[Array, "rows features"], b: Float[Array, "columns features"]
) -> Float[Array, "rows columns"]:
    squares = jnp.sum(a * a, 1)[:, None] + jnp.sum(b * b, 1)[None, :] - 2.0 * (a @ b.T)
    return jnp.maximum(squares, 0.0)


def bandwidth(features: Float[Array, "particles features"]) -> Number:
    """The median heuristic: median of the squared distances over log(N + 1) (`sec:svgd`)."""
    some = features[:: -(-len(features) // WHOLE)]
    h = median(squared_distances(some, some)) / jnp.log(jnp.asarray(len(features) + 1.0, features.dtype))
    return jnp.where(h > LEAST, h, 1.0)  # more than half of the pairs coincide: any width will do


def median(values: Float[Array, "rows columns"]) -> Number:
    """The upper median of numbers that are not negative, to float32: halving its bits is far quicker than sorting.

    Counted in floating point, which XLA does on all lanes, and integers not; up to 2^24 numbers that is exact.
    """
    single = values.astype(jnp.float32)
    half = values.size // 2

    def narrow(i: Array, low: Array) -> Array:
        middle = low | (jnp.ones((), jnp.int32) << (30 - i).astype(jnp.int32))
        below = jnp.sum((single < jax.lax.bitcast_convert_type(middle, jnp.float32)).astype(jnp.float32))
        return jnp.where(below <= half, middle, low)

    found = jax.lax.fori_loop(0, 31, narrow, jnp.zeros((), jnp.int32))
    return jax.lax.bitcast_convert_type(found, jnp.float32).astype(values.dtype)
