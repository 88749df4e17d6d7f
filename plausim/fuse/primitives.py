"""The three JAX primitives that stand for a fused scan, and their rules.

    fused_rollout    consts, init, xs                 -> carry, ys
    fused_tangent    the same and tangents            -> tangents of carry and ys          (linear in the tangents)
    fused_adjoint    the same and cotangents          -> carry, ys; cotangents of consts, init, xs

Each operand leads with the lane axes along which it differs (`masks`, one flag for each lane axis); results have them
all. `vmap` only adds a lane axis, so nested batches are one launch. A tangent is the rollout of the step's
`jax.jvp`; its transpose is the adjoint; and the adjoint is written once more as two rollouts, which is what second
derivatives differentiate. Where the carry holds one sum, most often a log-likelihood, its slope is computed along with
its value, in one launch; what turns out not to be used is dropped again when JAX removes dead code. Each primitive also has a `reference` in plain JAX: the meaning, for other platforms and for
what cannot be compiled.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from . import kernels
from .abi import AbiError
from .kernels import Wanted
from .layout import Mask
from .step import Traced
from .unfusable import Unfusable, warn_once

Arrays = Sequence[Any]


def _is_float(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jnp.floating)


def _parts(step: Traced, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Consts, carry and xs out of one flat list."""
    border = step.consts + step.carry
    return (
        list(operands[: step.consts]),
        list(operands[step.consts : border]),
        list(operands[border : border + step.xs]),
    )


# ---- what they mean


def _one_rollout(step: Traced, length: int, reverse: bool, operands: Arrays) -> list[Any]:
    consts, init, xs = _parts(step, operands)

    def body(carry, x):
        outputs = step.function(*consts, *carry, *x)
        return outputs[: step.carry], outputs[step.carry :]

    carry, ys = jax.lax.scan(body, init, xs, length=length, reverse=reverse)
    return [*carry, *ys]


def _over_lanes(one: Callable[..., list[Any]], lanes: Sequence[int], masks: Sequence[Mask]) -> Callable[..., list[Any]]:
    for axis in reversed(range(len(lanes))):
        one = jax.vmap(one, in_axes=tuple(0 if m[axis] else None for m in masks), axis_size=lanes[axis])
    return one


def rollout_reference(
    *, step: Traced, length: int, reverse: bool, lanes: tuple, masks: tuple, wanted: Wanted
) -> Callable[..., list[Any]]:
    flags = [*wanted.carry, *wanted.ys]

    def one(*operands):
        return [out for out, flag in zip(_one_rollout(step, length, reverse, operands), flags, strict=True) if flag]

    return _over_lanes(one, lanes, masks)


def adjoint_reference(
    *, step: Traced, length: int, reverse: bool, lanes: tuple, masks: tuple, wanted: Wanted
) -> Callable[..., list[Any]]:
    asked = [i for i, flag in enumerate((*wanted.consts, *wanted.init, *wanted.xs)) if flag]
    given = [i for i, flag in enumerate((*wanted.carry_cotangents, *wanted.y_cotangents)) if flag]
    returned = [i for i, flag in enumerate((*wanted.carry, *wanted.ys)) if flag]
    count = step.consts + step.carry + step.xs

    def one(*operands):
        def function(*some):
            full = list(operands[:count])
            for i, value in zip(asked, some, strict=True):
                full[i] = value
            outputs = _one_rollout(step, length, reverse, full)
            return [outputs[i] for i in given], [outputs[i] for i in returned]

        _, pull, outputs = jax.vjp(function, *(operands[i] for i in asked), has_aux=True)
        return [*outputs, *pull(list(operands[count:]))]

    return _over_lanes(one, lanes, masks)


def tangent_reference(**params: Any) -> Callable[..., list[Any]]:
    return lambda *operands: _tangent_as_rollout(operands, rollout=_plain_rollout, **params)


def _plain_rollout(*operands: Any, **params: Any) -> list[Any]:
    return rollout_reference(**params)(*operands)


# ---- tangents and adjoints as rollouts of other steps


