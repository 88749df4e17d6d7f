"""How each JAX primitive becomes operations on single numbers: one table, `RULES`.

A rule is `(graph, equation, *arrays of nodes) -> array or list of arrays`. To add a primitive, write its rule and
its line in the table; nothing else needs to know.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .graph import DTYPES, Graph, is_float
from .linear import LINEAR_ALGEBRA
from .scalarise import Array, constants, each, kind_of, known
from .unfusable import Unfusable

MOST_CHOICES = 64  # positions that an index known only at run time is tried at


# ---- one number at a time


def _elementwise(op: str) -> Callable[..., Array]:
    return lambda g, eqn, *xs: each(partial(g.apply, op), *xs)


def _kind(g: Graph, x: Array, eqn: Any) -> str:
    return g.nodes[x.flat[0]].kind if x.size else kind_of(eqn.outvars[0].aval)


def _div(g: Graph, eqn: Any, a: Array, b: Array) -> Array:
    return each(g.div if is_float(_kind(g, a, eqn)) else partial(g.apply, "idiv"), a, b)


def _integer_pow(g: Graph, eqn: Any, a: Array) -> Array:
    return each(lambda n: g.power(n, eqn.params["y"]), a)


def _pow(g: Graph, eqn: Any, a: Array, b: Array) -> Array:
    def power(x: int, y: int) -> int:
        if not is_float(g.nodes[y].kind):
            y = g.convert(y, g.nodes[x].kind)
        exponent = g.value(y)
        if exponent is not None and float(exponent).is_integer() and abs(exponent) <= 16:
            return g.power(x, int(exponent))
        return g.apply("pow", x, y)

    return each(power, a, b)


def _logistic(g: Graph, eqn: Any, a: Array) -> Array:
    def logistic(x: int) -> int:
        return g.apply("logistic", x)

    return each(logistic, a)


def _round(g: Graph, eqn: Any, a: Array) -> Array:
    to_even = int(eqn.params["rounding_method"]) == 1
    return each(partial(g.apply, "round_even" if to_even else "round"), a)


def _is_finite(g: Graph, eqn: Any, a: Array) -> Array:
    return each(lambda n: g.apply("lt", g.apply("abs", n), g.const(g.nodes[n].kind, np.inf)), a)


def _clamp(g: Graph, eqn: Any, low: Array, x: Array, high: Array) -> Array:
    def clamp(lo: int, n: int, hi: int) -> int:  # as lax.clamp: NaN stays, and the derivative is 0 on the limits too
        inside = g.apply("and", g.apply("lt", lo, n), g.apply("lt", n, hi))
        return g.apply("min", g.apply("max", g.gate(n, inside), lo), hi)

    return each(clamp, low, x, high)


def _select_n(g: Graph, eqn: Any, which: Array, *cases: Array) -> Array:
    if len(cases) == 1:
        return cases[0]
    if _kind(g, which, eqn) == "i1":
        return each(lambda c, no, yes: g.select(c, yes, no), which, *cases)
    result = cases[-1]
    for i, case in reversed(list(enumerate(cases[:-1]))):
        result = each(
            lambda w, n, r, i=i: g.select(g.apply("le", w, g.const(g.nodes[w].kind, i)), n, r), which, case, result
        )
    return result


def _convert(g: Graph, eqn: Any, a: Array) -> Array:
    kind = kind_of(eqn.outvars[0].aval)
    return each(lambda n: g.convert(n, kind), a)


def _bitcast(g: Graph, eqn: Any, a: Array) -> Array:
    kind = kind_of(eqn.outvars[0].aval)
    if a.size and np.dtype(DTYPES[kind]).itemsize != np.dtype(DTYPES[_kind(g, a, eqn)]).itemsize:
        raise Unfusable("a bitcast between numbers of different width")
    return each(lambda n: g.bitcast(n, kind), a)


def _same(g: Graph, eqn: Any, *arrays: Array) -> list[Array]:
    return list(arrays)


def _stop(g: Graph, eqn: Any, a: Array) -> Array:
    return each(g.stop, a)


# ---- numbers that only move: the primitive is run on positions


def _moved(g: Graph, eqn: Any, *arrays: Array) -> Any:
    """Any primitive that copies numbers: run it on the positions themselves."""
    with jax.ensure_compile_time_eval():
        out = eqn.primitive.bind(*(jnp.asarray(a) for a in arrays), **eqn.params)
    return [np.asarray(o) for o in out] if eqn.primitive.multiple_results else np.asarray(out)


def _broadcast_in_dim(g: Graph, eqn: Any, a: Array) -> Array:
    shape, dims = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    aligned = [1] * len(shape)
    for axis, size in zip(dims, a.shape, strict=True):
        aligned[axis] = size
    return np.broadcast_to(a.reshape(aligned), shape)


def _reshape(g: Graph, eqn: Any, a: Array) -> Array:
    return a.reshape(eqn.params["new_sizes"])


def _transpose(g: Graph, eqn: Any, a: Array) -> Array:
    return a.transpose(eqn.params["permutation"])


def _like_result(g: Graph, eqn: Any, a: Array) -> Array:
    return a.reshape(eqn.outvars[0].aval.shape)


def _slice(g: Graph, eqn: Any, a: Array) -> Array:
    p = eqn.params
    strides = p["strides"] or (1,) * a.ndim
    return a[tuple(slice(*s) for s in zip(p["start_indices"], p["limit_indices"], strides, strict=True))]


def _concatenate(g: Graph, eqn: Any, *arrays: Array) -> Array:
    return np.concatenate(arrays, eqn.params["dimension"])


def _rev(g: Graph, eqn: Any, a: Array) -> Array:
    return np.flip(a, eqn.params["dimensions"])


def _split(g: Graph, eqn: Any, a: Array) -> list[Array]:
    return np.split(a, np.cumsum(eqn.params["sizes"])[:-1], eqn.params["axis"])


def _iota(g: Graph, eqn: Any) -> Array:
    p = eqn.params
    shape = [1] * len(p["shape"])
    shape[p["dimension"]] = -1
    values = np.arange(p["shape"][p["dimension"]]).astype(p["dtype"]).reshape(shape)
    return np.broadcast_to(constants(g, values), p["shape"])


# ---- indices


def _indexed(g: Graph, eqn: Any, indices: list[int], result: Callable[[np.ndarray], Array]) -> Array:
    """`result(numbers)` where the indices are known; else a choice between the results at all places."""
    unknown = [i for i, n in enumerate(indices) if g.value(n) is None]
    numbers = np.array([0 if g.value(n) is None else int(g.value(n)) for n in indices], np.int64)
    if not unknown:
        return result(numbers)
    limits = [max(v.aval.shape, default=1) for v in eqn.invars[:1]] * len(unknown)
    choices = list(itertools.product(*(range(-1, n + 1) for n in limits)))  # one beyond each end stands for all outside
    if len(choices) > MOST_CHOICES:
        raise Unfusable(f"{eqn.primitive.name} at one of {len(choices)} places that are known only at run time",
                        advice="pass the array as xs, or index it with numbers known before the run")  # fmt: skip
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

    return _indexed(g, eqn, [int(s) for s in starts[: x.ndim]], cut)


def _dynamic_update_slice(g: Graph, eqn: Any, x: Array, update: Array, *starts: Array) -> Array:
    def put(numbers: np.ndarray) -> Array:
        at = [min(max(int(s), 0), n - k) for s, n, k in zip(numbers, x.shape, update.shape, strict=True)]
        result = x.copy()
        result[tuple(slice(s, s + k) for s, k in zip(at, update.shape, strict=True))] = update
        return result

    return _indexed(g, eqn, [int(s) for s in starts], put)


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
        with jax.ensure_compile_time_eval():
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
    combine = {"scatter": None, "scatter-add": "add", "scatter_add": "add", "scatter-mul": "mul", "scatter_mul": "mul",
               "scatter-min": "min", "scatter_min": "min", "scatter-max": "max", "scatter_max": "max", "scatter-sub": "sub"}[eqn.primitive.name]  # fmt: skip

    def put(values: np.ndarray) -> Array:
        keep = {k: eqn.params[k] for k in ("dimension_numbers", "indices_are_sorted", "unique_indices", "mode")}
        with jax.ensure_compile_time_eval():
            where_known = jnp.asarray(values.reshape(where.shape).astype(dtype))
            ones = jnp.eye(updates.size, dtype=jnp.int32).reshape(updates.size, *updates.shape)
            base = jnp.zeros(x.shape, jnp.int32)
            hits = np.asarray(jax.vmap(lambda u: jax.lax.scatter_add(base, where_known, u, **keep))(ones))
        result = x.copy().ravel()
        for node, hit in zip(updates.ravel().tolist(), hits.reshape(updates.size, x.size), strict=True):
            for place in np.flatnonzero(hit).tolist():
                result[place] = node if combine is None else g.apply(combine, int(result[place]), node)
        return result.reshape(x.shape)

    return _indexed(g, eqn, where.ravel().tolist(), put)


# ---- many numbers to one


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


RULES: dict[str, Callable[..., Any]] = {
    **{n: _elementwise(n) for n in (
        "add", "sub", "mul", "neg", "max", "min", "abs", "sign", "floor", "ceil", "rem", "atan2", "sqrt", "rsqrt", "cbrt",
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        "exp", "exp2", "expm1", "log", "log1p", "erf", "erfc", "lgamma",
        "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not",
        "shift_left", "shift_right_logical", "shift_right_arithmetic", "population_count", "clz", "logistic")},
    "add_any": _elementwise("add"),
    "square": lambda g, eqn, a: each(lambda n: g.mul(n, n), a),
    "div": _div, "integer_pow": _integer_pow, "pow": _pow, "round": _round, "is_finite": _is_finite,
    "clamp": _clamp, "select_n": _select_n, "convert_element_type": _convert, "bitcast_convert_type": _bitcast,
    **dict.fromkeys(("copy", "copy_p", "optimization_barrier", "pvary", "pcast", "sharding_constraint", "name", "device_put"), _same),
    "stop_gradient": _stop,
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _reshape, "transpose": _transpose, "squeeze": _like_result,
    "expand_dims": _like_result, "slice": _slice, "concatenate": _concatenate, "rev": _rev, "split": _split, "iota": _iota,
    **dict.fromkeys(("pad", "stack", "unstack", "tile", "broadcast"), _moved),
    "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice, "gather": _gather,
    **dict.fromkeys(("scatter", "scatter-add", "scatter_add", "scatter-mul", "scatter_mul", "scatter-min", "scatter_min",
                     "scatter-max", "scatter_max", "scatter-sub"), _scatter),
    "reduce_sum": _reduce("add", lambda k: 0), "reduce_prod": _reduce("mul", lambda k: 1),
    "reduce_max": _reduce("max", _lowest), "reduce_min": _reduce("min", _highest),
    "reduce_and": _reduce("and", _all_ones), "reduce_or": _reduce("or", lambda k: 0), "reduce_xor": _reduce("xor", lambda k: 0),
    "argmax": _argument("gt"), "argmin": _argument("lt"),
    "cumsum": _cumulative("add"), "cumprod": _cumulative("mul"), "cummax": _cumulative("max"), "cummin": _cumulative("min"),
    "sort": _sort, "dot_general": _dot_general,
    **LINEAR_ALGEBRA,
}  # fmt: skip
