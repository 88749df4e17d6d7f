"""Reverse-mode derivatives on the graph: every operation passes its cotangent to its operands once.

Differentiating the simplified graph, not the jaxpr, keeps the adjoint small: a number that stands in a matrix
twice is one node, so what flows back to it is added up before it goes on. Where a function has kinks (max, abs,
sqrt at 0, ...) the choice made is JAX's.
"""

import math
from collections.abc import Callable, Sequence

from .folding import is_float
from .graph import Graph, operands
from .unfusable import Unfusable

Pull = Callable[[Graph, int, int], list[tuple[int, int]]]  # (graph, node, cotangent) -> (operand, its share)


def pullback(g: Graph, outputs: Sequence[int], cotangents: Sequence[int], wanted: Sequence[int]) -> list[int | None]:
    """The cotangents of `wanted`, given those of `outputs`; None where nothing flows."""
    flowing: dict[int, int] = {}

    def give(node: int, share: int) -> None:
        if is_float(g.nodes[node].kind) and g.value(share) != 0:
            flowing[node] = g.add(flowing[node], share) if node in flowing else share

    last = len(g.nodes) - 1
    for node, share in zip(outputs, cotangents, strict=True):
        give(node, share)
    groups = {wrapped[0]: (wrapped, sources, pull) for wrapped, sources, pull in g.groups if wrapped}
    ends = set(wanted)
    depends = _dependents(g, ends, last)
    for node in range(last, -1, -1):
        if node in groups:
            wrapped, sources, pull = groups[node]
            shares = [flowing.pop(w, None) for w in wrapped]
            if any(s is not None for s in shares) and any(depends[s] for s in sources):
                zeros = [g.const(g.nodes[w].kind, 0) for w in wrapped]
                given = pull([z if s is None else s for s, z in zip(shares, zeros, strict=True)])
                for source, share in zip(sources, given, strict=True):
                    give(source, share)
            continue
        share = flowing.get(node)
        op = g.nodes[node].op
        if share is None or node in ends or not depends[node] or op in ("const", "input", "custom"):
            continue
        rule = PULLS.get(op)
        if rule is None:
            raise Unfusable(f"the derivative of {op}")
        for operand, part in rule(g, node, share):
            if depends[operand]:
                give(operand, part)
    return [flowing.get(n) for n in wanted]


def _dependents(g: Graph, ends: set[int], last: int) -> list[bool]:
    """Which nodes change when `ends` do, in numbers that have derivatives."""
    result = [False] * (last + 1)
    sources = {w: s for wrapped, s, _ in g.groups for w in wrapped}
    for node in range(last + 1):
        entry = g.nodes[node]
        reads = (*operands(entry), *sources.get(node, ()))
        result[node] = node in ends or (is_float(entry.kind) and any(result[a] for a in reads))
    return result


def _one(g: Graph, n: int) -> int:
    return g.const(g.nodes[n].kind, 1)