@functools.lru_cache(maxsize=256)
def _tangent_step(step: Traced, nonzero: tuple[bool, ...]) -> Traced:
    """(consts, dconsts; carry, dcarry; xs, dxs) -> (carry, dcarry; ys, dys), tangents of floats only."""
    avals = step.closed.in_avals
    consts, carry, xs = _parts(step, avals)
    dconsts, _, dxs = _parts(step, nonzero)
    floats = [i for i, a in enumerate(carry) if _is_float(a)]
    n_consts, n_carry = len(consts) + sum(dconsts), len(carry) + len(floats)
    outs = [i for i, a in enumerate(step.closed.out_avals) if _is_float(a)]

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


def _tangent_as_rollout(
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
    consts, carry, xs = _parts(step, pairs)
    dconsts, dcarry, dxs = _parts(step, tangents)
    nowhere = (False,) * len(lanes)
    floats = [i for i, a in enumerate(step.carry_avals) if _is_float(a)]
    zeros = [dcarry[i] or (jnp.zeros(step.carry_avals[i].shape, step.carry_avals[i].dtype), nowhere) for i in floats]
    full = [*consts, *(d for d in dconsts if d), *carry, *zeros, *xs, *(d for d in dxs if d)]
    of_y = [_is_float(a) for a in step.y_avals]
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
    consts, carry, xs = _parts(step, step.closed.in_avals)
    floats = [i for i, a in enumerate(carry) if _is_float(a)]
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


def _adjoint_as_rollouts(
    operands: Arrays, *, step: Traced, length: int, reverse: bool, lanes: tuple, masks: tuple, wanted: Wanted
) -> list[Any]:
    count = step.consts + step.carry + step.xs
    nowhere, everywhere = (False,) * len(lanes), (True,) * len(lanes)
    recorded = rollout_p.bind(
        *operands[:count], step=_recording_step(step), length=length, reverse=reverse, lanes=lanes, masks=masks[:count],
        wanted=Wanted(carry=(False,) * step.carry, ys=(True,) * step.carry),
    )  # fmt: skip
    given, given_masks = iter(operands[count:]), iter(masks[count:])
    floats = [i for i, a in enumerate(step.carry_avals) if _is_float(a)]
    zeros = lambda a: (jnp.zeros(a.shape, a.dtype), nowhere)  # noqa: E731
    entering = {i: (next(given), next(given_masks)) for i, f in enumerate(wanted.carry_cotangents) if f}
    consts, _, xs = _parts(step, list(zip(operands, masks, strict=False)))
    summed = [step.closed.in_avals[i] for i, f in enumerate(wanted.consts) if f]
    full = [*consts, *(entering.get(i) or zeros(step.carry_avals[i]) for i in floats), *(zeros(a) for a in summed)]
    full += [*((r, everywhere) for r in recorded), *xs, *zip(given, given_masks, strict=True)]
    outputs = rollout_p.bind(
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
        primals = rollout_p.bind(
            *operands[:count], step=step, length=length, reverse=reverse, lanes=lanes, masks=masks[:count],
            wanted=Wanted(wanted.carry, wanted.ys),
        )  # fmt: skip
    return [*primals, *outputs[of_init : of_init + len(summed)], *outputs[:of_init], *outputs[of_init + len(summed) :]]


# ---- the primitives


def _result_types(operands: Sequence[Any], shapes: Sequence[tuple[tuple[int, ...], Any]]) -> list[Any]:
    """Types of results that vary over a mesh wherever an operand does."""
    like = next((a for a in operands if getattr(a, "mat", None) is not None and a.mat.varying), None)
    if like is None:
        return [jax.core.ShapedArray(shape, a.dtype, weak_type=a.weak_type) for shape, a in shapes]
    make = lambda shape, a: jax.core.ShapedArray(  # noqa: E731
        shape, a.dtype, a.weak_type, sharding=like.sharding.update(spec=jax.sharding.PartitionSpec(*[None] * len(shape))),
        manual_axis_type=like.mat,
    )  # fmt: skip
    return [make(shape, a) for shape, a in shapes]


def _rollout_types(*operands: Any, step: Traced, length: int, lanes: tuple, wanted: Wanted, **_: Any) -> list[Any]:
    shapes = [((*lanes, *a.shape), a) for a, f in zip(step.closed.out_avals, wanted.carry, strict=False) if f]
    shapes += [((*lanes, length, *a.shape), a) for a, f in zip(step.y_avals, wanted.ys, strict=True) if f]
    return _result_types(operands, shapes)


def _tangent_types(*operands: Any, step: Traced, length: int, lanes: tuple, **_: Any) -> list[Any]:
    shapes = [((*lanes, *a.shape), a) for a in step.carry_avals if _is_float(a)]
    return _result_types(operands, shapes + [((*lanes, length, *a.shape), a) for a in step.y_avals if _is_float(a)])


def _adjoint_types(*operands: Any, step: Traced, length: int, lanes: tuple, wanted: Wanted, **_: Any) -> list[Any]:
    consts, carry, xs = _parts(step, step.closed.in_avals)
    shapes = [((*lanes, *a.shape), a) for a, f in zip(step.closed.out_avals, wanted.carry, strict=False) if f]
    shapes += [((*lanes, length, *a.shape), a) for a, f in zip(step.y_avals, wanted.ys, strict=True) if f]
    shapes += [
        ((*lanes, *a.shape), a) for a, f in zip([*consts, *carry], [*wanted.consts, *wanted.init], strict=True) if f
    ]
    return _result_types(
        operands, shapes + [((*lanes, length, *a.shape), a) for a, f in zip(xs, wanted.xs, strict=True) if f]
    )


def _batch(
    primitive: jex.Primitive, operands: Arrays, dims: Sequence[int | None], *, lanes: tuple, masks: tuple, **params: Any
):
    """A batch axis becomes the first lane axis; what is not batched stays as it is."""
    size = next(x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None)
    moved = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True)]
    wider = tuple((d is not None, *m) for d, m in zip(dims, masks, strict=True))
    outputs = primitive.bind(*moved, lanes=(size, *lanes), masks=wider, **params)
    return outputs, [0] * len(outputs)


