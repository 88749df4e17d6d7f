"""From a step and the shapes it meets to a registered kernel: plan, emit, compile, and the operand that says how."""

import functools
import itertools
import math
import os
import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import native
from .emit import Emitter, Kernel
from .graph import Graph, needed
from .layout import Mask, arrange
from .nodes import kind_of
from .plan import Backward, Forward, Ports, plan_forward, plan_gradient
from .scratch import Buffer, Sizes, bytes_of
from .step import Traced, fingerprint
from .unfusable import Unfusable

VERSION = 5  # to be raised when the same plan shall give other code
# Vectors that run side by side hide each other's latency until registers run out: by number of operations.
SIDE_BY_SIDE = {200: 4, 700: 2}
LARGE = 60_000  # operations beyond which LLVM's optimising code generator takes minutes; its plain one is half as fast
WORTH_A_THREAD = 40_000  # vector operations below which waking another thread costs more than it brings


STEPWISE = frozenset({"x", "y", "y_cotangent", "x_share"})  # roles of arrays with a row for each step


class Wanted(NamedTuple):
    """Which results are asked for: flags by operand or result of the step."""

    carry: tuple[bool, ...] = ()
    ys: tuple[bool, ...] = ()
    consts: tuple[bool, ...] = ()
    init: tuple[bool, ...] = ()
    xs: tuple[bool, ...] = ()
    carry_cotangents: tuple[bool, ...] = ()
    y_cotangents: tuple[bool, ...] = ()

    @property
    def gradient(self) -> bool:
        return any((*self.consts, *self.init, *self.xs))


RETURNED = 5  # so many of these say what is returned; the others, what is given


class Call(NamedTuple):
    """A kernel and its first operand."""

    target: str
    meta: np.ndarray


