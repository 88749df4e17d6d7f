"""The three JAX primitives that stand for a fused scan, and their rules.

    fused_rollout    consts, init, xs                 -> carry, ys
    fused_tangent    the same and tangents            -> tangents of carry and ys          (linear in the tangents)
    fused_adjoint    the same and cotangents          -> carry, ys; cotangents of consts, init, xs

Each operand leads with the lane axes along which it differs (`masks`, one flag for each lane axis); results have them
all. `vmap` only adds a lane axis, so nested batches are one launch. A tangent is the rollout of the step's
`jax.jvp`; its transpose is the adjoint; and the adjoint is written once more as two rollouts, which is what second
derivatives differentiate. Where the carry holds one sum, most often a log-likelihood, its slope is computed along with
its value, in one launch; what turns out not to be used is dropped again when JAX removes dead code. Each primitive also
has a `reference` in plain JAX: the meaning, for other platforms and for what cannot be compiled.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import core
from jax.extend import core as jex
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from . import kernels
from .abi import AbiError
from .kernels import RETURNED, Wanted
from .layout import Mask
from .linearity import is_linear
from .reference import adjoint_reference, rollout_reference, tangent_reference
from .step import Traced, is_floating
from .transforms import Arrays, adjoint_as_rollouts, tangent_as_rollout
from .unfusable import Unfusable, warn_once


def _result_types(operands: Sequence[Any], shapes: Sequence[tuple[tuple[int, ...], Any]]) -> list[Any]:
    """Types of results that vary over a mesh wherever an operand does."""
    like = next((a for a in operands if getattr(a, "mat", None) is not None and a.mat.varying), None)
    if like is None:
        return [core.ShapedArray(shape, a.dtype, weak_type=a.weak_type) for shape, a in shapes]

    def varying(shape: tuple[int, ...], a: Any) -> Any:
        whole = like.sharding.update(spec=jax.sharding.PartitionSpec(*[None] * len(shape)))
        return core.ShapedArray(shape, a.dtype, a.weak_type, sharding=whole, manual_axis_type=like.mat)

    return [varying(shape, a) for shape, a in shapes]


def _returned(step: Traced, length: int, lanes: tuple, wanted: Wanted) -> list[tuple[tuple[int, ...], Any]]:
    """Shapes of what a rollout gives, and the step's types behind them."""
    shapes = [((*lanes, *a.shape), a) for a, f in zip(step.closed.out_avals, wanted.carry, strict=False) if f]
    return shapes + [((*lanes, length, *a.shape), a) for a, f in zip(step.y_avals, wanted.ys, strict=True) if f]


def _rollout_types(*operands: Any, step: Traced, length: int, lanes: tuple, wanted: Wanted, **_: Any) -> list[Any]:
    return _result_types(operands, _returned(step, length, lanes, wanted))


def _tangent_types(*operands: Any, step: Traced, length: int, lanes: tuple, **_: Any) -> list[Any]:
    floats = [is_floating(a) for a in step.closed.out_avals]
    wanted = Wanted(tuple(floats[: step.carry]), tuple(floats[step.carry :]))
    return _result_types(operands, _returned(step, length, lanes, wanted))


def _adjoint_types(*operands: Any, step: Traced, length: int, lanes: tuple, wanted: Wanted, **_: Any) -> list[Any]:
    consts, carry, xs = step.parts(step.closed.in_avals)
    once = zip([*consts, *carry], [*wanted.consts, *wanted.init], strict=True)
    shapes = [((*lanes, *a.shape), a) for a, f in once if f]
    shapes += [((*lanes, length, *a.shape), a) for a, f in zip(xs, wanted.xs, strict=True) if f]
    return _result_types(operands, _returned(step, length, lanes, wanted) + shapes)


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
        consts, init, xs = (tuple(part) for part in step.parts(nonzero))
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
    all_tangents = [next(each) if is_floating(a) else None for a in step.closed.out_avals]
    flags = [*wanted.carry, *wanted.ys]
    asked = [t for t, f in zip(all_tangents, flags, strict=True) if f]
    return outputs, [
        ad.Zero(jax.typeof(o).to_tangent_aval()) if t is None else t for o, t in zip(outputs, asked, strict=True)
    ]


def _tangent_jvp(primals: Arrays, tangents: Arrays, **params: Any):
    return _through(lambda *operands: tangent_as_rollout(operands, rollout=rollout_p.bind, **params), primals, tangents)


