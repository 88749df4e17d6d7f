"""How each JAX primitive becomes operations on single numbers: one table, `RULES`.

A rule is `(graph, equation, *arrays of nodes) -> array or list of arrays`. To add a primitive, write its rule and
its line in the table; nothing else needs to know. Rules of one kind have a file and a part of the table of their own:
`indexing`, `reductions`, `linear`.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import eval_context

from .folding import DTYPES, is_float
from .graph import Graph
from .indexing import INDEXING
from .linear import LINEAR_ALGEBRA
from .nodes import Array, constants, each, kind_of
from .reductions import REDUCTIONS
from .unfusable import Unfusable

# ---- one number at a time


def _elementwise(op: str) -> Callable[..., Array]:
    return lambda g, eqn, *xs: each(partial(g.apply, op), *xs)


def _kind(g: Graph, x: Array, eqn: Any) -> str:
    return g.nodes[x.flat[0]].kind if x.size else kind_of(eqn.outvars[0].aval)


def _div(g: Graph, eqn: Any, a: Array, b: Array) -> Array:
    return each(g.div if is_float(_kind(g, a, eqn)) else partial(g.apply, "idiv"), a, b)


def _one_minus_square(g: Graph, eqn: Any, a: Array) -> Array:
    def product(n: int) -> int:  # not 1 - n n, which loses digits where n is almost 1
        one = g.const(g.nodes[n].kind, 1)
        return g.mul(g.sub(one, n), g.add(one, n))

    return each(product, a)


def _log2(g: Graph, eqn: Any, a: Array) -> Array:
    return each(lambda n: g.mul(g.apply("log", n), g.const(g.nodes[n].kind, 1 / math.log(2))), a)


def _polynomial(g: Graph, eqn: Any, x: Array, *coefficients: Array) -> Array:
    """The coefficient of x^0 comes first."""
    total, *lower = reversed(coefficients)
    for c in lower:
        total = each(lambda t, n, k: g.add(g.mul(t, n), k), total, x, c)
    return total


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


def _round(g: Graph, eqn: Any, a: Array) -> Array:
    to_even = int(eqn.params["rounding_method"]) == 1
    return each(partial(g.apply, "round_even" if to_even else "round"), a)


def _is_finite(g: Graph, eqn: Any, a: Array) -> Array:
    return each(lambda n: g.apply("lt", g.apply("abs", n), g.const(g.nodes[n].kind, np.inf)), a)


def _clamp(g: Graph, eqn: Any, low: Array, x: Array, high: Array) -> Array:
    def clamp(lo: int, n: int, hi: int) -> int:  # as lax.clamp: NaN stays, and on the limits all derivatives are 0
        inside = g.apply("and", g.apply("lt", lo, n), g.apply("lt", n, hi))
        below, above = g.apply("and", g.apply("lt", n, lo), g.apply("lt", lo, hi)), g.apply("lt", hi, n)
        return g.apply("min", g.apply("max", g.gate(n, inside), g.gate(lo, below)), g.gate(hi, above))

    return each(clamp, low, x, high)


def _in_order(op: str) -> Callable[..., Array]:
    """Comparison in the order of all numbers: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""

    def rank(g: Graph, n: int) -> int:
        kind = g.nodes[n].kind
        if not is_float(kind):
            return n
        whole = "i" + kind[1:]
        bits, width = g.bitcast(n, whole), int(kind[1:])
        sign = g.apply("shift_right_arithmetic", bits, g.const(whole, width - 1))
        return g.apply("xor", bits, g.apply("and", sign, g.const(whole, 2 ** (width - 1) - 1)))

    return lambda g, eqn, a, b: each(lambda x, y: g.apply(op, rank(g, x), rank(g, y)), a, b)


def _platform(g: Graph, eqn: Any) -> Array:
    """Which branch of a `lax.platform_dependent` is for the CPU: kernels run nowhere else yet."""
    places = [i for i, names in enumerate(eqn.params["platforms"]) if names is None or "cpu" in names]
    if not places:
        raise Unfusable("a branch for other platforms than the CPU")
    return constants(g, np.array(places[0], np.int32))


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
    with eval_context():
        out = eqn.primitive.bind(*(jnp.asarray(a) for a in arrays), **eqn.params)
    return [np.asarray(o) for o in out] if eqn.primitive.multiple_results else np.asarray(out)


def _stack(g: Graph, eqn: Any, *arrays: Array) -> Array:
    return np.stack(arrays, eqn.params["axis"])


def _pad(g: Graph, eqn: Any, a: Array, value: Array) -> Array:
    result = np.full(eqn.outvars[0].aval.shape, int(value), np.int32)
    sources, targets = [], []
    for size, room, (low, _, between) in zip(a.shape, result.shape, eqn.params["padding_config"], strict=True):
        place = low + np.arange(size) * (between + 1)
        inside = (place >= 0) & (place < room)  # negative padding cuts off
        sources.append(np.flatnonzero(inside))
        targets.append(place[inside])
    result[np.ix_(*targets)] = a[np.ix_(*sources)]
    return result


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


def _empty(g: Graph, eqn: Any) -> Array:
    """Numbers that nobody reads, such as what a branch that was not taken leaves for the way back."""
    aval = eqn.outvars[0].aval
    return np.full(aval.shape, g.const(kind_of(aval), 0), np.int32)


def _iota(g: Graph, eqn: Any) -> Array:
    p = eqn.params
    shape = [1] * len(p["shape"])
    shape[p["dimension"]] = -1
    values = np.arange(p["shape"][p["dimension"]]).astype(p["dtype"]).reshape(shape)
    return np.broadcast_to(constants(g, values), p["shape"])


ELEMENTWISE = (
    "add", "sub", "mul", "neg", "max", "min", "abs", "sign", "floor", "ceil", "rem", "atan2", "sqrt", "rsqrt", "cbrt",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "exp2", "expm1", "log", "log1p", "erf", "erfc", "lgamma", "logistic",
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not",
    "shift_left", "shift_right_logical", "shift_right_arithmetic", "population_count", "clz",
)  # fmt: skip
UNCHANGED = ("copy", "copy_p", "optimization_barrier", "pvary", "pcast", "sharding_constraint", "name", "device_put")

RULES: dict[str, Callable[..., Any]] = {
    **{name: _elementwise(name) for name in ELEMENTWISE},
    **dict.fromkeys(UNCHANGED, _same),
    "add_any": _elementwise("add"), "square": lambda g, eqn, a: each(lambda n: g.mul(n, n), a),
    "one_minus_square": _one_minus_square, "log2": _log2, "polynomial": _polynomial,  # from JAX 0.12 on
    "div": _div, "integer_pow": _integer_pow, "pow": _pow, "round": _round, "is_finite": _is_finite,
    "clamp": _clamp, "select_n": _select_n, "convert_element_type": _convert, "bitcast_convert_type": _bitcast,
    "stop_gradient": _stop, "lt_to": _in_order("lt"), "le_to": _in_order("le"), "platform_index": _platform,
    "stack": _stack,
    "pad": _pad,
    "broadcast_in_dim": _broadcast_in_dim, "reshape": _reshape, "transpose": _transpose,
    "squeeze": _like_result, "expand_dims": _like_result,
    "slice": _slice, "concatenate": _concatenate, "rev": _rev, "split": _split, "iota": _iota,
    **dict.fromkeys(("empty", "empty2"), _empty),
    **dict.fromkeys(("unstack", "tile", "broadcast"), _moved),
    **INDEXING,
    **REDUCTIONS,
    **LINEAR_ALGEBRA,
}  # fmt: skip
