"""Tangents and adjoints of a rollout, as rollouts of other steps.

    tangent_as_rollout     one rollout of the step's `jax.jvp`
    adjoint_as_rollouts    a rollout that records every carry, then one of the step's `jax.vjp`, backwards

The caller says what runs a rollout: `rollout(*operands, step=, length=, reverse=, lanes=, masks=, wanted=)`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from .kernels import Wanted
from .step import Traced, is_floating

Arrays = Sequence[Any]


@functools.lru_cache(maxsize=256)
def _tangent_step(step: Traced, nonzero: tuple[bool, ...]) -> Traced:
    """(consts, dconsts; carry, dcarry; xs, dxs) -> (carry, dcarry; ys, dys), tangents of floats only."""
    avals = step.closed.in_avals
    consts, carry, xs = step.parts(avals)
    dconsts, _, dxs = step.parts(nonzero)
    floats = [i for i, a in enumerate(carry) if is_floating(a)]
    n_consts, n_carry = len(consts) + sum(dconsts), len(carry) + len(floats)
    outs = [i for i, a in enumerate(step.closed.out_avals) if is_floating(a)]

    def function(*operands):
        own = iter(operands)
        c, dc = [next(own) for _ in consts], [next(own) if f else None for f in dconsts]
        s = [next(own) for _ in carry]
        ds = [next(own) if i in floats else None for i in range(len(carry))]
        x, dx = [next(own) for _ in xs], [next(own) if f else None for f in dxs]
        primals, tangents = [*c, *s, *x], [*dc, *ds, *dx]
        active = [i for i, t in enumerate(tangents) if t is not None]

        def of_active(*values):
            full = list(primals)
            for i, value in zip(active, values, strict=True):
                full[i] = value
            return step.function(*full)

        out, dout = jax.jvp(of_active, [primals[i] for i in active], [tangents[i] for i in active])
        moved = [i for i in outs if i < step.carry], [i for i in outs if i >= step.carry]
        return [*out[: step.carry], *(dout[i] for i in moved[0]), *out[step.carry :], *(dout[i] for i in moved[1])]

    types = [*consts, *(a for a, f in zip(consts, dconsts, strict=True) if f), *carry, *(carry[i] for i in floats)]
    types += [*xs, *(a for a, f in zip(xs, dxs, strict=True) if f)]
    closed = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in types))
    patterns = (*step.patterns, *(None for _ in range(n_consts - len(consts))))
    return Traced(closed, n_consts, n_carry, patterns)


def tangent_as_rollout(
    operands: Arrays,
    *,
    rollout: Callable[..., list[Any]],
    step: Traced,
    nonzero: tuple[bool, ...],
    slopes_of: int | None,
    length: int,
    reverse: bool,
    lanes: tuple,
    masks: tuple,
) -> list[Any]:
    del slopes_of  # for the transpose only
    count = step.consts + step.carry + step.xs
    primals, given, given_masks = operands[:count], iter(operands[count:]), iter(masks[count:])
    tangents = [(next(given), next(given_masks)) if f else None for f in nonzero]
    pairs = list(zip(primals, masks, strict=False))
    consts, carry, xs = step.parts(pairs)
    dconsts, dcarry, dxs = step.parts(tangents)
    nowhere = (False,) * len(lanes)
    floats = [i for i, a in enumerate(step.carry_avals) if is_floating(a)]
    zeros = [dcarry[i] or (jnp.zeros(step.carry_avals[i].shape, step.carry_avals[i].dtype), nowhere) for i in floats]
    full = [*consts, *(d for d in dconsts if d), *carry, *zeros, *xs, *(d for d in dxs if d)]
    of_y = [is_floating(a) for a in step.y_avals]
    wanted = Wanted(
        carry=(False,) * step.carry + (True,) * len(floats),
        ys=(False,) * len(of_y) + (True,) * sum(of_y),
    )
    return rollout(
        *(v for v, _ in full), step=_tangent_step(step, nonzero), length=length, reverse=reverse, lanes=lanes,
        masks=tuple(m for _, m in full), wanted=wanted,
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _recording_step(step: Traced) -> Traced:
    """The step that also returns the carry it started from."""

    def function(*operands):
        outputs = step.function(*operands)
        return [*outputs[: step.carry], *operands[step.consts : step.consts + step.carry]]

    closed = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in step.closed.in_avals))
    return Traced(closed, step.consts, step.carry, step.patterns)


@functools.lru_cache(maxsize=256)
def _adjoint_step(step: Traced, wanted: Wanted) -> Traced:
    """(consts; cotangents, sums; carry, xs, y cotangents) -> (cotangents, sums; x cotangents)."""
    consts, carry, xs = step.parts(step.closed.in_avals)
    floats = [i for i, a in enumerate(carry) if is_floating(a)]
    summed = [i for i, f in enumerate(wanted.consts) if f]
    x_asked = [i for i, f in enumerate(wanted.xs) if f]
    y_given = [i for i, f in enumerate(wanted.y_cotangents) if f]

    def function(*operands):
        own = iter(operands)
        take = lambda n: [next(own) for _ in range(n)]  # noqa: E731
        c, cotangents, sums = take(len(consts)), take(len(floats)), take(len(summed))
        s, x, y_cotangents = take(len(carry)), take(len(xs)), take(len(y_given))

        def of_floats(some_consts, some_carry, some_xs):
            cc, ss, xx = list(c), list(s), list(x)
            for target, places, values in ((cc, summed, some_consts), (ss, floats, some_carry), (xx, x_asked, some_xs)):
                for i, value in zip(places, values, strict=True):
                    target[i] = value
            outputs = step.function(*cc, *ss, *xx)
            return [outputs[i] for i in floats], [outputs[step.carry + i] for i in y_given]

        _, pull = jax.vjp(of_floats, [c[i] for i in summed], [s[i] for i in floats], [x[i] for i in x_asked])
        dc, ds, dx = pull((cotangents, y_cotangents))
        return [*ds, *(a + b for a, b in zip(sums, dc, strict=True)), *dx]

    ys = [step.y_avals[i] for i in y_given]
    types = [*consts, *(carry[i] for i in floats), *(consts[i] for i in summed), *carry, *xs, *ys]
    closed = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in types))
    return Traced(closed, len(consts), len(floats) + len(summed), step.patterns)


def adjoint_as_rollouts(
    operands: Arrays,
    *,
    rollout: Callable[..., list[Any]],
    step: Traced,
    length: int,
    reverse: bool,
    lanes: tuple,
    masks: tuple,
    wanted: Wanted,
) -> list[Any]:
    count = step.consts + step.carry + step.xs
    nowhere, everywhere = (False,) * len(lanes), (True,) * len(lanes)
    recorded = rollout(
        *operands[:count], step=_recording_step(step), length=length, reverse=reverse, lanes=lanes, masks=masks[:count],
        wanted=Wanted(carry=(False,) * step.carry, ys=(True,) * step.carry),
    )  # fmt: skip
    given, given_masks = iter(operands[count:]), iter(masks[count:])
    floats = [i for i, a in enumerate(step.carry_avals) if is_floating(a)]
    zeros = lambda a: (jnp.zeros(a.shape, a.dtype), nowhere)  # noqa: E731
    entering = {i: (next(given), next(given_masks)) for i, f in enumerate(wanted.carry_cotangents) if f}
    consts, _, xs = step.parts(list(zip(operands, masks, strict=False)))
    summed = [step.closed.in_avals[i] for i, f in enumerate(wanted.consts) if f]
    full = [*consts, *(entering.get(i) or zeros(step.carry_avals[i]) for i in floats), *(zeros(a) for a in summed)]
    full += [*((r, everywhere) for r in recorded), *xs, *zip(given, given_masks, strict=True)]
    outputs = rollout(
        *(v for v, _ in full), step=_adjoint_step(step, wanted), length=length, reverse=not reverse, lanes=lanes,
        masks=tuple(m for _, m in full),
        wanted=Wanted(
            carry=tuple(bool(wanted.init) and wanted.init[i] for i in floats) + (True,) * len(summed),
            ys=(True,) * sum(wanted.xs),
        ),
    )  # fmt: skip
    of_init = sum(wanted.init[i] for i in floats)
    primals: list[Any] = []
    if any((*wanted.carry, *wanted.ys)):
        primals = rollout(
            *operands[:count], step=step, length=length, reverse=reverse, lanes=lanes, masks=masks[:count],
            wanted=Wanted(wanted.carry, wanted.ys),
        )  # fmt: skip
    return [*primals, *outputs[of_init : of_init + len(summed)], *outputs[:of_init], *outputs[of_init + len(summed) :]]
