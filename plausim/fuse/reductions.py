"""Numbers along an axis: sums and extremes, running ones, sorting, products of matrices."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .folding import DTYPES, is_float
from .graph import Graph
from .nodes import Array, each, kind_of
from .unfusable import Unfusable


def _fold(g: Graph, a: Array, axes: tuple[int, ...], op: Callable[[int, int], int], empty: Any, kind: str) -> Array:
    moved = np.moveaxis(a, axes, range(len(axes)))
    rest = moved.shape[len(axes) :]
    rows = moved.reshape(-1, *rest) if moved.size else np.zeros((0, *rest), np.int32)
    if not len(rows):
        return np.full(rest, g.const(kind, empty), np.int32)
    result = rows[0, ...]
    for i in range(1, len(rows)):
        result = each(op, result, rows[i, ...])
    return result


def _reduce(op: str, empty: Callable[[str], Any]) -> Callable[..., Array]:
    def rule(g: Graph, eqn: Any, a: Array) -> Array:
        kind = kind_of(eqn.outvars[0].aval)
        return _fold(g, a, tuple(map(int, eqn.params["axes"])), partial(g.apply, op), empty(kind), kind)

    return rule


def _lowest(kind: str) -> Any:
    return -np.inf if is_float(kind) else False if kind == "i1" else np.iinfo(DTYPES[kind]).min


def _highest(kind: str) -> Any:
    return np.inf if is_float(kind) else True if kind == "i1" else np.iinfo(DTYPES[kind]).max


def _all_ones(kind: str) -> Any:
    return True if kind == "i1" else np.invert(DTYPES[kind](0))


def _argument(op: str) -> Callable[..., Array]:
    def rule(g: Graph, eqn: Any, a: Array) -> Array:
        (axis,) = eqn.params["axes"]
        kind = kind_of(eqn.outvars[0].aval)
        rows = np.moveaxis(a, axis, 0)
        best, place = rows[0, ...], np.full(rows.shape[1:], g.const(kind, 0), np.int32)
        for i in range(1, len(rows)):
            row = rows[i, ...]

            def better(n: int, b: int) -> int:  # NaN wins over numbers, the first one over later ones
                beats = g.apply(op, n, b)
                if is_float(g.nodes[n].kind):
                    beats = g.apply("or", beats, g.apply("and", g.apply("ne", n, n), g.apply("eq", b, b)))
                return beats

            wins = each(better, row, best)
            best = each(g.select, wins, row, best)
            place = each(lambda w, p, i=i: g.select(w, g.const(kind, i), p), wins, place)
        return place

    return rule


def _cumulative(op: str) -> Callable[..., Array]:
    def rule(g: Graph, eqn: Any, a: Array) -> Array:
        axis = eqn.params["axis"]
        rows = np.moveaxis(a, axis, 0)
        rows = rows[::-1] if eqn.params["reverse"] else rows
        results = [rows[0, ...]] if len(rows) else []
        for i in range(1, len(rows)):
            results.append(each(partial(g.apply, op), results[-1], rows[i, ...]))
        if not results:
            return a
        return np.moveaxis(np.stack(results[::-1] if eqn.params["reverse"] else results), 0, axis)

    return rule


def _sort(g: Graph, eqn: Any, *arrays: Array) -> list[Array]:
    """Neighbours are swapped until all stand right: stable, and for the few numbers of a step short enough."""
    axis, keys = eqn.params["dimension"], eqn.params["num_keys"]
    columns = [np.moveaxis(a, axis, 0).copy() for a in arrays]
    count = len(columns[0])
    if count > 32:
        raise Unfusable(f"sorting {count} numbers", advice="at most 32 are sorted inside a fused step")

    def before(*nodes: int) -> int:
        """Whether the second row must stand before the first; NaN stands last."""
        first, second = nodes[:keys], nodes[keys:]
        result, equal = g.const("i1", False), g.const("i1", True)
        for a, b in zip(first, second, strict=True):
            less, same = g.apply("lt", b, a), g.apply("eq", a, b)
            if is_float(g.nodes[a].kind):
                a_nan, b_nan = g.apply("ne", a, a), g.apply("ne", b, b)
                less = g.apply("or", less, g.apply("and", a_nan, g.apply("not", b_nan)))
                same = g.apply("or", same, g.apply("and", a_nan, b_nan))
            result = g.apply("or", result, g.apply("and", equal, less))
            equal = g.apply("and", equal, same)
        return result

    for turn in range(count):
        for i in range(turn % 2, count - 1, 2):
            swap = each(before, *(c[i, ...] for c in columns[:keys]), *(c[i + 1, ...] for c in columns[:keys]))
            for c in columns:
                upper, lower = (
                    each(g.select, swap, c[i + 1, ...], c[i, ...]),
                    each(g.select, swap, c[i, ...], c[i + 1, ...]),
                )
                c[i], c[i + 1] = upper, lower
    return [np.moveaxis(c, 0, axis) for c in columns]


def _dot_general(g: Graph, eqn: Any, a: Array, b: Array) -> Array:
    (ca, cb), (ba, bb) = eqn.params["dimension_numbers"]
    kind = kind_of(eqn.outvars[0].aval)
    fa = [d for d in range(a.ndim) if d not in ca and d not in ba]
    fb = [d for d in range(b.ndim) if d not in cb and d not in bb]
    size = lambda x, dims: int(np.prod([x.shape[d] for d in dims], dtype=int))  # noqa: E731
    left = a.transpose(*ba, *fa, *ca).reshape(size(a, ba), size(a, fa), size(a, ca))
    right = b.transpose(*bb, *fb, *cb).reshape(size(b, bb), size(b, fb), size(b, cb))
    zero = g.const(kind, 0)
    g.expect(left.size * right.shape[-2])
    out = np.empty((left.shape[0], left.shape[1], right.shape[1]), np.int32)
    for i, j, k in np.ndindex(*out.shape):
        total = zero
        for x, y in zip(left[i, j].tolist(), right[i, k].tolist(), strict=True):
            term = g.mul(g.convert(x, kind), g.convert(y, kind)) if kind != "i1" else g.apply("and", x, y)
            total = g.add(total, term) if kind != "i1" else g.apply("or", total, term)
        out[i, j, k] = total
    shape = [a.shape[d] for d in ba] + [a.shape[d] for d in fa] + [b.shape[d] for d in fb]
    return out.reshape(shape)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "reduce_sum": _reduce("add", lambda k: 0),
    "reduce_prod": _reduce("mul", lambda k: 1),
    "reduce_max": _reduce("max", _lowest),
    "reduce_min": _reduce("min", _highest),
    "reduce_and": _reduce("and", _all_ones),
    "reduce_or": _reduce("or", lambda k: 0),
    "reduce_xor": _reduce("xor", lambda k: 0),
    "argmax": _argument("gt"),
    "argmin": _argument("lt"),
    "cumsum": _cumulative("add"),
    "cumprod": _cumulative("mul"),
    "cummax": _cumulative("max"),
    "cummin": _cumulative("min"),
    "sort": _sort,
    "dot_general": _dot_general,
}