def _rollout_jvp(
    primals: Arrays, tangents: Arrays, *, step: Traced, masks: tuple, lanes: tuple, wanted: Wanted, **params: Any
):
    nonzero = tuple(type(t) is not ad.Zero for t in tangents)
    # tangents that are still unknown: reverse mode is on its way
    backward = any(isinstance(t, pe.JaxprTracer) for t in tangents)
    total = step.sum_carried if backward else None
    if total is not None and not wanted.carry[total]:
        total = None
    params = {"step": step, "lanes": lanes, **params}
    slopes: list[Any] = []
    if total is None:
        outputs = rollout_p.bind(*primals, masks=masks, wanted=wanted, **params)
    else:
        consts, init, xs = (tuple(part) for part in _parts(step, nonzero))
        both = Wanted(
            wanted.carry,
            wanted.ys,
            consts,
            init,
            xs,
            tuple(i == total for i in range(step.carry)),
            (False,) * len(step.y_avals),
        )
        one = jnp.ones((), step.carry_avals[total].dtype)
        outputs = adjoint_p.bind(*primals, one, masks=(*masks, (False,) * len(lanes)), wanted=both, **params)
        count = sum((*wanted.carry, *wanted.ys))
        outputs, slopes = outputs[:count], outputs[count:]
    given = [(t, m) for t, m, f in zip(tangents, masks, nonzero, strict=True) if f]
    moved = tangent_p.bind(
        *primals, *(t for t, _ in given), *slopes, nonzero=nonzero, slopes_of=total,
        masks=(*masks, *(m for _, m in given), *((True,) * len(lanes) for _ in slopes)), **params,
    )  # fmt: skip
    each = iter(moved)
    all_tangents = [next(each) if _is_float(a) else None for a in step.closed.out_avals]
    flags = [*wanted.carry, *wanted.ys]
    asked = [t for t, f in zip(all_tangents, flags, strict=True) if f]
    return outputs, [
        ad.Zero(jax.typeof(o).to_tangent_aval()) if t is None else t for o, t in zip(outputs, asked, strict=True)
    ]


def _tangent_jvp(primals: Arrays, tangents: Arrays, **params: Any):
    return _through(
        lambda *operands: _tangent_as_rollout(operands, rollout=rollout_p.bind, **params), primals, tangents
    )


def _adjoint_jvp(primals: Arrays, tangents: Arrays, **params: Any):
    return _through(lambda *operands: _adjoint_as_rollouts(operands, **params), primals, tangents)