def call(
    *, step: Traced, wanted: Wanted, masks: Sequence[Mask], lanes: tuple[int, ...], length: int, reverse: bool
) -> Call:
    """The kernel for these operands: consts, init, xs, then the cotangents that are given."""
    arguments, results = _buffers(step, wanted)
    everywhere = (True,) * len(lanes)
    wide = any(bytes_of(b.kind) == 8 for b in (*arguments, *results))
    vector = native.vector_bytes() // (8 if wide else 4)
    by_step = [m for b, m in zip(arguments, masks, strict=True) if b.role in STEPWISE]
    layout = arrange(lanes, [*masks, everywhere], by_step, vector)
    shared = [layout.strides(m, lanes, 1)[0] == 0 for m in masks]
    arguments = tuple(b._replace(uniform=s and b.role in STEPWISE) for b, s in zip(arguments, shared, strict=True))
    side_by_side = vector * _vectors(step, wanted, -(-layout.inner // vector))
    target, sizes, work = _compiled(step, wanted, arguments, results, reverse, side_by_side, len(layout.outer))
    blocks = -(-layout.inner // side_by_side) * math.prod(layout.outer)
    segment = _segment(length, sizes) if wanted.gradient else max(length, 1)
    scratch = sizes.fixed
    if wanted.gradient:
        scratch += -(-length // segment) * sizes.segment + (segment + 1) * sizes.step
    workers = min(_most_workers(), max(1, blocks * length * work // WORTH_A_THREAD))
    meta = [blocks, scratch, workers, length, segment, layout.inner, *layout.outer]
    for b, mask in zip((*arguments, *results), (*masks, *(everywhere for _ in results)), strict=True):
        rows = length if b.role in STEPWISE else 1
        meta += layout.strides(mask, lanes, rows * b.count * bytes_of(b.kind))
    return Call(target, np.array(meta, np.int64))


def _vectors(step: Traced, wanted: Wanted, available: int) -> int:
    operations = _operations(step, wanted)
    fitting = [count for most, count in SIDE_BY_SIDE.items() if operations <= most and count <= available]
    return max(fitting, default=1)


def _segment(length: int, sizes: Sizes) -> int:
    """Steps of a segment: all, where the whole tape fits the budget of a thread; else what needs least memory."""
    budget = _setting("PLAUSIM_FUSE_MEMORY", 32 << 20)
    if length * sizes.step <= budget:
        return max(length, 1)
    return min(length, max(1, round(math.sqrt(length * max(sizes.segment, 1) / max(sizes.step, 1)))))


def _most_workers() -> int:
    return _setting("PLAUSIM_FUSE_THREADS", 1 << 20)


def _setting(name: str, default: int) -> int:
    """A positive whole number from the environment."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"{name}={text!r} is not a positive whole number; correct it, or unset it.")
    return int(text)


def _buffers(step: Traced, wanted: Wanted) -> tuple[tuple[Buffer, ...], tuple[Buffer, ...]]:
    avals = step.closed.in_avals
    groups = {
        "const": avals[: step.consts], "init": step.carry_avals, "x": avals[step.consts + step.carry :],
        "carry": step.carry_avals, "y": step.y_avals,
    }  # fmt: skip
    firsts = {role: [0, *itertools.accumulate(a.size for a in group)] for role, group in groups.items()}

    def of(role: str, port: str, flags: Sequence[bool] | None) -> list[Buffer]:
        group = groups[port]
        chosen = range(len(group)) if flags is None else [i for i, flag in enumerate(flags) if flag]
        return [Buffer(role, firsts[port][i], group[i].size, kind_of(group[i])) for i in chosen]

    arguments = [*of("const", "const", None), *of("init", "init", None), *of("x", "x", None)]
    arguments += of("carry_cotangent", "carry", wanted.carry_cotangents) + of("y_cotangent", "y", wanted.y_cotangents)
    results = of("carry", "carry", wanted.carry) + of("y", "y", wanted.ys)
    results += (
        of("const_share", "const", wanted.consts)
        + of("init_share", "init", wanted.init)
        + of("x_share", "x", wanted.xs)
    )
    return tuple(arguments), tuple(results)


def _positions(results: Sequence[Buffer], role: str) -> list[int]:
    return [i for b in results if b.role == role for i in range(b.first, b.first + b.count)]


_planning = threading.RLock()  # plans add nodes to the step's own graph


def planned(step: Traced, wanted: Wanted) -> tuple[Graph, Ports, Forward, Backward | None]:
    """Graph, ports and plan of a kernel."""
    with _planning:
        return _planned(step, wanted)


@functools.lru_cache(maxsize=256)
def _planned(step: Traced, wanted: Wanted) -> tuple[Graph, Ports, Forward, Backward | None]:
    arguments, results = _buffers(step, wanted)
    if not wanted.gradient:
        g, ports = step.plain
        return g, ports, plan_forward(g, ports, _positions(results, "carry"), _positions(results, "y")), None
    g, ports = step.marked
    forward, backward = plan_gradient(
        g, ports, _positions(arguments, "y_cotangent"),
        _positions(results, "const_share"), _positions(results, "init_share"), _positions(results, "x_share"),
        _positions(results, "carry"), _positions(results, "y"),
    )  # fmt: skip
    return g, ports, forward, backward


def _operations(step: Traced, wanted: Wanted) -> int:
    _, _, forward, backward = planned(step, wanted)
    return len(forward.body) + (len(backward.body) if backward else 0)


@functools.lru_cache(maxsize=1024)
def _compiled(
    step: Traced, wanted: Wanted, arguments: tuple, results: tuple, reverse: bool, lanes: int, axes: int
) -> tuple[str, Sizes, int]:
    g, ports, forward, backward = planned(step, wanted)
    kernel = Kernel(g, ports, forward, backward, arguments, results, reverse, lanes, axes, native.attributes())
    emitter = Emitter(kernel)
    nodes = (
        set(forward.before)
        | set(forward.body)
        | set(forward.kept)
        | {o for _, _, o in forward.carry}
        | {n for _, n in forward.ys}
    )
    if backward is not None:
        nodes |= set(backward.body) | set(backward.after)
    key = fingerprint(g, needed(g, nodes), VERSION, ports, forward, backward, arguments, results, reverse, lanes, axes)
    work = _operations(step, wanted)
    try:
        target = native.register(key, emitter.module, opt=2 if work <= LARGE else 0)
    except (RuntimeError, LookupError, AssertionError) as mistake:  # ours, never the user's: slow is better than no run
        text = f"a kernel that came out wrong ({type(mistake).__name__}: {mistake})"
        raise Unfusable(text, advice="please report the step") from mistake
    return target, emitter.sizes, work
