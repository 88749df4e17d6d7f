"""`fuse.explain`: what would become of a step, in numbers, and what stands in its way."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend import core as jex

from . import kernels, peak
from .graph import Graph, needed, operands
from .kernels import Wanted
from .public import NotOurs, prepare
from .rules import RULES
from .scalarise import CONTROL
from .step import Traced, is_floating
from .tape import COSTS
from .unfusable import Unfusable

TRIGONOMETRIC = frozenset({"sin", "cos"})
MOVES = frozenset({"const", "input", "gate", "stop", "custom"})


@dataclass(frozen=True)
class Explanation:
    """What `explain` found; print it. Counts are of one step, and zero where the step does not fuse.

    Attributes:
        problems: what stands in the way of fusing the step; empty where it fuses.
        raw: operations as the step is written, zeros and all.
        forward: arithmetic and trigonometric operations that are left of it.
        adjoint: the same of its derivative, from a state and the cotangent of the next one to all cotangents.
        in_loop: operations left in the loop of a rollout, and of its gradient.
        once: operations before the loop.
        registers: the most values alive at once, forward and on the way back.
        tape: numbers that the gradient keeps of a step.
        lanes: simulations that run side by side in a vector.
        per_second: vector operations a second that one core reaches, measured.
        seconds: for a step of one vector of lanes at that speed, without and with gradient.

    """

    problems: tuple[Unfusable, ...]
    raw: int
    forward: tuple[int, int] = (0, 0)
    adjoint: tuple[int, int] = (0, 0)
    in_loop: tuple[int, int] = (0, 0)
    once: int = 0
    registers: tuple[int, int] = (0, 0)
    tape: int = 0
    lanes: int = 0
    per_second: float = 0.0
    seconds: tuple[float, float] = (0.0, 0.0)

    @property
    def fuses(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        if self.problems:
            lines = ["This step does not fuse; fuse.scan runs it as jax.lax.scan. What stands in the way:"]
            lines += [f"  - {problem}" for problem in self.problems]
            counted = [f"Operations before simplification: {self.raw:,}."] if self.raw else []
            return "\n".join([*lines, *counted])
        plain, graded = (s * 1e9 for s in self.seconds)
        in_loop, in_gradient = self.in_loop
        there, back = self.registers
        lines = {
            "operations before simplification": f"{self.raw:,}",
            "after it, one step": f"{self.forward[0]:,} + {self.forward[1]} trigonometric",
            "after it, its adjoint": f"{self.adjoint[0]:,} + {self.adjoint[1]} trigonometric",
            "of these in the loop of a rollout": f"{in_loop:,}, of its gradient {in_gradient:,}; "
            f"once before it {self.once:,}",
            "live registers, at most": f"{there:,} forward, {back:,} on the way back",
            "kept for the gradient": f"{self.tape:,} numbers a step and lane",
            "estimated time of a step": f"{plain:.0f} ns for {self.lanes} lanes, {graded:.0f} ns with gradient, "
            "on one core",
            "at this machine's measured peak of": f"{self.per_second / 1e9:.1f} G vector operations a second",
        }
        return "\n".join(["This step fuses.", *(f"  {what:<37}{value}" for what, value in lines.items())])


def explain(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int | None = None) -> Explanation:
    """Say what `fuse.scan(f, init, xs, length)` would make of the step: print the result.

    The estimate is what the arithmetic takes at the measured peak of one core; a real run also waits for memory and for
    results, and takes one and a half to three times as long.

    Example:
        >>> from plausim import fuse
        >>> report = fuse.explain(lambda c, _: (0.5 * c * c + 0.0 * c, None), 1.0, None, length=10)
        >>> report.raw, report.forward
        (4, (2, 0))

    """
    try:
        prepared = prepare(f, init, xs, length)
    except NotOurs:
        jax.eval_shape(lambda: jax.lax.scan(f, init, xs, length=length))  # says what is wrong
        raise ValueError(
            "explain cannot read these arguments; jax.lax.scan can, and fuse.scan leaves them to it"
        ) from None
    except Unfusable as problem:
        return Explanation((problem,), 0)
    step = prepared.step
    raw = sum(_written(e) for e in _equations(step.closed.jaxpr))
    try:
        graph, _, graded, backward = kernels.planned(step, _everything(step))
    except Unfusable as problem:
        return Explanation(_problems(step, problem), raw)
    back = backward.body if backward else ()
    kind = "f64" if any(graph.nodes[n].kind == "f64" for n in graded.body) else "f32"
    speed = peak.vector_operations_per_second(kind)
    g, ports, plain, _ = kernels.planned(step, Wanted((True,) * step.carry, (True,) * len(step.y_avals)))
    return Explanation(
        (), raw, _count(g, needed(g, [*ports.carry_out, *ports.ys])), _count(step.marked[0], step.adjoint_nodes),
        in_loop=(sum(_count(g, plain.body)), sum(_count(graph, graded.body)) + sum(_count(graph, back))),
        once=sum(_count(g, plain.before)),
        registers=(_alive(g, plain.body), _alive(graph, back)),
        tape=len(graded.tape), lanes=peak.lanes_of(kind), per_second=speed,
        seconds=(_cost(g, plain.body) / speed, (_cost(graph, graded.body) + _cost(graph, back)) / speed),
    )  # fmt: skip


def _everything(step: Traced) -> Wanted:
    """Value and gradient by all that floats, where the carry is what counts."""
    floats, outs = ([is_floating(a) for a in avals] for avals in (step.closed.in_avals, step.closed.out_avals))
    border = step.consts + step.carry
    return Wanted(
        (True,) * step.carry, (True,) * len(step.y_avals),
        tuple(floats[: step.consts]), tuple(floats[step.consts : border]), (False,) * step.xs,
        tuple(outs[: step.carry]), tuple(outs[step.carry :]),
    )  # fmt: skip


def _computed(g: Graph, nodes: Iterable[int]) -> list[str]:
    """The operations that cost something."""
    return [g.nodes[n].op for n in nodes if g.nodes[n].op not in MOVES]


def _count(g: Graph, nodes: Iterable[int]) -> tuple[int, int]:
    ops = _computed(g, nodes)
    trigonometric = sum(op in TRIGONOMETRIC for op in ops)
    return len(ops) - trigonometric, trigonometric


def _cost(g: Graph, nodes: Iterable[int]) -> float:
    return float(sum(COSTS.get(op, 1) for op in _computed(g, nodes)))


def _alive(g: Graph, nodes: Iterable[int]) -> int:
    """The most values that are computed already and still to be read, in the order of computation."""
    nodes = list(nodes)
    place = {n: i for i, n in enumerate(nodes)}
    last = {n: i for i, n in enumerate(nodes)}
    for i, n in enumerate(nodes):
        for a in operands(g.nodes[n]):
            if a in place:
                last[a] = i
    ends = [0] * (len(nodes) + 1)
    for end in last.values():
        ends[end] += 1
    most = now = 0
    for i in range(len(nodes)):
        now += 1
        most = max(most, now)
        now -= ends[i]
    return most


def _equations(jaxpr: Any) -> Iterable[Any]:
    """All equations, those of inner jaxprs included."""
    for eqn in jaxpr.eqns:
        inner = list(jex.jaxprs_in_params(eqn.params))
        if not inner:
            yield eqn
        for j in inner:
            yield from _equations(j)


def _written(eqn: Any) -> int:
    """Operations on single numbers that an equation stands for; moving numbers is none."""
    name, size = eqn.primitive.name, sum(v.aval.size for v in eqn.outvars)
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        depth = 1
        for axis in contracted:
            depth *= eqn.invars[0].aval.shape[axis]
        return size * max(2 * depth - 1, 0)
    if name.startswith(("reduce_", "arg")):
        return max(eqn.invars[0].aval.size - size, 0)
    return 0 if name in MOVING else size


MOVING = frozenset({
    "broadcast_in_dim", "reshape", "transpose", "squeeze", "expand_dims", "slice", "concatenate", "rev", "split",
    "iota", "pad", "stack", "unstack", "tile", "dynamic_slice", "dynamic_update_slice", "gather", "scatter", "copy",
    "convert_element_type", "stop_gradient", "bitcast_convert_type",
})  # fmt: skip


def _problems(step: Traced, first: Unfusable) -> tuple[Unfusable, ...]:
    """What was met first, and every other primitive that has no rule."""
    found = {first.what: first}
    for eqn in _equations(step.closed.jaxpr):
        if eqn.primitive.name not in RULES and eqn.primitive.name not in CONTROL:
            problem = Unfusable(f"the primitive {eqn.primitive.name}").located(eqn)
            found.setdefault(problem.what, problem)
    return tuple(found.values())
