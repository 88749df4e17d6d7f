"""A graph of operations on single numbers: equal nodes are one node, and what is known is folded as it is built.

A node is `(operation, kind, operands)`; its name is its position in `Graph.nodes`, so operands come before their
users and the list is already in an order in which it can be run. Kinds of number are those of `ir`. A constant's
operand is its value, an input's its number; every other operand is a node.

Folding uses what holds for all finite numbers: 0 x = 0, x - x = 0, b (a / b) = a. That is what makes the zeros of
spatial algebra disappear, and the one place where NaN and infinity are not passed on.
"""

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .folding import DTYPES, FOLD, is_float, is_ordinary
from .unfusable import Unfusable


class Node(NamedTuple):
    op: str
    kind: str
    args: tuple[Any, ...]


MOST_NODES = 200_000
COMMUTATIVE = frozenset({"add", "mul", "and", "or", "xor", "eq", "ne", "max", "min"})
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_MIRRORED = {"gt": "lt", "ge": "le"}


class Graph:
    """Builds nodes; every method that makes one returns its position."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.memo: dict[Any, int] = {}
        self.groups: list[Any] = []  # functions with a derivative of their own, see `custom`

    # ---- leaves

    def const(self, kind: str, value: Any) -> int:
        value = DTYPES[kind](value)
        key = (kind, struct.pack("<d", value) if is_float(kind) else int(value))
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = len(self.nodes)
            self.nodes.append(Node("const", kind, (value.item(),)))
        return found

    def input(self, kind: str, number: int) -> int:
        return self._make("input", kind, (number,))

    def value(self, node: int) -> Any:
        """The number of a constant, None for anything else."""
        op, _, args = self.nodes[node]
        return args[0] if op == "const" else None

    def _make(self, op: str, kind: str, args: tuple[Any, ...]) -> int:
        key = (op, kind, args)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = len(self.nodes)
            self.nodes.append(Node(op, kind, args))
            self.expect(0)
        return found

    def expect(self, more: int) -> None:
        """Give up where `more` nodes would make the graph too large to be compiled in reasonable time."""
        if len(self.nodes) + more > MOST_NODES:
            raise Unfusable(
                f"a graph of more than {MOST_NODES:,} operations", advice="make the step or its inner loops smaller"
            )

    def _fold(self, op: str, kind: str, args: Sequence[int]) -> int | None:
        function = FOLD.get(op)
        if function is None:
            return None
        known = [self.nodes[a] for a in args]
        if any(n.op != "const" for n in known):
            return None
        with np.errstate(all="ignore"):
            return self.const(kind, function(*(DTYPES[n.kind](n.args[0]) for n in known)))

    # ---- arithmetic

    def neg(self, a: int) -> int:
        op, kind, args = self.nodes[a]
        if op == "const":
            return self.const(kind, np.negative(DTYPES[kind](args[0])))
        if op == "neg":
            return args[0]
        if op == "sub":
            return self.sub(args[1], args[0])
        if op == "mul" and self.value(args[0]) is not None:  # constants stand first, see `mul`
            return self.mul(self.neg(args[0]), args[1])
        return self._make("neg", kind, (a,))

    def add(self, a: int, b: int) -> int:
        na, nb = self.nodes[a], self.nodes[b]
        kind = na.kind
        if na.op == "const" and nb.op == "const":
            return self._fold("add", kind, (a, b))  # type: ignore[return-value]
        if na.op == "const" and na.args[0] == 0:
            return b
        if nb.op == "const" and nb.args[0] == 0:
            return a
        if nb.op == "neg":
            return self.sub(a, nb.args[0])
        if na.op == "neg":
            return self.sub(b, na.args[0])
        if is_float(kind):
            if a == b:
                return self.mul(self.const(kind, 2), a)
            if self._negative(nb):
                return self.sub(a, self.neg(b))
            if self._negative(na):
                return self.sub(b, self.neg(a))
            if na.op == "mul" and nb.op == "mul" and na.args[0] == nb.args[0] and self.value(na.args[0]) is not None:
                return self.mul(na.args[0], self.add(na.args[1], nb.args[1]))
        return self._make("add", kind, (a, b) if a < b else (b, a))

    def _negative(self, node: Node) -> bool:
        """Whether a node is a product with a negative constant; sums prefer the other sign."""
        return node.op == "mul" and (self.value(node.args[0]) or 0) < 0

    def sub(self, a: int, b: int) -> int:
        na, nb = self.nodes[a], self.nodes[b]
        kind = na.kind
        if na.op == "const" and nb.op == "const":
            return self._fold("sub", kind, (a, b))  # type: ignore[return-value]
        if nb.op == "const" and nb.args[0] == 0:
            return a
        if na.op == "const" and na.args[0] == 0:
            return self.neg(b)
        if nb.op == "neg":
            return self.add(a, nb.args[0])
        if na.op == "neg":
            return self.neg(self.add(na.args[0], b))
        if a == b:
            return self.const(kind, 0)
        if is_float(kind):
            if self._negative(nb):
                return self.add(a, self.neg(b))
            if na.op == "const" and nb.op == "sub" and nb.args[0] == a:  # c - (c - x), as in Rodrigues' formula
                return nb.args[1]
            if na.op == "mul" and nb.op == "mul" and na.args[0] == nb.args[0] and self.value(na.args[0]) is not None:
                return self.mul(na.args[0], self.sub(na.args[1], nb.args[1]))
        if ("sub", kind, (b, a)) in self.memo:
            return self._make("neg", kind, (self.memo["sub", kind, (b, a)],))
        return self._make("sub", kind, (a, b))

    def mul(self, a: int, b: int) -> int:
        na, nb = self.nodes[a], self.nodes[b]
        kind = na.kind
        if na.op == "const" and nb.op == "const":
            return self._fold("mul", kind, (a, b))  # type: ignore[return-value]
        if nb.op == "const":
            a, b, na, nb = b, a, nb, na
        if na.op == "const":
            factor = na.args[0]
            if factor == 0:
                return self.const(kind, 0)
            if factor == 1:
                return b
            if factor == -1:
                return self.neg(b)
            if nb.op == "neg":
                return self.mul(self.neg(a), nb.args[0])
            if nb.op == "mul" and is_float(kind) and self.value(nb.args[0]) is not None:
                both = self.mul(a, nb.args[0])
                if is_ordinary(kind, self.value(both)):
                    return self.mul(both, nb.args[1])
            return self._make("mul", kind, (a, b))
        if na.op == "neg":
            return self.neg(self.mul(na.args[0], b))
        if nb.op == "neg":
            return self.neg(self.mul(a, nb.args[0]))
        if nb.op == "div" and nb.args[1] == a and is_float(kind):
            return nb.args[0]
        if na.op == "div" and na.args[1] == b and is_float(kind):
            return na.args[0]
        return self._make("mul", kind, (a, b) if a < b else (b, a))

    def div(self, a: int, b: int) -> int:
        na, nb = self.nodes[a], self.nodes[b]
        kind = na.kind
        if na.op == "const" and nb.op == "const":
            return self._fold("div", kind, (a, b))  # type: ignore[return-value]
        if na.op == "const" and na.args[0] == 0:
            return a
        if nb.op == "const" and is_ordinary(kind, nb.args[0]):
            inverse = DTYPES[kind](1) / DTYPES[kind](nb.args[0])
            if is_ordinary(kind, inverse):
                return self.mul(self.const(kind, inverse), a)
        if na.op == "neg":
            return self.neg(self.div(na.args[0], b))
        if nb.op == "neg":
            return self.neg(self.div(a, nb.args[0]))
        if a == b:
            return self.const(kind, 1)
        return self._make("div", kind, (a, b))

    def power(self, a: int, exponent: int) -> int:
        """a to a whole number, by repeated squaring."""
        if exponent < 0:
            return self.div(self.const(self.nodes[a].kind, 1), self.power(a, -exponent))
        result, square = None, a
        while exponent:
            if exponent & 1:
                result = square if result is None else self.mul(result, square)
            exponent >>= 1
            if exponent:
                square = self.mul(square, square)
        return self.const(self.nodes[a].kind, 1) if result is None else result

    # ---- everything else

    def apply(self, op: str, *args: int) -> int:
        """Any operation whose result has the kind of its operands (comparisons: i1)."""
        if op in SIMPLIFIED:
            return SIMPLIFIED[op](self, *args)
        kind = "i1" if op in COMPARISONS else self.nodes[args[0]].kind
        folded = self._fold(op, kind, args)
        if folded is not None:
            return folded
        if op in _MIRRORED:
            op, args = _MIRRORED[op], args[::-1]
        if op in COMMUTATIVE:
            args = tuple(sorted(args))
        return self._make(op, kind, tuple(args))

    def _not(self, a: int) -> int:
        node = self.nodes[a]
        if node.op == "not":
            return node.args[0]
        folded = self._fold("not", node.kind, (a,))
        return self._make("not", node.kind, (a,)) if folded is None else folded

    def _and(self, a: int, b: int) -> int:
        return self._logical("and", a, b, all_ones=False)

    def _or(self, a: int, b: int) -> int:
        return self._logical("or", a, b, all_ones=True)

    def _logical(self, op: str, a: int, b: int, all_ones: bool) -> int:
        """`and`, `or`: what absorbs the other operand is nothing but zeros, or nothing but ones."""
        kind = self.nodes[a].kind
        zeros = DTYPES[kind](0)
        absorbing_node = self.const(kind, np.invert(zeros) if all_ones else zeros)
        neutral = self._not(absorbing_node)
        if absorbing_node in (a, b):
            return absorbing_node
        if a in (neutral, b):
            return b
        if b == neutral:
            return a
        folded = self._fold(op, kind, (a, b))
        return self._make(op, kind, (min(a, b), max(a, b))) if folded is None else folded

    def _abs(self, a: int) -> int:
        node = self.nodes[a]
        if node.op == "abs" and is_float(node.kind):
            return a
        folded = self._fold("abs", node.kind, (a,))
        return self._make("abs", node.kind, (a,)) if folded is None else folded

    def _sin(self, a: int) -> int:
        return self._odd("sin", a)

    def _cos(self, a: int) -> int:
        node = self.nodes[a]
        folded = self._fold("cos", node.kind, (a,))
        return self._make("cos", node.kind, node.args if node.op == "neg" else (a,)) if folded is None else folded

    def _odd(self, op: str, a: int) -> int:
        node = self.nodes[a]
        folded = self._fold(op, node.kind, (a,))
        if folded is not None:
            return folded
        return self.neg(self._odd(op, node.args[0])) if node.op == "neg" else self._make(op, node.kind, (a,))

    def select(self, condition: int, yes: int, no: int) -> int:
        known = self.value(condition)
        if known is not None:
            return yes if known else no
        if yes == no:
            return yes
        node = self.nodes[condition]
        if node.op == "not":
            return self.select(node.args[0], no, yes)
        return self._make("select", self.nodes[yes].kind, (condition, yes, no))

    def convert(self, a: int, kind: str) -> int:
        node = self.nodes[a]
        if node.kind == kind:
            return a
        if kind == "i1":
            return self.apply("ne", a, self.const(node.kind, 0))
        if node.op == "const":
            value = node.args[0]
            if is_float(node.kind) and not is_float(kind):  # XLA saturates, NaN becomes 0
                info = np.iinfo(DTYPES[kind])
                value = 0 if math.isnan(value) else int(max(min(value, info.max), info.min))
            elif not is_float(kind):
                value = np.asarray(int(value)).astype(DTYPES[kind])
            with np.errstate(all="ignore"):
                return self.const(kind, value)
        return self._make("convert", kind, (a,))

    def bitcast(self, a: int, kind: str) -> int:
        node = self.nodes[a]
        if node.op == "const":
            return self.const(kind, DTYPES[node.kind](node.args[0]).view(DTYPES[kind]))
        return a if node.kind == kind else self._make("bitcast", kind, (a,))

    # ---- how derivatives pass

    def gate(self, a: int, condition: int) -> int:
        """`a`, whose derivative is dropped where `condition` is false: the border of a branch not taken."""
        if self.nodes[a].op == "const" or not is_float(self.nodes[a].kind):
            return a
        return self._make("gate", self.nodes[a].kind, (a, condition))

    def stop(self, a: int) -> int:
        """`a`, through which no derivative passes."""
        return a if self.nodes[a].op == "const" else self._make("stop", self.nodes[a].kind, (a,))

    def custom(self, values: Iterable[int], operands: Sequence[int], pullback: Any) -> list[int]:
        """What a function returned, with a derivative of its own: `pullback(cotangents)` gives those of `operands`."""
        number = len(self.groups)
        wrapped = [self._make("custom", self.nodes[v].kind, (v, number, i)) for i, v in enumerate(values)]
        self.groups.append((wrapped, tuple(operands), pullback))
        return wrapped


# Operations that know more about themselves than how to be folded.
SIMPLIFIED: dict[str, Callable[..., int]] = {
    "neg": Graph.neg, "add": Graph.add, "sub": Graph.sub, "mul": Graph.mul, "div": Graph.div,
    "and": Graph._and, "or": Graph._or, "not": Graph._not, "abs": Graph._abs, "sin": Graph._sin, "cos": Graph._cos,
}  # fmt: skip

# Operands of these that are nodes, where not all are.
NODE_OPERANDS = {"const": 0, "input": 0, "custom": 1}


def operands(node: Node) -> tuple[int, ...]:
    """The nodes that a node reads."""
    count = NODE_OPERANDS.get(node.op)
    return node.args if count is None else node.args[:count]


def needed(graph: Graph, outputs: Iterable[int], stop_at: Iterable[int] = ()) -> list[int]:
    """All nodes that `outputs` depend on, themselves included, in running order; nothing behind `stop_at`."""
    stop, seen, stack = set(stop_at), set(), list(outputs)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            if node not in stop:
                stack.extend(operands(graph.nodes[node]))
    return sorted(seen)
