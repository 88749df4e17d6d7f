"""What a kernel computes before, in and after its loop: data for the emitter.

What depends on parameters only is computed once before the loop (`before`). The adjoint runs the loop forward,
keeps what the way back reads (`tape`), and walks back; derivatives of what was hoisted are summed over the steps
and carried on to the parameters once, after the loop (`after`).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from . import tape
from .derive import pullback
from .graph import Graph, is_float, needed, operands


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


def _varying(g: Graph, ports: Ports, still: Sequence[int]) -> set[int]:
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
    still = {i for i, (a, b) in enumerate(zip(ports.carry, ports.carry_out, strict=True)) if a == b}
    varying = _varying(g, ports, list(still))
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


def plan_gradient(
    g: Graph,
    ports: Ports,
    cotangents_carry: Iterable[int],
    cotangents_ys: Iterable[int],
    consts: Iterable[int],
    init: Iterable[int],
    xs: Iterable[int],
    carry_returned: Iterable[int] = (),
    ys_returned: Iterable[int] = (),
) -> tuple[Forward, Backward]:
    """The pass forward with its tape, and the pass back. Positions say which cotangents come in and which go out."""
    consts, init, xs = list(consts), list(init), list(xs)
    still = {i for i, (a, b) in enumerate(zip(ports.carry, ports.carry_out, strict=True)) if a == b}
    varying = _varying(g, ports, list(still))
    numbers = iter(range(1 << 20, 1 << 30))  # input numbers of our own, apart from those of the step
    new = lambda like: g.input(g.nodes[like].kind, next(numbers))  # noqa: E731
    moving = [i for i, n in enumerate(ports.carry) if i not in still and is_float(g.nodes[n].kind)]
    entering = {i: new(ports.carry[i]) for i in moving}
    y_entering = {i: new(ports.ys[i]) for i in cotangents_ys if is_float(g.nodes[ports.ys[i]].kind)}

    # one step back, down to what was known before the loop
    step_nodes = needed(g, [*(ports.carry_out[i] for i in moving), *(ports.ys[i] for i in y_entering)])
    sources = {n for n in step_nodes if n in varying}
    group_reads = {s for wrapped, reads, _ in g.groups if any(w in sources for w in wrapped) for s in reads}
    border = {a for n in sources for a in operands(g.nodes[n])} | group_reads
    border |= {ports.carry_out[i] for i in moving} | {ports.ys[i] for i in y_entering}
    border = sorted(n for n in border if n not in varying and g.nodes[n].op != "const" and is_float(g.nodes[n].kind))
    x_wanted = [i for i in xs if is_float(g.nodes[ports.xs[i]].kind)]
    wanted = [*(ports.carry[i] for i in moving), *(ports.xs[i] for i in x_wanted), *border]
    outputs = [*(ports.carry_out[i] for i in moving), *(ports.ys[i] for i in y_entering)]
    flowing = pullback(g, outputs, [*entering.values(), *y_entering.values()], wanted)
    leaving = dict(zip(moving, flowing[: len(moving)], strict=True))
    x_shares = dict(zip(x_wanted, flowing[len(moving) : len(moving) + len(x_wanted)], strict=True))
    border_shares = {n: s for n, s in zip(border, flowing[len(moving) + len(x_wanted) :], strict=True) if s is not None}

    # the sums over the steps, carried back to the parameters
    sums = {n: new(n) for n in border_shares}
    fixed = {i: ports.carry[i] for i in still if is_float(g.nodes[ports.carry[i]].kind)}
    ends = [*(ports.consts[i] for i in consts), *(fixed[i] for i in init if i in fixed)]
    carried = pullback(g, list(sums), list(sums.values()), ends) if sums else [None] * len(ends)
    const_shares = dict(zip(consts, carried[: len(consts)], strict=True))
    fixed_shares = dict(zip([i for i in init if i in fixed], carried[len(consts) :], strict=True))

    # keep what is asked for, and what that reads
    after = needed(g, [s for s in [*const_shares.values(), *fixed_shares.values()] if s is not None])
    read_after = set(after)
    sums = {n: s for n, s in sums.items() if s in read_after}
    zero = {i: g.const(g.nodes[ports.carry[i]].kind, 0) for i in moving}
    leaving = {i: zero[i] if s is None else s for i, s in leaving.items()}
    place = {node: i for i, node in entering.items()}
    goals = [border_shares[n] for n in sums] + [s for s in x_shares.values() if s is not None]
    live = {i for i in init if i in entering}
    while True:
        body = needed(g, [leaving[i] for i in live] + goals)
        reached = {place[n] for n in body if n in place} | live
        if reached == live:
            break
        live = reached

    # the tape: what the way back reads of the way forward
    carried_in = {ports.carry[i] for i in range(len(ports.carry)) if i not in still}
    ahead = {ports.carry_out[i]: ports.carry[i] for i in moving if ports.carry_out[i] in varying}
    ahead = {n: a for n, a in ahead.items() if not _is_leaf(g, n)}
    goals += [leaving[i] for i in live]
    read_back = {a for n in body if n not in varying for a in operands(g.nodes[n])} | set(goals)
    kept = tape.choose(g, read_back, varying, carried_in, ahead)
    back = needed(g, goals, stop_at=kept | ahead.keys())
    computed = [n for n in back if n not in kept and n not in ahead and not _is_leaf(g, n)]
    read = {a for n in computed for a in operands(g.nodes[n])} | set(goals)
    ahead = {n: a for n, a in ahead.items() if n in read}
    taped = sorted({n for n in read if n in kept} | set(ahead.values()))
    # what is not on the tape and does not vary is kept from before the loop
    new_nodes = {*entering.values(), *y_entering.values(), *sums.values()}
    reverse_varying = _closure(g, computed, {*varying, *carried_in, *ports.xs, *new_nodes})
    hoisted = (
        {a for n in computed if n in reverse_varying for a in operands(g.nodes[n])}
        | {leaving[i] for i in live}
        | set(goals)
    )
    extra_kept = [
        n
        for n in hoisted
        if n not in reverse_varying and n not in taped and g.nodes[n].op != "const" and n not in new_nodes
    ]
    extra_kept += [
        a for n in after for a in (*operands(g.nodes[n]), n) if a not in new_nodes and g.nodes[a].op == "input"
    ]
    returned = {i for i in carry_returned}
    forward = plan_forward(g, ports, returned, ys_returned, extra=[*taped, *extra_kept])
    backward = Backward(
        body=_just_in_time(g, [n for n in computed if n in reverse_varying], varying),
        carry=tuple((i, entering[i], leaving[i]) for i in sorted(live)),
        x_shares=tuple((i, s) for i, s in x_shares.items() if s is not None),
        sums=tuple((s, border_shares[n], n) for n, s in sums.items()),
        after=tuple(n for n in after if not _is_leaf(g, n)),
        const_shares=tuple(const_shares.items()),
        init_shares=tuple(fixed_shares.items()),
        y_cotangents=tuple(y_entering.items()),
        ahead=tuple(ahead.items()),
    )
    return forward._replace(tape=tuple(taped)), backward


def _just_in_time(g: Graph, nodes: Sequence[int], again: set[int]) -> tuple[int, ...]:
    """The same nodes, those that are computed `again` moved to just before they are first read: fewer are alive at once."""
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
    result = set(seeds)
    for node in nodes:
        if any(a in result for a in operands(g.nodes[node])):
            result.add(node)
    return result
