"""What a kernel computes before, in and after its loop: data for the emitter.

What depends on parameters only is computed once before the loop (`before`). The adjoint runs the loop forward,
keeps what the way back reads (`tape`), and walks back; derivatives of what was hoisted are summed over the steps
and carried on to the parameters once, after the loop (`after`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from . import tape
from .derive import pullback
from .folding import is_float
from .graph import Graph, needed, operands


class Ports(NamedTuple):
    """The single numbers that enter and leave a step, as nodes."""

    consts: tuple[int, ...]
    carry: tuple[int, ...]
    xs: tuple[int, ...]
    carry_out: tuple[int, ...]
    ys: tuple[int, ...]


class Forward(NamedTuple):
    """One pass over the steps. Pairs are (position among the numbers of that port, node)."""

    before: tuple[int, ...]  # nodes computed once
    kept: tuple[int, ...]  # of these and of the inputs: what the loop or `after` reads
    body: tuple[int, ...]  # nodes computed at each step
    carry: tuple[tuple[int, int, int], ...]  # (position, node in, node out)
    fixed: tuple[tuple[int, int], ...]  # carry that never changes or is known before the loop: (position, node)
    ys: tuple[tuple[int, int], ...]
    tape: tuple[int, ...]


class Backward(NamedTuple):
    body: tuple[int, ...]
    carry: tuple[tuple[int, int, int], ...]  # cotangents of the carry: (position, node in, node out)
    x_shares: tuple[tuple[int, int], ...]
    sums: tuple[
        tuple[int, int, int], ...
    ]  # (node that stands for the sum, node added at each step, kept node it belongs to)
    after: tuple[int, ...]
    const_shares: tuple[tuple[int, int | None], ...]
    init_shares: tuple[tuple[int, int | None], ...]
    y_cotangents: tuple[tuple[int, int], ...]
    ahead: tuple[
        tuple[int, int], ...
    ]  # (node of the carry that leaves, node under which the next row of the tape has it)


def _still(ports: Ports) -> set[int]:
    """Positions of the carry that no step changes."""
    return {i for i, (a, b) in enumerate(zip(ports.carry, ports.carry_out, strict=True)) if a == b}


def _varying(g: Graph, ports: Ports, still: set[int]) -> set[int]:
    """The nodes that may differ from step to step."""
    moving = set(ports.xs) | {ports.carry[i] for i in range(len(ports.carry)) if i not in still}
    result: set[int] = set()
    for node in needed(g, [*ports.carry_out, *ports.ys]):  # a derivative given by hand may not be linear: not summed up
        if node in moving or g.nodes[node].op == "custom" or any(a in result for a in operands(g.nodes[node])):
            result.add(node)
    return result


def _is_leaf(g: Graph, node: int) -> bool:
    return g.nodes[node].op in ("const", "input")


def plan_forward(g: Graph, ports: Ports, carry: Iterable[int], ys: Iterable[int], extra: Iterable[int] = ()) -> Forward:
    """The pass that returns these positions of the carry and of ys, and computes the nodes `extra` at each step."""
    carry, ys, extra = list(carry), list(ys), list(extra)
    still = _still(ports)
    varying = _varying(g, ports, still)
    place = {node: i for i, node in enumerate(ports.carry)}
    live = {i for i in carry if i not in still}
    while True:  # a carried number is kept when something that is kept reads it
        body = needed(g, [ports.carry_out[i] for i in live] + [ports.ys[i] for i in ys] + extra)
        reached = {place[n] for n in body if n in place and place[n] not in still} | live
        if reached == live:
            break
        live = reached
    loop = [n for n in body if n in varying and not _is_leaf(g, n)]
    read = {a for n in loop for a in operands(g.nodes[n])}
    read |= (
        {ports.carry_out[i] for i in live}
        | {ports.ys[i] for i in ys}
        | {ports.carry[i] for i in carry if i in still}
        | set(extra)
    )
    kept = sorted(n for n in read if n not in varying and g.nodes[n].op != "const")
    before = [n for n in needed(g, kept) if not _is_leaf(g, n)]
    return Forward(
        before=tuple(before),
        kept=tuple(kept),
        body=tuple(loop),
        carry=tuple((i, ports.carry[i], ports.carry_out[i]) for i in sorted(live)),
        fixed=tuple((i, ports.carry[i]) for i in carry if i in still),
        ys=tuple((i, ports.ys[i]) for i in ys),
        tape=(),
    )


class _StepBack(NamedTuple):
    """The derivative of one step, down to what was known before the loop: position -> node."""

    entering: dict[int, int]  # cotangents of the carry that leaves the step
    y_entering: dict[int, int]
    leaving: dict[int, int]  # cotangents of the carry that entered it
    x_shares: dict[int, int]
    known: dict[int, int]  # node known before the loop -> what a step adds to its cotangent


def plan_gradient(
    g: Graph,
    ports: Ports,
    y_cotangents: Iterable[int],
    consts: Iterable[int],
    init: Iterable[int],
    xs: Iterable[int],
    carry_returned: Iterable[int] = (),
    ys_returned: Iterable[int] = (),
) -> tuple[Forward, Backward]:
    """The pass forward with its tape, and the pass back. Positions say which cotangents come in and which go out."""
    consts, init = list(consts), list(init)
    still = _still(ports)
    varying = _varying(g, ports, still)
    step = _step_back(g, ports, still, varying, y_cotangents, xs)

    # the sums over the steps, carried back to the parameters once
    sums = {n: _fresh(g, n) for n in step.known}
    fixed = [i for i in init if i in still and is_float(g.nodes[ports.carry[i]].kind)]
    ends = [*(ports.consts[i] for i in consts), *(ports.carry[i] for i in fixed)]
    carried = pullback(g, list(sums), list(sums.values()), ends) if sums else [None] * len(ends)
    after = needed(g, [share for share in carried if share is not None])
    sums = {n: total for n, total in sums.items() if total in set(after)}

    # in the loop: what these need, what is asked of the start, and what the way back reads of the way forward
    goals = [*(step.known[n] for n in sums), *step.x_shares.values()]
    live = _live_back(g, step, goals, {i for i in init if i in step.entering})
    goals += [step.leaving[i] for i in sorted(live)]
    taped, ahead, computed = _tape(g, ports, still, varying, goals)
    own = {*step.entering.values(), *step.y_entering.values(), *sums.values()}
    changing = _closure(g, computed, {*varying, *ports.carry, *ports.xs, *own} - {ports.carry[i] for i in still})
    body = [n for n in computed if n in changing]
    read = {a for n in body for a in operands(g.nodes[n])} | set(goals)
    before = [n for n in read if n not in changing and n not in taped and g.nodes[n].op != "const"]
    before += [n for n in after if g.nodes[n].op == "input" and n not in own]
    forward = plan_forward(g, ports, carry_returned, ys_returned, extra=[*taped, *before])
    backward = Backward(
        body=_just_in_time(g, body, varying),
        carry=tuple((i, step.entering[i], step.leaving[i]) for i in sorted(live)),
        x_shares=tuple(step.x_shares.items()),
        sums=tuple((total, step.known[n], n) for n, total in sums.items()),
        after=tuple(n for n in after if not _is_leaf(g, n)),
        const_shares=tuple(zip(consts, carried, strict=False)),
        init_shares=tuple(zip(fixed, carried[len(consts) :], strict=True)),
        y_cotangents=tuple(step.y_entering.items()),
        ahead=tuple(ahead.items()),
    )
    return forward._replace(tape=tuple(taped)), backward


def _fresh(g: Graph, like: int) -> int:
    """An input of our own, of the kind of another node; numbered apart from the inputs of the step."""
    return g.input(g.nodes[like].kind, (1 << 20) + len(g.nodes))


def _step_back(
    g: Graph, ports: Ports, still: set[int], varying: set[int], y_cotangents: Iterable[int], xs: Iterable[int]
) -> _StepBack:
    moving = [i for i, n in enumerate(ports.carry) if i not in still and is_float(g.nodes[n].kind)]
    entering = {i: _fresh(g, ports.carry[i]) for i in moving}
    y_entering = {i: _fresh(g, ports.ys[i]) for i in y_cotangents if is_float(g.nodes[ports.ys[i]].kind)}
    outputs = [*(ports.carry_out[i] for i in moving), *(ports.ys[i] for i in y_entering)]
    inside = {n for n in needed(g, outputs) if n in varying}
    reads = {a for n in inside for a in operands(g.nodes[n])} | set(outputs)
    reads |= {source for wrapped, sources, _ in g.groups if inside & set(wrapped) for source in sources}
    known = sorted(n for n in reads if n not in varying and g.nodes[n].op != "const" and is_float(g.nodes[n].kind))
    x_asked = [i for i in xs if is_float(g.nodes[ports.xs[i]].kind)]
    asked = [*(ports.carry[i] for i in moving), *(ports.xs[i] for i in x_asked), *known]
    shares = iter(pullback(g, outputs, [*entering.values(), *y_entering.values()], asked))
    leaving = {i: next(shares) for i in moving}
    x_shares = {i: next(shares) for i in x_asked}
    return _StepBack(
        entering,
        y_entering,
        {i: g.const(g.nodes[ports.carry[i]].kind, 0) if s is None else s for i, s in leaving.items()},
        {i: s for i, s in x_shares.items() if s is not None},
        {n: s for n, s in zip(known, shares, strict=True) if s is not None},
    )


def _live_back(g: Graph, step: _StepBack, goals: Sequence[int], live: set[int]) -> set[int]:
    """The cotangents of the carry that have to be carried back for `goals` and for those that are `live` anyway."""
    place = {node: i for i, node in step.entering.items()}
    while True:
        body = needed(g, [*(step.leaving[i] for i in live), *goals])
        reached = {place[n] for n in body if n in place} | live
        if reached == live:
            return live
        live = reached


def _tape(
    g: Graph, ports: Ports, still: set[int], varying: set[int], goals: Sequence[int]
) -> tuple[list[int], dict[int, int], list[int]]:
    """What the way back finds on the tape, what it finds one row ahead, and what it computes.

    The carry that leaves a step is the one that enters the next: one row ahead on the tape, and never computed again.
    """
    carried = {n for i, n in enumerate(ports.carry) if i not in still}
    ahead = {ports.carry_out[i]: n for i, n in enumerate(ports.carry) if i not in still}
    ahead = {out: n for out, n in ahead.items() if out in varying and not _is_leaf(g, out)}
    read = {a for n in needed(g, goals) if n not in varying for a in operands(g.nodes[n])} | set(goals)
    kept = tape.choose(g, read, varying, carried, ahead)
    computed = needed(g, goals, stop_at=kept | ahead.keys())
    computed = [n for n in computed if n not in kept and n not in ahead and not _is_leaf(g, n)]
    read = {a for n in computed for a in operands(g.nodes[n])} | set(goals)
    ahead = {out: n for out, n in ahead.items() if out in read}
    return sorted((read & kept) | set(ahead.values())), ahead, computed


def _just_in_time(g: Graph, nodes: Sequence[int], again: set[int]) -> tuple[int, ...]:
    """The same nodes, those computed `again` moved to where they are first read: fewer are alive at once."""
    inside, done, order = set(nodes), set(), []

    def place(node: int) -> None:
        stack = [(node, False)]
        while stack:
            here, ready = stack.pop()
            if here in done:
                continue
            if ready:
                done.add(here)
                order.append(here)
                continue
            stack.append((here, True))
            stack.extend((a, False) for a in operands(g.nodes[here]) if a in inside and a not in done)

    for node in nodes:
        if node not in again:
            place(node)
    for node in nodes:
        place(node)
    return tuple(order)


def _closure(g: Graph, nodes: Sequence[int], seeds: set[int]) -> set[int]:
    """`seeds`, and all of `nodes` that read them."""
    result = {*seeds}
    for node in nodes:
        if any(a in result for a in operands(g.nodes[node])):
            result.add(node)
    return result
