"""What each of the three primitives means, in plain JAX: for other platforms, and for what cannot be compiled.

A reference is built from a primitive's parameters, and is a function of its operands.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from .kernels import Wanted
from .layout import Mask
from .step import Traced
from .transforms import Arrays, tangent_as_rollout


def _one_rollout(step: Traced, length: int, reverse: bool, operands: Arrays) -> list[Any]:
    consts, init, xs = step.parts(operands)

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
    return lambda *operands: tangent_as_rollout(operands, rollout=_plain_rollout, **params)


def _plain_rollout(*operands: Any, **params: Any) -> list[Any]:
    return rollout_reference(**params)(*operands)
