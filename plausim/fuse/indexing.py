"""Reading and writing at computed places: dynamic slices, gather, scatter.

Where a place is known while the step is compiled, the numbers only move. Where it is not, a select chooses between what
there would be at each place.
"""

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import eval_context

from .folding import DTYPES, is_float
from .graph import Graph
from .nodes import Array, each, kind_of, known
from .unfusable import Unfusable

MOST_CHOICES = 64  # positions that an index known only at run time is tried at
SCATTERED = {  # what a scatter does with the number that is there already; JAX has written the names both ways
    "scatter": None,
    **dict.fromkeys(("scatter-add", "scatter_add"), "add"),
    "scatter-sub": "sub",
    **dict.fromkeys(("scatter-mul", "scatter_mul"), "mul"),
    **dict.fromkeys(("scatter-min", "scatter_min"), "min"),
    **dict.fromkeys(("scatter-max", "scatter_max"), "max"),
}


def _indexed(
    g: Graph, eqn: Any, indices: list[int], result: Callable[[np.ndarray], Array], sizes: Sequence[int] | None = None
) -> Array:
    """`result(numbers)` where the indices are known; else a choice between the results at all places.

    `sizes` are those of the axes that the indices run along, where each runs along its own.
    """
    unknown = [i for i, n in enumerate(indices) if g.value(n) is None]
    numbers = np.array([0 if g.value(n) is None else int(g.value(n)) for n in indices], np.int64)
    if not unknown:
        return result(numbers)
    longest = max(eqn.invars[0].aval.shape, default=1)
    limits = [longest if sizes is None else sizes[i] for i in unknown]
    count = math.prod(n + 2 for n in limits)  # one beyond each end stands for all outside
    if count > MOST_CHOICES:
        raise Unfusable(f"{eqn.primitive.name} at one of {count:,} places that are known only at run time",
                        advice="pass the array as xs, or index it with numbers known before the run")  # fmt: skip
    choices = itertools.product(*(range(-1, n + 1) for n in limits))
    chosen: Array | None = None
    for choice in choices:
        numbers[unknown] = choice
        there = result(numbers)
        if chosen is None:
            chosen = there
            continue
        matches = g.const("i1", True)
        for i, place, limit in zip(unknown, choice, limits, strict=True):
            node = indices[i]
            edge = "ge" if place == limit else "eq"
            matches = g.apply("and", matches, g.apply(edge, node, g.const(g.nodes[node].kind, place)))
        chosen = each(lambda y, n, c=matches: g.select(c, y, n), there, chosen)
    assert chosen is not None
    return chosen


def _dynamic_slice(g: Graph, eqn: Any, x: Array, *starts: Array) -> Array:
    sizes = eqn.params["slice_sizes"]

    def cut(numbers: np.ndarray) -> Array:
        at = [min(max(int(s), 0), n - k) for s, n, k in zip(numbers, x.shape, sizes, strict=True)]
        return x[tuple(slice(s, s + k) for s, k in zip(at, sizes, strict=True))]

    return _indexed(g, eqn, [int(s) for s in starts[: x.ndim]], cut, x.shape)


def _dynamic_update_slice(g: Graph, eqn: Any, x: Array, update: Array, *starts: Array) -> Array:
    def put(numbers: np.ndarray) -> Array:
        at = [min(max(int(s), 0), n - k) for s, n, k in zip(numbers, x.shape, update.shape, strict=True)]
        result = x.copy()
        result[tuple(slice(s, s + k) for s, k in zip(at, update.shape, strict=True))] = update
        return result

    return _indexed(g, eqn, [int(s) for s in starts], put, x.shape)


def _gather(g: Graph, eqn: Any, x: Array, where: Array) -> Array:
    dtype = eqn.invars[1].aval.dtype
    kind = kind_of(eqn.outvars[0].aval)
    fill = eqn.params.get("fill_value")
    if fill is None:
        fill = np.nan if is_float(kind) else (np.iinfo(DTYPES[kind]).min if kind[0] == "i" and kind != "i1" else 0)
        if kind[0] == "u":
            fill = np.iinfo(DTYPES[kind]).max
    outside = g.const(kind, fill)
    numbers = known(g, where)

    def fetch(values: np.ndarray) -> Array:
        params = dict(eqn.params, fill_value=-1) if "fill_value" in eqn.params else eqn.params
        with eval_context():
            out = np.asarray(eqn.primitive.bind(jnp.asarray(x), jnp.asarray(values.astype(dtype)), **params))
        return np.where(out == -1, outside, out).astype(np.int32)

    if numbers is not None:
        return fetch(numbers)
    if eqn.params["dimension_numbers"].operand_batching_dims or where.shape[-1:] != (1,):
        return _indexed(g, eqn, where.ravel().tolist(), lambda v: fetch(v.reshape(where.shape)))
    # rows of one index each are independent: choose each by itself, not all combinations
    flat = where.reshape(-1, 1)
    rows = np.stack(
        [_indexed(g, eqn, [int(n)], lambda v, i=i: _row(fetch, v, i, flat, where, eqn)) for i, (n,) in enumerate(flat)]
    )
    return _unrow(rows, where, eqn)


