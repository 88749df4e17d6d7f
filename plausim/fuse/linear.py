"""Small systems of equations, unrolled: Cholesky, LU with pivots, triangular solves.

The same formulas as in a textbook, one matrix at a time; batch axes come first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .graph import Graph
from .nodes import Array


def _batched(function: Callable[..., tuple[Array, ...]], *arrays: Array) -> list[Array]:
    """Apply a function of matrices to each matrix of a batch."""
    batch = arrays[0].shape[:-2]
    results = [function(*(a[i] for a in arrays)) for i in np.ndindex(*batch)]
    return [np.stack(column).reshape(*batch, *column[0].shape) for column in zip(*results, strict=True)]


def _cholesky(g: Graph, eqn: Any, a: Array) -> Array:
    def factor(m: Array) -> tuple[Array]:
        n, kind = len(m), g.nodes[m.flat[0]].kind
        zero, definite = g.const(kind, 0), g.const("i1", True)
        out = np.full((n, n), zero, np.int32)
        for j in range(n):
            for i in range(j, n):
                total = int(m[i, j])
                for k in range(j):
                    total = g.sub(total, g.mul(int(out[i, k]), int(out[j, k])))
                if i == j:
                    definite = g.apply("and", definite, g.apply("gt", total, zero))
                out[i, j] = g.apply("sqrt", total) if i == j else g.div(total, int(out[j, j]))
        for i, j in zip(*np.tril_indices(n), strict=True):  # all NaN where the matrix is not positive definite
            out[i, j] = g.select(definite, int(out[i, j]), g.const(kind, np.nan))
        return (out,)

    return _batched(factor, a)[0] if a.size else a


def _triangular_solve(g: Graph, eqn: Any, a: Array, b: Array) -> Array:
    p = eqn.params

    def solve(m: Array, rhs: Array) -> tuple[Array]:
        lower = p["lower"]
        if p["transpose_a"]:
            m, lower = m.T, not lower
        if not p["left_side"]:  # x m = rhs is m' x' = rhs'
            m, lower, rhs = m.T, not lower, rhs.T
        n = len(m)
        x = rhs.copy()
        for row in range(n) if lower else reversed(range(n)):
            done = range(row) if lower else range(row + 1, n)
            for column in range(rhs.shape[1]):
                total = int(rhs[row, column])
                for k in done:
                    total = g.sub(total, g.mul(int(m[row, k]), int(x[k, column])))
                x[row, column] = total if p["unit_diagonal"] else g.div(total, int(m[row, row]))
        return (x if p["left_side"] else x.T,)

    return _batched(solve, a, b)[0] if b.size else b


def _lu(g: Graph, eqn: Any, a: Array) -> list[Array]:
    """Rows are exchanged by selects: which one is the pivot is known only at run time."""

    def factor(m: Array) -> tuple[Array, Array, Array]:
        rows, columns = m.shape
        m = m.copy()
        order = np.array([g.const("i32", i) for i in range(rows)], np.int32)
        pivots = []
        for k in range(min(rows, columns)):
            pivot, largest = g.const("i32", k), g.apply("abs", int(m[k, k]))
            for i in range(k + 1, rows):
                size = g.apply("abs", int(m[i, k]))
                wins = g.apply("gt", size, largest)
                pivot, largest = g.select(wins, g.const("i32", i), pivot), g.select(wins, size, largest)
            for i in range(k + 1, rows):
                here = g.apply("eq", pivot, g.const("i32", i))
                for array in (m.T, order[None]):
                    for column in array:
                        top, other = int(column[k]), int(column[i])
                        column[k], column[i] = g.select(here, other, top), g.select(here, top, other)
            pivots.append(pivot)
            singular = g.apply("eq", int(m[k, k]), g.const(g.nodes[int(m[k, k])].kind, 0))  # then so is all below it
            for i in range(k + 1, rows):
                m[i, k] = g.select(singular, int(m[i, k]), g.div(int(m[i, k]), int(m[k, k])))
                for j in range(k + 1, columns):
                    m[i, j] = g.sub(int(m[i, j]), g.mul(int(m[i, k]), int(m[k, j])))
        return m, np.array(pivots, np.int32), order

    if not a.size:
        return [np.zeros(v.aval.shape, np.int32) for v in eqn.outvars]
    return _batched(factor, a)


def _permutation(g: Graph, eqn: Any, pivots: Array) -> Array:
    """The order of rows that a list of exchanges leads to."""
    size = eqn.params["permutation_size"]

    def run(exchanges: Array) -> tuple[Array]:
        order = [g.const("i32", i) for i in range(size)]
        for k, pivot in enumerate(exchanges.ravel().tolist()):
            for i in range(k + 1, size):
                here = g.apply("eq", pivot, g.const("i32", i))
                order[k], order[i] = g.select(here, order[i], order[k]), g.select(here, order[k], order[i])
        return (np.array(order, np.int32)[None],)

    return _batched(run, pivots[..., None, :])[0][..., 0, :]


LINEAR_ALGEBRA: dict[str, Callable[..., Any]] = {
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "lu": _lu,
    "lu_pivots_to_permutation": _permutation,
}
