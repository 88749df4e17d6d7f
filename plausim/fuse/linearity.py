"""Whether a step is linear in some of its operands: what the transpose of a rollout asks before it answers."""

from collections.abc import Sequence

from .graph import Graph, operands
from .step import Traced

KEEPS = frozenset({"add", "sub", "neg", "convert", "gate", "stop", "custom"})  # linear in all their operands


def is_linear(step: Traced, inputs: Sequence[bool]) -> bool:
    """In the marked operands (consts, carry, xs); what these make of the carry is followed from step to step."""
    g, ports = step.plain
    consts, carry, xs = step.parts(inputs)
    marked = {n for flags, avals, nodes in (
        (consts, step.closed.in_avals[: step.consts], ports.consts),
        (carry, step.carry_avals, ports.carry),
        (xs, step.closed.in_avals[step.consts + step.carry :], ports.xs),
    ) for n in _of(flags, avals, nodes)}  # fmt: skip
    while True:
        depends = _dependent(g, marked)
        if depends is None:
            return False
        more = {a for a, b in zip(ports.carry, ports.carry_out, strict=True) if b in depends} | marked
        if more == marked:
            return True
        marked = more


def _of(flags: Sequence[bool], avals: Sequence, nodes: Sequence[int]) -> list[int]:
    """The nodes of the operands with a flag."""
    each = [flag for flag, aval in zip(flags, avals, strict=True) for _ in range(aval.size)]
    return [n for n, flag in zip(nodes, each, strict=True) if flag]


def _dependent(g: Graph, marked: set[int]) -> set[int] | None:
    """All nodes that are linear in the marked ones; None if one depends on them in another way."""
    found = set(marked)
    for n, node in enumerate(g.nodes):
        reads = [a in found for a in operands(node)]
        if not any(reads):
            continue
        of_one = node.op == "mul" and sum(reads) == 1
        numerator = node.op == "div" and not reads[1]
        branch = node.op == "select" and not reads[0]
        if not (node.op in KEEPS or of_one or numerator or branch):
            return None
        found.add(n)
    return found