def _slope(slope: Callable[[Graph, int, int], int]) -> Pull:
    """A function of one number, by its derivative in terms of the argument x and the result y."""

    def pull(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
        (x,) = g.nodes[node].args
        return [(x, g.mul(share, slope(g, x, node)))]

    return pull


def _binary(parts: Callable[[Graph, int, int, int, int], tuple[int, int]]) -> Pull:
    """A function of two numbers: (graph, a, b, result, cotangent) -> both shares."""

    def pull(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
        a, b = g.nodes[node].args
        return list(zip((a, b), parts(g, a, b, node, share), strict=True))

    return pull


def _scaled(g: Graph, factor: float, n: int) -> int:
    return g.mul(g.const(g.nodes[n].kind, factor), n)


def _extreme(g: Graph, a: int, b: int, y: int, c: int) -> tuple[int, int]:
    """max and min: the one that won; half each in a tie."""
    zero, half = g.const(g.nodes[c].kind, 0), _scaled(g, 0.5, c)
    tie = g.apply("eq", a, b)
    shares = (g.select(g.apply("eq", n, y), g.select(tie, half, c), zero) for n in (a, b))
    first, second = shares
    return first, second


def _product(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
    a, b = g.nodes[node].args
    if a == b:  # doubling the cotangent, not the product: it is often the same for several squares
        return [(a, g.mul(_scaled(g, 2.0, share), a))]
    return [(a, g.mul(share, b)), (b, g.mul(share, a))]


def _absolute(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
    (x,) = g.nodes[node].args
    return [(x, g.select(g.apply("ge", x, g.const(g.nodes[x].kind, 0)), share, g.neg(share)))]


def _divided(g: Graph, a: int, b: int, y: int, c: int) -> tuple[int, int]:
    per = g.div(c, b)
    return per, g.neg(g.mul(per, y))


def _powered(g: Graph, x: int, p: int, y: int, c: int) -> tuple[int, int]:
    kind = g.nodes[x].kind
    zero, one = g.const(kind, 0), g.const(kind, 1)
    lower = g.select(g.apply("eq", p, zero), one, g.sub(p, one))
    by_base = g.select(g.apply("eq", p, zero), zero, g.mul(p, g.apply("pow", x, lower)))
    at_zero = g.apply("eq", x, zero)
    by_power = g.mul(g.apply("log", g.select(at_zero, one, x)), y)
    return g.mul(c, by_base), g.mul(c, by_power)


def _angle(g: Graph, y: int, x: int, node: int, c: int) -> tuple[int, int]:
    per = g.div(c, g.add(g.mul(x, x), g.mul(y, y)))
    return g.mul(per, x), g.neg(g.mul(per, y))


def _remainder(g: Graph, a: int, b: int, y: int, c: int) -> tuple[int, int]:
    ratio = g.div(a, b)
    whole = g.mul(g.apply("sign", ratio), g.apply("floor", g.apply("abs", ratio)))
    return c, g.neg(g.mul(c, whole))


def _select(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
    condition, yes, no = g.nodes[node].args
    zero = g.const(g.nodes[share].kind, 0)
    return [(yes, g.select(condition, share, zero)), (no, g.select(condition, zero, share))]


def _gate(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
    inside, condition = g.nodes[node].args
    return [(inside, g.select(condition, share, g.const(g.nodes[share].kind, 0)))]


def _convert(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
    (source,) = g.nodes[node].args
    kind = g.nodes[source].kind
    return [(source, g.convert(share, kind))] if is_float(kind) else []


def _flat(g: Graph, node: int, share: int) -> list[tuple[int, int]]:
    return []


PULLS: dict[str, Pull] = {
    "add": _binary(lambda g, a, b, y, c: (c, c)),
    "sub": _binary(lambda g, a, b, y, c: (c, g.neg(c))),
    "mul": _product,
    "div": _binary(_divided),
    "max": _binary(_extreme), "min": _binary(_extreme),
    "pow": _binary(_powered), "atan2": _binary(_angle), "rem": _binary(_remainder),
    "neg": lambda g, n, c: [(g.nodes[n].args[0], g.neg(c))],
    "abs": _absolute,
    "sqrt": _slope(lambda g, x, y: g.div(g.const(g.nodes[x].kind, 0.5), y)),
    "rsqrt": _slope(lambda g, x, y: _scaled(g, -0.5, g.div(y, x))),
    "cbrt": _slope(lambda g, x, y: _scaled(g, 1 / 3, g.div(y, x))),
    "sin": _slope(lambda g, x, y: g.apply("cos", x)),
    "cos": _slope(lambda g, x, y: g.neg(g.apply("sin", x))),
    "tan": _slope(lambda g, x, y: g.add(_one(g, x), g.mul(y, y))),
    "asin": _slope(lambda g, x, y: g.apply("rsqrt", g.sub(_one(g, x), g.mul(x, x)))),
    "acos": _slope(lambda g, x, y: g.neg(g.apply("rsqrt", g.sub(_one(g, x), g.mul(x, x))))),
    "atan": _slope(lambda g, x, y: g.div(_one(g, x), g.add(_one(g, x), g.mul(x, x)))),
    "sinh": _slope(lambda g, x, y: g.apply("cosh", x)),
    "cosh": _slope(lambda g, x, y: g.apply("sinh", x)),
    "tanh": _slope(lambda g, x, y: g.mul(g.sub(_one(g, x), y), g.add(_one(g, x), y))),
    "asinh": _slope(lambda g, x, y: g.apply("rsqrt", g.add(g.mul(x, x), _one(g, x)))),
    "acosh": _slope(lambda g, x, y: g.apply("rsqrt", g.mul(g.sub(x, _one(g, x)), g.add(x, _one(g, x))))),
    "atanh": _slope(lambda g, x, y: g.div(_one(g, x), g.sub(_one(g, x), g.mul(x, x)))),
    "exp": _slope(lambda g, x, y: y),
    "exp2": _slope(lambda g, x, y: _scaled(g, math.log(2), y)),
    "expm1": _slope(lambda g, x, y: g.add(y, _one(g, x))),
    "log": _slope(lambda g, x, y: g.div(_one(g, x), x)),
    "log1p": _slope(lambda g, x, y: g.div(_one(g, x), g.add(x, _one(g, x)))),
    "logistic": _slope(lambda g, x, y: g.mul(y, g.sub(_one(g, x), y))),
    "erf": _slope(lambda g, x, y: _scaled(g, 2 / math.sqrt(math.pi), g.apply("exp", g.neg(g.mul(x, x))))),
    "erfc": _slope(lambda g, x, y: _scaled(g, -2 / math.sqrt(math.pi), g.apply("exp", g.neg(g.mul(x, x))))),
    "select": _select, "gate": _gate, "convert": _convert,
    **dict.fromkeys(("floor", "ceil", "round", "round_even", "sign", "stop", "bitcast"), _flat),
}  # fmt: skip