def _through(function: Callable[..., list[Any]], primals: Arrays, tangents: Arrays):
    """The tangents of a primitive by way of the function it equals."""
    active = [i for i, t in enumerate(tangents) if type(t) is not ad.Zero]

    def of_active(*values):
        full = list(primals)
        for i, value in zip(active, values, strict=True):
            full[i] = value
        return function(*full)

    return jax.jvp(of_active, [primals[i] for i in active], [tangents[i] for i in active])


def _tangent_transpose(
    cotangents: Arrays,
    *operands: Any,
    step: Traced,
    nonzero: tuple[bool, ...],
    slopes_of: int | None,
    length: int,
    reverse: bool,
    lanes: tuple,
    masks: tuple,
):
    count = step.consts + step.carry + step.xs
    primals, tangents = operands[:count], iter(zip(operands[count:], masks[count:], strict=True))
    slots = [next(tangents) if f else None for f in nonzero]
    asked = [slot is not None and ad.is_undefined_primal(slot[0]) for slot in slots]
    outs = [i for i, a in enumerate(step.closed.out_avals) if _is_float(a)]
    flags = {i: type(c) is not ad.Zero for i, c in zip(outs, cotangents, strict=True)}
    given = [c for c in cotangents if type(c) is not ad.Zero]
    if not given:
        return [None if not ad.is_undefined_primal(o) else ad.Zero(o.aval) for o in operands]
    slopes = operands[count + sum(nonzero) :]
    if slopes and [i for i, f in flags.items() if f] == [slopes_of]:
        shares = [given[0].reshape(*lanes, *(1,) * (s.ndim - len(lanes))) * s for s in slopes]
        each = iter(
            zip(
                shares,
                masks[count : count + sum(nonzero)],
                [a for a, slot in zip(asked, slots, strict=True) if slot is not None],
                strict=True,
            )
        )
        return [None] * count + [_sum_over(s, m) if f else None for s, m, f in each] + [None] * len(slopes)
    consts, init, xs = _parts(step, asked)
    nothing = (False,) * len(step.closed.out_avals)
    every = [flags.get(i, False) for i in range(len(step.closed.out_avals))]
    wanted = Wanted(
        nothing[: step.carry],
        nothing[step.carry :],
        tuple(consts),
        tuple(init),
        tuple(xs),
        tuple(every[: step.carry]),
        tuple(every[step.carry :]),
    )
    everywhere = (True,) * len(lanes)
    shares = adjoint_p.bind(
        *primals, *given, step=step, length=length, reverse=reverse, lanes=lanes,
        masks=(*masks[:count], *(everywhere for _ in given)), wanted=wanted,
    )  # fmt: skip
    share, results = iter(shares), []
    for slot, flag in zip(slots, asked, strict=True):
        if slot is not None:
            results.append(_sum_over(next(share), slot[1]) if flag else None)
    return [None] * count + results + [None] * len(slopes)


def _rollout_transpose(
    cotangents: Arrays,
    *operands: Any,
    step: Traced,
    length: int,
    reverse: bool,
    lanes: tuple,
    masks: tuple,
    wanted: Wanted,
):
    """A rollout that is linear in some operands has the same derivative everywhere, so also where they are 0."""
    asked = [ad.is_undefined_primal(o) for o in operands]
    filled = [jnp.zeros(o.aval.shape, o.aval.dtype) if ad.is_undefined_primal(o) else o for o in operands]
    given = [c for c in cotangents if type(c) is not ad.Zero]
    results = iter([type(c) is not ad.Zero for c in cotangents])
    every = [next(results) if f else False for f in (*wanted.carry, *wanted.ys)]
    consts, init, xs = _parts(step, asked)
    nothing = (False,) * len(step.closed.out_avals)
    backward = Wanted(
        nothing[: step.carry],
        nothing[step.carry :],
        tuple(consts),
        tuple(init),
        tuple(xs),
        tuple(every[: step.carry]),
        tuple(every[step.carry :]),
    )
    everywhere = (True,) * len(lanes)
    shares = iter(adjoint_p.bind(
        *filled, *given, step=step, length=length, reverse=reverse, lanes=lanes,
        masks=(*masks, *(everywhere for _ in given)), wanted=backward,
    ))  # fmt: skip
    return [_sum_over(next(shares), mask) if flag else None for flag, mask in zip(asked, masks, strict=True)]


def _sum_over(share: Any, mask: Mask) -> Any:
    """Lanes that share an operand add up their cotangents."""
    return jnp.sum(share, tuple(i for i, differs in enumerate(mask) if not differs))


