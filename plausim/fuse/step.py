"""A traced step: the jaxpr with everything it reads as an argument, and its graph.

    f(carry, x) -> (carry, y)     becomes     jaxpr(*consts, *carry, *xs) -> (*carry, *ys)

Closed-over JAX arrays are arguments, so they can be differentiated, batched, and changed without compiling again;
only where they hold exact 0, 1 or -1 this is compiled in, which is what makes sparse matrices sparse. NumPy arrays and
literals are compiled in whole.
"""

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.extend import core as jex

from .derive import pullback
from .folding import is_float
from .graph import Graph, needed
from .nodes import kind_of
from .plan import Ports
from .scalarise import scalarise
from .unfusable import Unfusable

MOST_PATTERN = 4096  # numbers of a closed-over array that are looked at for exact 0, 1, -1


class Traced:
    """A step as a graph. Two steps are equal when they compute the same, so compiled code is shared."""

    def __init__(self, closed: Any, consts: int, carry: int, patterns: Sequence[np.ndarray | None] = ()):
        self.closed = closed  # without constants of its own that are JAX arrays
        self.consts, self.carry = consts, carry
        self.xs = len(closed.in_avals) - consts - carry
        self.patterns = tuple(patterns) or (None,) * consts

    @functools.cached_property
    def marked(self) -> tuple[Graph, Ports]:
        """The graph with its marks for derivatives."""
        return self._build(markers=True)

    @functools.cached_property
    def plain(self) -> tuple[Graph, Ports]:
        """The graph for running forward only."""
        g, ports = self.marked
        marks = bool(g.groups) or any(n.op in ("gate", "stop") for n in g.nodes)
        return self._build(markers=False) if marks else (g, ports)

    def _build(self, markers: bool) -> tuple[Graph, Ports]:
        g, arguments, number = Graph(), [], 0
        for i, aval in enumerate(self.closed.in_avals):
            kind = kind_of(aval)
            nodes = [g.input(kind, number + k) for k in range(aval.size)]
            number += aval.size
            pattern = self.patterns[i] if i < self.consts else None
            seen = (
                nodes
                if pattern is None
                else [n if np.isnan(v) else g.const(kind, v) for n, v in zip(nodes, pattern, strict=True)]
            )
            arguments.append((nodes, np.array(seen, np.int32).reshape(aval.shape)))
        outputs = scalarise(g, self.closed, [seen for _, seen in arguments], markers)
        flat = lambda parts: tuple(n for nodes, _ in parts for n in nodes)  # noqa: E731
        out = lambda parts: tuple(n for a in parts for n in a.ravel().tolist())  # noqa: E731
        border = self.consts + self.carry
        ports = Ports(
            flat(arguments[: self.consts]), flat(arguments[self.consts : border]), flat(arguments[border:]),
            out(outputs[: self.carry]), out(outputs[self.carry :]),
        )  # fmt: skip
        return g, ports

    @functools.cached_property
    def adjoint_nodes(self) -> list[int]:
        """All nodes of the vector-Jacobian product of one step, by everything that goes in."""
        g, ports = self.marked
        outputs = [n for n in (*ports.carry_out, *ports.ys) if is_float(g.nodes[n].kind)]
        cotangents = [g.input(g.nodes[n].kind, (1 << 30) + i) for i, n in enumerate(outputs)]
        inputs = [n for n in (*ports.consts, *ports.carry, *ports.xs) if is_float(g.nodes[n].kind)]
        return needed(g, [n for n in pullback(g, outputs, cotangents, inputs) if n is not None])

    @functools.cached_property
    def sum_carried(self) -> int | None:
        """The one number of the carry to which each step adds something, and that nothing else reads: a likelihood."""
        g, ports = self.marked
        first, found = 0, []
        for i, aval in enumerate(self.carry_avals):
            if aval.shape == () and g.nodes[ports.carry[first]].kind[0] == "f" and _is_sum(g, ports, first):
                found.append(i)
            first += aval.size
        return found[0] if len(found) == 1 else None

    @functools.cached_property
    def digest(self) -> str:
        try:
            g, ports = self.marked
        except Unfusable:
            return f"unfusable {id(self)}"
        if g.groups:  # what their derivatives do is known only when these are asked for
            return f"own {id(self)}"
        return fingerprint(
            g,
            needed(g, [*ports.carry_out, *ports.ys]),
            ports,
            str(self.closed.in_avals),
            str(self.closed.out_avals),
            self.consts,
            self.carry,
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Traced) and self.digest == other.digest

    def __repr__(self) -> str:
        return f"Traced({self.consts} consts, {self.carry} carried, {self.xs} xs)"

    def parts(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Those of consts, carry and xs, out of one value for each operand; what comes after them is left out."""
        border = self.consts + self.carry
        return list(values[: self.consts]), list(values[self.consts : border]), list(values[border : border + self.xs])

    @property
    def function(self):
        """The step as a JAX function of flat arguments."""
        return jex.jaxpr_as_fun(self.closed)

    @property
    def carry_avals(self) -> list[Any]:
        return self.closed.in_avals[self.consts : self.consts + self.carry]

    @property
    def y_avals(self) -> list[Any]:
        return self.closed.out_avals[self.carry :]


def is_floating(aval: Any) -> bool:
    return jax.numpy.issubdtype(aval.dtype, jax.numpy.floating)


def _is_sum(g: Graph, ports: Ports, place: int) -> bool:
    own, out = ports.carry[place], g.nodes[ports.carry_out[place]]
    if out.op not in ("add", "sub") or own not in out.args or (out.op == "sub" and out.args[0] != own):
        return False
    (part,) = [a for a in out.args if a != own] or [own]
    others = [n for i, n in enumerate(ports.carry_out) if i != place]
    moving = set(ports.carry) | set(ports.xs)
    return own not in needed(g, [part, *others, *ports.ys]) and any(n in moving for n in needed(g, [part]))


def fingerprint(g: Graph, nodes: Sequence[int], *more: Any) -> str:
    """A hash of what these nodes compute, whatever else the graph holds."""
    return hashlib.sha256(repr(([(n, *g.nodes[n]) for n in nodes], more)).encode()).hexdigest()


def pattern_of(value: Any) -> np.ndarray | None:
    """Exact 0, 1 and -1 of a concrete array, NaN for all other numbers; None where nothing may be known."""
    if isinstance(value, core.Tracer) or value.size > MOST_PATTERN or not jax.numpy.issubdtype(value.dtype, np.number):
        return None
    numbers = np.asarray(value, np.float64).ravel()
    return np.where(np.isin(numbers, (-1.0, 0.0, 1.0)), numbers, np.nan)