def reads_beyond(g: Graph, eqn: Any, where: Array) -> bool:
    """Whether an index may lie outside: JAX then reads the nearest number, and has no slope by it."""
    return eqn.params["mode"] == jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS and known(g, where) is None


def _row(fetch: Callable, value: np.ndarray, row: int, flat: Array, where: Array, eqn: Any) -> Array:
    numbers = np.zeros(flat.shape, np.int64)
    numbers[row] = value
    out = fetch(numbers.reshape(where.shape))
    offsets = eqn.params["dimension_numbers"].offset_dims
    batch = [d for d in range(out.ndim) if d not in offsets]
    return out.transpose([*batch, *offsets]).reshape(len(flat), *(out.shape[d] for d in offsets))[row, ...]


def _unrow(rows: Array, where: Array, eqn: Any) -> Array:
    offsets = eqn.params["dimension_numbers"].offset_dims
    ndim = where.ndim - 1 + len(offsets)
    batch = [d for d in range(ndim) if d not in offsets]
    return rows.reshape((*where.shape[:-1], *rows.shape[1:])).transpose(np.argsort([*batch, *offsets]))


def _scatter(g: Graph, eqn: Any, x: Array, where: Array, updates: Array) -> Array:
    """Which number goes where is found by scattering ones; the numbers then follow."""
    dtype = eqn.invars[1].aval.dtype
    combine = SCATTERED[eqn.primitive.name]
    if combine is None and eqn.params.get("update_jaxpr") is not None:
        raise Unfusable("a function applied to some numbers of an array", advice="write x.at[i].set(f(x[i]))")

    keep = tuple((k, eqn.params[k]) for k in ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode"))
    windows = eqn.params["dimension_numbers"].update_window_dims
    batch = [d for d in range(updates.ndim) if d not in windows]
    rows = where.reshape(math.prod(where.shape[:-1]), where.shape[-1])  # no number to a row, for a slice of everything
    of_row = np.arange(updates.size).reshape(updates.shape).transpose(*batch, *windows).reshape(len(rows), -1)

    def put(into: Array, values: np.ndarray, chosen: Array) -> Array:
        at = values.reshape(where.shape).astype(dtype)
        ones = np.eye(updates.size, dtype=np.int32)[chosen].reshape(-1, *updates.shape)
        base = np.zeros(x.shape, np.int32)
        with eval_context():
            hits = np.asarray(_scattered(base, at, ones, keep))
        result = into.copy().ravel()
        for node, hit in zip(updates.ravel()[chosen].tolist(), hits.reshape(len(chosen), x.size), strict=True):
            for place in np.flatnonzero(hit).tolist():
                result[place] = node if combine is None else g.apply(combine, int(result[place]), node)
        return result.reshape(x.shape)

    numbers = known(g, where)
    if numbers is not None:
        return put(x, numbers, np.arange(updates.size))
    for i, row in enumerate(rows):  # one after the other: the choices add up, and do not multiply

        def there(values: np.ndarray, i: int = i, into: Array = x) -> Array:
            numbers = np.zeros(rows.shape, np.int64)
            numbers[i] = values
            return put(into, numbers, of_row[i])

        x = _indexed(g, eqn, row.tolist(), there)
    return x


@functools.partial(jax.jit, static_argnums=3)  # by itself, each operation in it would be compiled
def _scattered(base: Any, at: Any, each: Any, how: tuple[tuple[str, Any], ...]) -> Any:
    return jax.vmap(lambda updates: jax.lax.scatter_add(base, at, updates, **dict(how)))(each)


INDEXING: dict[str, Callable[..., Any]] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    **dict.fromkeys(SCATTERED, _scatter),
}