def _unused_rollout(used: Sequence[bool], *more: Any):
    """Dead code: results that nobody reads are not computed. The equation is the last argument (JAX 0.12 added one)."""
    eqn = more[-1]
    if not any(used):
        return [False] * len(eqn.invars), None
    flags, kept = iter(used), []
    for port in eqn.params["wanted"]:
        kept.append(
            tuple(f and next(flags) for f in port)
            if len(kept) < 2 or eqn.primitive is adjoint_p and len(kept) < 5
            else port
        )
    wanted, outvars = Wanted(*kept), [v for v, f in zip(eqn.outvars, used, strict=True) if f]
    if eqn.primitive is adjoint_p and not wanted.gradient:
        step = eqn.params["step"]
        count = step.consts + step.carry + step.xs
        params = dict(eqn.params, wanted=Wanted(wanted.carry, wanted.ys), masks=eqn.params["masks"][:count])
        plain = eqn.replace(primitive=rollout_p, invars=eqn.invars[:count], outvars=outvars, params=params)
        return [i < count for i in range(len(eqn.invars))], plain
    return [True] * len(eqn.invars), eqn.replace(outvars=outvars, params=dict(eqn.params, wanted=wanted))


def _lower(make: Callable[..., kernels.Call], reference: Callable[..., Callable[..., list[Any]]]) -> Callable[..., Any]:
    """On the CPU: a call of the kernel, or where there can be none, of the reference."""

    def rule(ctx: mlir.LoweringRuleContext, *operands: Any, **params: Any):
        def run(*values):
            if not all(params["lanes"]):
                return reference(**params)(*values)
            try:
                kernel = make(
                    params["step"],
                    params["wanted"],
                    params["masks"],
                    params["lanes"],
                    params["length"],
                    params["reverse"],
                )
            except (Unfusable, AbiError) as problem:
                warn_once(problem)
                return reference(**params)(*values)
            types = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in ctx.avals_out]
            with jax.enable_x64(True):  # strides may exceed 32 bits, whatever the user's numbers are
                meta = jnp.asarray(kernel.meta)
                return jax.ffi.ffi_call(kernel.target, types)(meta, *values)

        return mlir.lower_fun(run, multiple_results=True)(ctx, *operands)

    return rule


def _define(
    name: str, types: Callable[..., list[Any]], reference: Callable[..., Callable[..., list[Any]]], jvp: Any, lower: Any
) -> jex.Primitive:
    primitive = jex.Primitive(name)
    primitive.multiple_results = True
    primitive.reference = reference  # type: ignore[attr-defined]
    primitive.def_abstract_eval(types)

    @functools.lru_cache(maxsize=512)
    def compiled(items: tuple[tuple[str, Any], ...]) -> Callable[..., list[Any]]:
        return jax.jit(functools.partial(primitive.bind, **dict(items)))

    primitive.def_impl(lambda *operands, **params: compiled(tuple(sorted(params.items())))(*operands))
    batching.primitive_batchers[primitive] = functools.partial(_batch, primitive)
    ad.primitive_jvps[primitive] = jvp
    mlir.register_lowering(primitive, mlir.lower_fun(lambda *o, **p: reference(**p)(*o), multiple_results=True))
    mlir.register_lowering(primitive, lower, platform="cpu")
    return primitive


rollout_p = _define(
    "fused_rollout",
    _rollout_types,
    rollout_reference,
    _rollout_jvp,
    _lower(lambda *a: kernels.call(*a), rollout_reference),
)
adjoint_p = _define(
    "fused_adjoint",
    _adjoint_types,
    adjoint_reference,
    _adjoint_jvp,
    _lower(lambda *a: kernels.call(*a), adjoint_reference),
)
tangent_p = _define(
    "fused_tangent", _tangent_types, tangent_reference, _tangent_jvp,
    mlir.lower_fun(lambda *o, **p: _tangent_as_rollout(o, rollout=rollout_p.bind, **p), multiple_results=True),
)  # fmt: skip
ad.primitive_transposes[tangent_p] = _tangent_transpose
pe.dce_rules.update({rollout_p: _unused_rollout, adjoint_p: _unused_rollout})
ad.primitive_transposes[rollout_p] = _rollout_transpose