def _adjoint_jvp(primals: Arrays, tangents: Arrays, **params: Any):
    return _through(
        lambda *operands: adjoint_as_rollouts(operands, rollout=rollout_p.bind, **params), primals, tangents
    )


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
    tangents = iter(zip(operands[count:], masks[count:], strict=True))
    slots = [next(tangents) if f else None for f in nonzero]
    asked = [slot is not None and ad.is_undefined_primal(slot[0]) for slot in slots]
    outs = [i for i, a in enumerate(step.closed.out_avals) if is_floating(a)]
    flowing = {i for i, c in zip(outs, cotangents, strict=True) if type(c) is not ad.Zero}
    given = [c for c in cotangents if type(c) is not ad.Zero]
    if not given:
        return [ad.Zero(o.aval) if ad.is_undefined_primal(o) else None for o in operands]
    slopes = operands[count + sum(nonzero) :]
    if slopes and flowing == {slopes_of}:  # they came with the value: of every tangent, asked for or not
        shares = [given[0].reshape(*lanes, *(1,) * (s.ndim - len(lanes))) * s for s in slopes]
        shares = [
            s for s, flag in zip(shares, [a for a, f in zip(asked, nonzero, strict=True) if f], strict=True) if flag
        ]
    else:
        shares = adjoint_p.bind(
            *operands[:count], *given, step=step, length=length, reverse=reverse, lanes=lanes,
            masks=(*masks[:count], *((True,) * len(lanes) for _ in given)), wanted=_gradient(step, asked, flowing),
        )  # fmt: skip
    share = iter(shares)
    pairs = zip(slots, asked, strict=True)
    results = [_sum_over(next(share), slot[1]) if flag else None for slot, flag in pairs if slot is not None]
    return [None] * count + results + [None] * len(slopes)


def _gradient(step: Traced, asked: Sequence[bool], flowing: Iterable[int]) -> Wanted:
    """The cotangents of the operands `asked` for, and nothing else, given those of the results `flowing`."""
    consts, init, xs = (tuple(part) for part in step.parts(asked))
    given = [i in set(flowing) for i in range(len(step.closed.out_avals))]
    nothing = (False,) * len(given)
    carried = step.carry
    return Wanted(
        nothing[:carried], nothing[carried:], consts, init, xs, tuple(given[:carried]), tuple(given[carried:])
    )


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
    if not is_linear(step, asked):
        raise NotImplementedError("the transpose of a fused rollout that is not linear in what is asked for")
    filled = [jnp.zeros(o.aval.shape, o.aval.dtype) if ad.is_undefined_primal(o) else o for o in operands]
    returned = [i for i, f in enumerate((*wanted.carry, *wanted.ys)) if f]
    flowing = [i for i, c in zip(returned, cotangents, strict=True) if type(c) is not ad.Zero]
    given = [c for c in cotangents if type(c) is not ad.Zero]
    shares = iter(adjoint_p.bind(
        *filled, *given, step=step, length=length, reverse=reverse, lanes=lanes,
        masks=(*masks, *((True,) * len(lanes) for _ in given)), wanted=_gradient(step, asked, flowing),
    ))  # fmt: skip
    return [_sum_over(next(shares), mask) if flag else None for flag, mask in zip(asked, masks, strict=True)]


def _sum_over(share: Any, mask: Mask) -> Any:
    """Lanes that share an operand add up their cotangents."""
    return jnp.sum(share, tuple(i for i, differs in enumerate(mask) if not differs))


def _without_unused(used: Sequence[bool], *more: Any):
    """Dead code: results that nobody reads are not computed. The equation is the last argument (JAX 0.12 added one)."""
    eqn = more[-1]
    if not any(used):
        return [False] * len(eqn.invars), None
    flags, ports = iter(used), tuple(eqn.params["wanted"])
    kept = (tuple(f and next(flags) for f in port) for port in ports[:RETURNED])
    wanted, outvars = Wanted(*kept, *ports[RETURNED:]), [v for v, f in zip(eqn.outvars, used, strict=True) if f]
    if eqn.primitive is adjoint_p and not wanted.gradient:
        step = eqn.params["step"]
        count = step.consts + step.carry + step.xs
        params = dict(eqn.params, wanted=Wanted(wanted.carry, wanted.ys), masks=eqn.params["masks"][:count])
        plain = eqn.replace(primitive=rollout_p, invars=eqn.invars[:count], outvars=outvars, params=params)
        return [i < count for i in range(len(eqn.invars))], plain
    return [True] * len(eqn.invars), eqn.replace(outvars=outvars, params=dict(eqn.params, wanted=wanted))


def _lower(call: Callable[..., kernels.Call], reference: Callable[..., Callable[..., list[Any]]]) -> Callable[..., Any]:
    """A call of a backend's kernel, or where there can be none, of the reference."""

    def rule(ctx: mlir.LoweringRuleContext, *operands: Any, **params: Any):
        def run(*values):
            if not all(params["lanes"]):
                return reference(**params)(*values)
            try:
                kernel = call(**params)
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
    _lower(kernels.call, rollout_reference),
)
adjoint_p = _define(
    "fused_adjoint",
    _adjoint_types,
    adjoint_reference,
    _adjoint_jvp,
    _lower(kernels.call, adjoint_reference),
)
tangent_p = _define(
    "fused_tangent", _tangent_types, tangent_reference, _tangent_jvp,
    mlir.lower_fun(lambda *o, **p: tangent_as_rollout(o, rollout=rollout_p.bind, **p), multiple_results=True),
)  # fmt: skip
ad.primitive_transposes[tangent_p] = _tangent_transpose
pe.dce_rules.update({rollout_p: _without_unused, adjoint_p: _without_unused})
ad.primitive_transposes[rollout_p] = _rollout_transpose
