"""`fuse.scan`: what `jax.lax.scan` does, as one kernel."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import core
from jax.extend import core as jex

from .kernels import Wanted
from .primitives import rollout_p
from .step import Traced, pattern_of
from .unfusable import Unfusable, warn_once


class NotOurs(Exception):
    """The arguments are such that `jax.lax.scan` itself shall answer, most often with an error."""


class Prepared(NamedTuple):
    """A scan as flat arrays around a traced step."""

    step: Traced
    operands: list[Any]  # consts, init, xs
    length: int
    out_tree: Any


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
) -> tuple[Any, Any]:
    """Run `f(carry, x) -> (carry, y)` over the leading axis of `xs`: a drop-in for `jax.lax.scan`.

    The whole loop becomes one native kernel, and so does its gradient. Meant for steps on small arrays (a state of a
    few to a hundred numbers) that are repeated many times and for many particles: under `jax.vmap` every batch
    member is a lane of the same kernel, spread over the vector units and cores of the CPU.

    Works under `jit`, `vmap`, `grad`, `jvp` and inside other control flow, for float32 and float64. Call it under
    `jit`: outside, the step is traced again at each call. Arrays that `f` closes over are differentiated and batched
    like arguments. Accumulate what you need (a likelihood) in the carry and return `None` for `y`: then no states are
    written. A step that cannot be fused runs as `jax.lax.scan`, with one `FallbackWarning` that says why;
    `fuse.explain` says more. On a GPU or TPU it runs as `jax.lax.scan`, too. What is wrong with the arguments is the
    error that `jax.lax.scan` gives.

    Args:
        f: the step. Carry and `y` are pytrees of arrays; the carry keeps its shapes and dtypes.
        init: the carry before the first step.
        xs: pytree of arrays with a leading axis of `length`, or None.
        length: the number of steps; needed where `xs` is None.
        reverse: run from the last row of `xs` to the first.
        unroll: for `jax.lax.scan`, where that runs; the kernel is one loop whatever it says.

    Returns:
        The carry after the last step, and all `y` stacked.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from plausim import fuse
        >>> def height(speed):  # of a ball after 100 steps of 10 ms
        ...     def step(ball, _):
        ...         h, v = ball
        ...         return (h + 0.01 * v, v - 0.01 * 9.81), None
        ...     (h, v), _ = fuse.scan(step, (jnp.zeros_like(speed), speed), None, length=100)
        ...     return h
        >>> h, slope = jax.vmap(jax.value_and_grad(height))(jnp.array([4.0, 5.0], jnp.float32))
        >>> with jnp.printoptions(precision=3):
        ...     print(h, slope)
        [-0.856  0.144] [1. 1.]

    """
    plain = functools.partial(jax.lax.scan, f, init, xs, length, reverse, unroll)
    if jax.config.jax_disable_jit:  # pyright: ignore[reportAttributeAccessIssue]  JAX adds it as it starts
        return plain()
    try:
        prepared = prepare(f, init, xs, length)
        prepared.step.marked  # noqa: B018  what cannot be fused is found out here, near the user's code
    except NotOurs:
        return plain()
    except Unfusable as problem:
        warn_once(problem)
        return plain()
    step, operands, length, out_tree = prepared
    if not step.closed.out_avals:
        return jax.tree.unflatten(out_tree, [])
    wanted = Wanted(carry=(True,) * step.carry, ys=(True,) * len(step.y_avals))
    operands = _alike_over_mesh(operands)
    outputs = rollout_p.bind(
        *operands,
        step=step, length=length, reverse=bool(reverse), lanes=(), masks=((),) * len(operands), wanted=wanted,
    )  # fmt: skip
    return jax.tree.unflatten(out_tree, outputs)


def prepare(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int | None) -> Prepared:
    """Trace the step; raises `NotOurs` where the meaning is for `lax.scan` to say, `Unfusable` where it has effects."""
    flat_init, carry_tree = jax.tree.flatten(init)
    flat_xs, xs_tree = jax.tree.flatten(xs)
    try:
        flat_init, flat_xs = [_array(v) for v in flat_init], [_array(v) for v in flat_xs]
        lengths = {x.shape[0] for x in flat_xs} | ({int(length)} if length is not None else set())
    except (TypeError, IndexError, AttributeError, jax.errors.JAXTypeError):
        raise NotOurs from None
    if len(lengths) != 1 or min(lengths) < 0 or isinstance(length, core.Tracer):
        raise NotOurs
    (count,) = lengths
    trees: list[Any] = []

    def flat(carry_leaves, x_leaves):
        out = f(jax.tree.unflatten(carry_tree, carry_leaves), jax.tree.unflatten(xs_tree, x_leaves))
        if not (isinstance(out, tuple) and len(out) == 2) or jax.tree.structure(out[0]) != carry_tree:
            raise NotOurs
        trees[:] = [jax.tree.structure(out)]
        return jax.tree.leaves(out)

    x_types = [_type(x, axis=1) for x in flat_xs]
    for _ in range(2):  # a weakly typed start, such as 0.0, takes the type that the step returns
        closed = jax.make_jaxpr(flat)([_type(v) for v in flat_init], x_types)
        returned = closed.out_avals[: len(flat_init)]
        if all(_agrees(v, a) for v, a in zip(flat_init, returned, strict=True)):
            break
        flat_init = [_promoted(v, a) for v, a in zip(flat_init, returned, strict=True)]
    else:
        raise NotOurs
    if any(kind == jax.sharding.AxisType.Explicit for kind in jax.sharding.get_abstract_mesh().axis_types):
        raise Unfusable("arrays on a mesh whose axes are explicit", advice="call it inside jax.shard_map")
    if closed.effects:
        names = ", ".join(sorted(str(e) for e in closed.effects))
        raise Unfusable(f"a step with side effects ({names})", advice="take prints and callbacks out of the step")
    closed, consts = _close(closed)
    step = Traced(closed, len(consts), len(flat_init), [pattern_of(c) for c in consts])
    return Prepared(step, [*consts, *flat_init, *flat_xs], count, trees[0])


def _array(value: Any) -> Any:
    jax.typeof(value)  # an error for what is no array
    return value if isinstance(value, (jax.Array, core.Tracer)) else jnp.asarray(value)


def _type(value: Any, axis: int = 0) -> Any:
    aval = jax.typeof(value)
    return jax.ShapeDtypeStruct(aval.shape[axis:], aval.dtype, weak_type=aval.weak_type)


def _agrees(value: Any, returned: Any) -> bool:
    aval = jax.typeof(value)
    return aval.shape == returned.shape and aval.dtype == returned.dtype


def _promoted(value: Any, returned: Any) -> Any:
    aval = jax.typeof(value)
    if aval.shape != returned.shape or (aval.dtype != returned.dtype and not aval.weak_type):
        raise NotOurs
    return value if aval.dtype == returned.dtype else jax.lax.convert_element_type(value, returned.dtype)


def _close(closed: Any) -> tuple[Any, list[Any]]:
    """Constants that are JAX arrays become leading arguments; literals stay."""
    jaxpr = closed.jaxpr
    pairs = list(zip(jaxpr.constvars, closed.consts, strict=True))
    arrays = [(v, c) for v, c in pairs if isinstance(c, (jax.Array, core.Tracer))]
    others = [(v, c) for v, c in pairs if not isinstance(c, (jax.Array, core.Tracer))]
    info = (
        jaxpr.debug_info.with_unknown_names() if hasattr(jaxpr.debug_info, "with_unknown_names") else jaxpr.debug_info
    )
    inner = jaxpr.replace(
        constvars=[v for v, _ in others], invars=[*(v for v, _ in arrays), *jaxpr.invars], debug_info=info
    )
    return jex.ClosedJaxpr(inner, [c for _, c in others]), [c for _, c in arrays]


def _alike_over_mesh(operands: list[Any]) -> list[Any]:
    """Inside `shard_map` all operands must vary over the same mesh axes."""
    varying = [getattr(getattr(jax.typeof(v), "mat", None), "varying", frozenset()) for v in operands]
    everywhere = frozenset().union(*varying)
    missing = [tuple(sorted(everywhere - own)) for own in varying]
    return [jax.lax.pcast(v, axes, to="varying") if axes else v for v, axes in zip(operands, missing, strict=True)]
