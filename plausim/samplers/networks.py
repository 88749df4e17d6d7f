"""Density networks: from a summary to a mixture of normal densities over what produced it (`sec:bayessim-model`).

    expand: (key, rows) -> features         fixed: what the network sees of each row
    output: (weights, features) -> head     learned: layers of tanh, of which there may be none, then a linear one

A head is flat, and holds for each kernel its weight's logarithm, its mean m and a triangle: with z = e^s (v + N v) for
v = x - m and N strictly lower triangular, its density is that of a standard normal z. `MODELS` has every network.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.target import Number

from .protocol import Key

Rows = Float[Array, "rows numbers"]
Points = Float[Array, "rows dimensions"]
Features = Float[Array, "rows features"]
Head = Float[Array, "rows outputs"]
Weights = list[tuple[Array, Array]]

SOME = 500  # rows whose distances say how far apart all are
SMALL = 0.01  # the linear layer's first weights: at first the density is that of its constants


class Model(NamedTuple):
    expand: Callable[[Key, Rows, int], Features]
    hidden: tuple[int, ...]  # units of each layer before the linear one


def plain(key: Key, rows: Rows, features: int) -> Features:
    return rows


def fourier(freedom: int | None) -> Callable[[Key, Rows, int], Features]:
    """Random features whose products are a kernel: RBF, or Matern of half so many degrees of freedom.

    Its spectral density is normal, or Student's. The width is the median distance of rows (median heuristic).
    """

    def expand(key: Key, rows: Rows, features: int) -> Features:
        way, length = jax.random.split(key)
        frequencies = jax.random.normal(way, (rows.shape[1], features // 2), rows.dtype)
        if freedom is not None:
            squares = jax.random.normal(length, (freedom, features // 2), rows.dtype) ** 2
            frequencies = frequencies / jnp.sqrt(jnp.mean(squares, 0, keepdims=True))
        phases = rows @ (frequencies / middle_distance(rows))
        return jnp.concatenate([jnp.cos(phases), jnp.sin(phases)], 1)

    return expand


MODELS: dict[str, Model] = {
    "mdn": Model(plain, (24, 24)),
    "mdrff-rbf": Model(fourier(None), ()),
    "mdrff-matern": Model(fourier(5), ()),  # nu = 5/2
}


def middle_distance(rows: Rows) -> Number:
    some = rows[:: -(-len(rows) // SOME)]
    norms = jnp.sum(some**2, 1)
    squares = norms[:, None] + norms[None] - 2.0 * (some @ some.T)
    found = jnp.sqrt(jnp.median(squares[np.triu_indices(len(some), 1)]))
    return jnp.where(found > 0, found, 1.0)


def begun(key: Key, sizes: tuple[int, ...], kernels: int, dimensions: int) -> Weights:
    """The first weights of layers of these sizes; kernels begin spread over a standard normal."""
    *keys, last, means = jax.random.split(key, len(sizes) + 1)
    weights = [
        (jax.random.normal(k, (a, b), jnp.float32) / float(np.sqrt(a)), jnp.zeros(b, jnp.float32))
        for k, a, b in zip(keys, sizes[:-1], sizes[1:], strict=True)
    ]
    spread = jax.random.normal(means, (kernels * dimensions,), jnp.float32)
    outputs = kernels * (1 + 2 * dimensions + dimensions * (dimensions - 1) // 2)
    constant = jnp.zeros(outputs, jnp.float32).at[kernels : kernels + spread.size].set(spread)
    linear = SMALL / float(np.sqrt(sizes[-1])) * jax.random.normal(last, (sizes[-1], outputs), jnp.float32)
    return [*weights, (linear, constant)]


def output(weights: Weights, features: Features) -> Head:
    for matrix, constant in weights[:-1]:
        features = jnp.tanh(features @ matrix + constant[None])
    matrix, constant = weights[-1]
    return features @ matrix + constant[None]


class Mixture(NamedTuple):
    """Of each row, a mixture."""

    logits: Float[Array, "rows kernels"]
    means: Float[Array, "rows kernels dimensions"]
    logscales: Float[Array, "rows kernels dimensions"]  # s
    below: Float[Array, "rows kernels pairs"]  # N, row by row


def mixture(head: Head, kernels: int, dimensions: int) -> Mixture:
    ends = np.cumsum([kernels, kernels * dimensions, kernels * dimensions])
    logits, *rest = jnp.split(head, ends, 1)
    return Mixture(jax.nn.log_softmax(logits), *(x.reshape(len(head), kernels, -1) for x in rest))


def logdensity(found: Mixture, points: Points) -> Float[Array, " rows"]:
    """Of one point for each row."""
    dimensions = points.shape[1]
    row, column = (jnp.asarray(np.eye(dimensions)[i], points.dtype) for i in np.tril_indices(dimensions, -1))
    away = points[:, None] - found.means
    z = jnp.exp(found.logscales) * (away + (found.below * (away @ column.T)) @ row)
    each = found.logits + jnp.sum(found.logscales - 0.5 * z * z, 2)
    return jax.nn.logsumexp(each, 1) - float(0.5 * dimensions * np.log(2.0 * np.pi))


def draws(key: Key, found: Mixture, count: int) -> Points:
    """So many points of the first row's mixture."""
    which, noise = jax.random.split(key)
    dimensions = found.means.shape[2]
    kernel = jax.random.categorical(which, found.logits[0], shape=(count,))
    z = jax.random.normal(noise, (count, dimensions), found.means.dtype)
    low = jnp.zeros((len(found.logits[0]), dimensions, dimensions), z.dtype)
    low = low.at[:, *np.tril_indices(dimensions, -1)].set(found.below[0])[kernel]
    right = z * jnp.exp(-found.logscales[0][kernel])
    solve = jax.vmap(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True, unit_diagonal=True))
    return found.means[0][kernel] + solve(low, right)
