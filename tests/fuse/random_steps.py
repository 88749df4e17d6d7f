"""Random step functions for `scan`, as small Python programs that can be read, copied and run.

A program is a list of lines `v3 = jnp.sin(v1)`. Each line comes from a template, a text with holes that are filled
from the values so far; the letter of a hole says what fits:

    f  floats           g  floats of the same shape and dtype as f      a, b  the same, of rank 1 to 3 and not empty
    v, w  vectors       m, n  matrices       t  of rank 3       s  a scalar        (all floats, none empty)
    i, j  integers      u  integers, rank 1 to 3, not empty       k  an integer scalar       p, q  bools

Floats stay in about [-1, 1] and keep away from kinks and ties, so that two ways to compute them can be compared.
Adding an operation is adding a line to `OPERATIONS`.
"""

import string
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
from jax import lax

from plausim import fuse

jax.config.update("jax_enable_x64", True)

# What a program may call, beyond jax, jnp, lax and np -------------------------------------------------------------


def cast(value, dtype):
    """Convert between the kinds of numbers: bounded, and never near a rounding tie."""
    source, target = jnp.dtype(value.dtype).kind, jnp.dtype(dtype).kind
    if source == "f" and target in "iu":
        return jnp.floor(3.7 * value + 0.313).astype(jnp.int32).astype(dtype)
    if source == "f" and target == "b":
        return value > 0.0123
    if source in "iu" and target == "f":
        return ((value % 7).astype(dtype) - 3.0) / 4.0
    return value.astype(dtype)


def fit(value, shape, dtype):
    """The numbers of `value`, repeated or cut to `shape`."""
    value = cast(value, dtype)
    if value.shape == shape:
        return value
    size = int(np.prod(shape))
    flat = value.ravel() if value.size else jnp.zeros(1, dtype)
    return jnp.tile(flat, -(-size // flat.size))[:size].reshape(shape)


def cut(value):
    """At most three axes, at most four entries along each."""
    while value.ndim > 3:
        value = value[0] if value.shape[0] else value.reshape(value.shape[1:])
    return value[tuple(slice(0, 4) for _ in value.shape)]


def spread(value):
    """Break ties: no two entries are equal, or nearly so by accident."""
    return value + 0.00137 * np.arange(value.size, dtype=value.dtype).reshape(value.shape)


def definite(value, size=2):
    """A symmetric positive definite matrix with eigenvalues from 2 to 2 + size^2."""
    square = fit(value, (size, size), value.dtype)
    return square @ square.T + 2.0 * jnp.eye(size, dtype=value.dtype)


@jax.custom_jvp
def own_jvp(a):
    return jnp.sin(a) * a


@own_jvp.defjvp
def _own_jvp(primals, tangents):  # on purpose not the derivative: a lost rule shows
    (a,), (da,) = primals, tangents
    return own_jvp(a), 0.5 * jnp.cos(a) * da


@jax.custom_vjp
def clip_gradient(a):
    return a


clip_gradient.defvjp(lambda a: (a, None), lambda _, grad: (0.3 * jnp.tanh(grad),))

STRUCTURES: dict[str, Callable[[list], Any]] = {
    "as_tuple": tuple,
    "as_list": list,
    "as_dict": lambda leaves: {f"k{n}": leaf for n, leaf in enumerate(leaves)},
    "as_nested": lambda leaves: ({"head": leaves[:1]}, (), {"rest": tuple(leaves[1:]), "none": None}),
}
NAMES = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "cast": cast, "fit": fit, "cut": cut, "spread": spread}
NAMES |= {"definite": definite, "own_jvp": own_jvp, "clip_gradient": clip_gradient} | STRUCTURES

# The operations ---------------------------------------------------------------------------------------------------

OPERATIONS = {
    "arithmetic": """
        0.5 * ({f} + {g})
        {f} * {g}
        0.5 * ({f} - {g})
        {f} / (2.0 + {g})
        -{f}
        1.0 - {f} * {f}
        lax.abs({f} + 0.0371)
        lax.sign({f} + 0.0123)
        jnp.maximum({f}, {g} + 0.0123)
        jnp.minimum({f} + 0.0123, {g})
        lax.clamp({f}.dtype.type(-0.3111), {f}, {f}.dtype.type(0.4333))
        jnp.clip({f}, -0.3111, {g} + 0.4333)
        lax.integer_pow({f}, 3)
        lax.integer_pow({f} + 2.0, -2)
        0.3 * ({f} + 2.0) ** {g}
        0.3 * ({f} + 2.0) ** 1.5
        lax.square({f})
        lax.sqrt({f} + 1.5) - 1.0
        0.5 * lax.rsqrt({f} + 1.5)
        lax.cbrt({f} + 2.5) - 1.0
        lax.rem({f} + 0.0371, {f}.dtype.type(0.7331))
        jnp.remainder({f} + 0.0371, 0.7331)
        lax.floor(1.7 * {f} + 0.0371) / 2.0
        lax.ceil(1.7 * {f} + 0.0371) / 2.0
        lax.round(1.7 * {f} + 0.0371) / 2.0
        jnp.round(1.7 * {f} + 0.0371) / 2.0
        jnp.trunc(1.7 * {f} + 0.0371) / 2.0
        jnp.copysign({f} + 2.0, {g} + 0.0123) / 3.0
        jnp.reciprocal({f} + 2.0)
        lax.stop_gradient({f})
        lax.nextafter(lax.stop_gradient({f}), lax.stop_gradient({g}))
        lax.reduce_precision({f}, 11, 52)
        """,
    "transcendental": """
        jnp.sin({f})
        jnp.cos({f})
        0.5 * jnp.tan({f})
        0.6 * jnp.arcsin(0.7 * {f})
        0.6 * jnp.arccos(0.7 * {f}) - 1.0
        jnp.arctan({f})
        0.3 * jnp.arctan2({f}, {g} + 2.0)
        0.3 * jnp.arctan2({f} - 2.0, {g} - 2.0)
        0.8 * jnp.sinh({f})
        jnp.cosh({f}) - 1.0
        jnp.tanh(2.0 * {f})
        jnp.arcsinh({f})
        jnp.arccosh({f} + 3.0) - 1.0
        0.5 * jnp.arctanh(0.7 * {f})
        jnp.exp({f} - 1.0)
        lax.exp2({f}) - 1.0
        jnp.log({f} + 2.5)
        jnp.log1p(0.5 * {f})
        0.5 * jnp.expm1({f})
        jnp.log2({f} + 2.5) - 0.5
        lax.logistic(2.0 * {f})
        lax.erf({f})
        lax.erfc({f}) - 1.0
        jnp.sinc({f} + 2.0)
        jnp.hypot({f} + 2.0, {g}) / 3.0
        """,
    "logic": """
        {f} > {g} + 0.0123
        {f} <= {g} + 0.0123
        {f} == {g}
        {f} != {g}
        {i} < {j}
        {i} >= {j}
        {i} == {j}
        jnp.isfinite({f})
        {p} & {q}
        {p} | {q}
        {p} ^ {q}
        ~{p}
        jnp.where({f} > 0.0123, {f}, 0.3 * {g})
        jnp.where({p}, fit({f}, {p}.shape, {f}.dtype), 0.25)
        jnp.where({p}, {q}, ~{q})
        lax.select_n(fit({k} % 3, {f}.shape, jnp.int32), {f}, {g}, 0.5 * {f})
        jnp.select([{f} > 0.5123, {f} > 0.0123], [{f}, {g}], 0.125)
        jnp.any({p})
        jnp.all({p})
        jnp.where({p}, 1.0, -1.0)
        """,
    "integer": """
        {i} + {j}
        {i} - {j}
        {i} * {j}
        -{i}
        {i} // ({j} * 2 + 1)
        {i} % ({j} * 2 + 1)
        lax.div({i}, {j} | 1)
        lax.rem({i}, {j} | 1)
        {i} & {j}
        {i} | {j}
        {i} ^ {j}
        ~{i}
        {i} << 2
        {i} >> 1
        lax.shift_right_logical({i}, {i}.dtype.type(1))
        lax.shift_right_arithmetic({i}, {i}.dtype.type(2))
        lax.population_count({i})
        lax.clz({i})
        lax.integer_pow({i}, 3)
        jnp.sign({i})
        jnp.abs({i})
        jnp.maximum({i}, {j})
        jnp.clip({i}, 1, 4)
        jnp.sum({i})
        jnp.prod({i})
        jnp.max({u}, axis=0)
        jnp.argmin({u})
        jnp.sort({u})
        jnp.cumsum({u}, axis=-1)
        jnp.inner({u}, {u})
        """,
    "conversion": """
        cast({f}, jnp.int32)
        cast({f}, jnp.uint8)
        cast({f}, bool)
        cast({i}, jnp.float32)
        cast({i}, jnp.float64)
        {i}.astype(jnp.int8)
        {i}.astype(jnp.uint32)
        {i}.astype(jnp.int64)
        {i}.astype(bool)
        {p}.astype(jnp.int32)
        {p}.astype(jnp.float32)
        jnp.sum({p})
        {f}.astype(jnp.float64)
        jnp.zeros_like({f})
        jnp.full({f}.shape, 0.25, {f}.dtype)
        lax.bitcast_convert_type({i}.astype(jnp.uint32), jnp.int32)
        """,
    "products": """
        jnp.tanh({v} @ {w})
        jnp.tanh({m} @ {n}.T)
        jnp.tanh({m} @ {m}[0])
        0.2 * jnp.einsum("ij,kj->ik", {m}, {n})
        0.2 * jnp.einsum("ij,ij->j", {m}, {n})
        0.2 * jnp.einsum("bij,bkj->bik", {t}, {t})
        0.2 * jnp.matmul({t}, jnp.swapaxes({t}, 1, 2))
        0.2 * lax.dot_general({t}, {t}, (((2,), (2,)), ((0,), (0,))))
        0.2 * lax.dot_general({m}, {n}, (((), ()), ((), ())))
        jnp.outer({v}, {w})
        0.5 * jnp.cross(fit({f}, (3,), {f}.dtype), fit({g}, (3,), {f}.dtype))
        0.2 * jnp.kron({m}, {n})
        0.2 * jnp.tensordot({m}, {n}, axes=((0,), (0,)))
        0.1 * jnp.convolve({v}, {w})
        0.2 * jnp.trace({m})
        """,
    "linear algebra": """
        jnp.linalg.norm({f} + 1.5) / 16.0
        0.5 * jnp.linalg.cholesky(definite({f}))
        0.5 * jnp.linalg.cholesky(definite({f}, 3))
        jax.scipy.linalg.solve_triangular(definite({f}), fit({g}, (2,), {f}.dtype), lower=True)
        jax.scipy.linalg.solve_triangular(definite({f}, 3), fit({g}, (3, 2), {f}.dtype), trans=1)
        jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(definite({f})), True), fit({g}, (2,), {f}.dtype))
        jnp.linalg.norm({m} + 1.5, axis=-1) / 8.0
        """,
    "reductions": """
        jnp.tanh(jnp.sum({f}))
        jnp.tanh(jnp.sum({a}, axis=0))
        jnp.tanh(jnp.sum({m}, axis=1, keepdims=True))
        jnp.mean({a}, axis=-1)
        jnp.tanh(jnp.prod(1.0 - 0.3 * {f}))
        jnp.prod(1.0 - 0.3 * {a}, axis=0) / 16.0
        jnp.max(spread({a}))
        jnp.max(spread({a}), axis=-1)
        jnp.min(spread({a}), axis=0)
        jnp.argmax(spread({a}))
        jnp.argmin(spread({a}), axis=0)
        jnp.tanh(jnp.cumsum({a}, axis=0))
        lax.cumsum(0.3 * {a}, axis=0, reverse=True)
        jnp.cumprod({a}, axis=-1)
        lax.cummax(spread({a}), axis=0)
        lax.cummin(spread({a}), axis=0, reverse=True)
        0.3 * lax.cumlogsumexp({a}, axis=0)
        0.3 * jax.nn.logsumexp({a})
        jnp.var({a})
        jnp.sort(spread({a}), axis=0)
        jnp.sort(spread({a}), axis=-1, descending=True)
        jnp.argsort(spread({v}))
        lax.sort((spread({v}), {w}), num_keys=1)[1]
        0.5 * jnp.diff({a}, axis=0)
        jnp.median(spread({v}))
        """,
    "shapes": """
        {f}.ravel()
        {f}.reshape((-1,) + {f}.shape[:0]) if {f}.size else {f}
        {f}.T
        jnp.swapaxes({m}, 0, 1)
        jnp.moveaxis({t}, 0, -1)
        jnp.broadcast_to({s}, (2, 3))
        jnp.broadcast_to({f}, (2,) + {f}.shape)
        {f}[None]
        jnp.expand_dims({f}, -1)
        jnp.squeeze({f}[None], 0)
        {a}[0]
        {a}[-1]
        {a}[1:]
        {a}[:-1]
        {a}[::2]
        {a}[::-1]
        {a}[..., -1]
        {a}[..., :0]
        {m}[:, ::-1]
        {m}[0, 1:]
        jnp.concatenate([{a}, {b}])
        jnp.concatenate([{a}, 0.5 * {b}], axis=-1)
        jnp.stack([{f}, {g}])
        jnp.stack([{f}, {g}], axis=-1)
        jnp.hstack([{v}, {w}, {v}])
        lax.pad({v}, {v}.dtype.type(0.125), [(1, 2, 0)])
        lax.pad({v}, {v}.dtype.type(0), [(-1, 1, 0)])
        lax.pad({m}, {m}.dtype.type(0.5), [(0, 0, 1), (1, -1, 2)])
        jnp.pad({a}, 1)
        jnp.pad({a}, 1, mode="edge")
        lax.rev({a}, (0,))
        jnp.flip({a}, axis=-1)
        jnp.roll({f}, 1)
        jnp.roll({a}, -1, axis=0)
        jnp.split({a}, [1])[1]
        jnp.array_split({v}, 2)[0]
        jnp.tile({f}, 2)
        jnp.repeat({a}, 2, axis=0)
        jnp.diag({v})
        jnp.diag({m})
        jnp.triu({m})
        jnp.tril({m}, -1)
        jnp.linspace(-0.5, 0.5, 3, dtype={f}.dtype)
        jnp.arange({f}.size).astype({f}.dtype) / 64.0
        lax.iota(jnp.int32, 3)
        0.5 * jnp.eye(2, 3, dtype={f}.dtype)
        lax.broadcasted_iota(jnp.int32, (2, 3), 1)
        jnp.block([[{m}, {n}], [{n}, {m}]])
        """,
    "indexing": """
        {a}.at[0].set(0.25)
        {a}.at[-1].add(0.125)
        {a}.at[0].multiply(0.5)
        {a}.at[::2].set(0.125)
        {a}.at[..., 0].min(0.0371)
        {a}.at[np.array([0, -1])].add(0.125)
        {m}.at[0, -1].set({s}.astype({m}.dtype))
        {a}[np.array([0, -1, 0])]
        {m}[np.array([0, -1]), np.array([-1, 0])]
        {m}[:, np.array([0, 0, -1])]
        jnp.take({a}, np.array([0, 9]), axis=0, mode="clip")
        {a}[{k}]
        {a}[{k} % 2]
        {m}[{k}, {k} + 1]
        {a}[fit({i}, (3,), jnp.int32)]
        lax.dynamic_index_in_dim({a}, {k}, 0, keepdims=False)
        lax.dynamic_index_in_dim({a}, {k} * 5, -1)
        lax.dynamic_slice({v}, ({k},), (1,))
        lax.dynamic_slice_in_dim({a}, {k} - 2, 1, axis=0)
        lax.dynamic_update_index_in_dim({a}, 0.5 * {b}[0], {k}, 0)
        lax.dynamic_update_slice({m}, {n}[:1, :1], ({k}, {k} + 1))
        {a}.at[{k}].set(0.125)
        {v}.at[jnp.argsort(-{v})].set(0.5 * {v})
        {v}.at[fit({i}, (3,), jnp.int32)].add(0.25)
        jnp.interp({s}, jnp.array([0.0, 0.5, 1.0], {s}.dtype), jnp.array([0.0, 0.7, 0.2], {s}.dtype))
        jnp.searchsorted(jnp.array([0.0, 0.5, 1.0], {s}.dtype), {s}).astype({s}.dtype)
        jnp.diag({m} @ {m}.T)
        {a}.at[{k}].add({b}[0])
        {v}.at[fit({i}, (3,), jnp.int32)].add(0.0625)
        {a}.at[{k}].get(mode="fill", fill_value=0.25)
        jnp.take_along_axis({a}, jnp.argsort(spread({a}), axis=-1), axis=-1)
        jax.nn.one_hot({k} % 4, 4, dtype={f}.dtype)
        jax.ops.segment_sum(0.3 * {v}, jnp.zeros({v}.shape, jnp.int32), num_segments=2)
        0.5 * jnp.interp({s}, np.linspace(-1.1, 1.1, 4).astype({s}.dtype), fit({f}, (4,), {s}.dtype))
        """,
    "control": """
        lax.cond({s} > 0.0123, jnp.sin, jnp.cos, {f})
        lax.cond({s} > 0.0123, lambda: {f} * {g}, lambda: 0.5 * {f})
        lax.cond(jnp.all({p}), lambda n: n + 1, lambda n: n * 2, {i})
        lax.cond({s} > 0.0123, lambda a: jnp.sum(a), lambda a: lax.cond(jnp.any({p}), jnp.sum, jnp.prod, a), {f}) / 64.0
        lax.switch({k}, [jnp.sin, jnp.cos, lambda a: a * a], {f})
        lax.switch({k} % 3, [lambda: {f}, lambda: -{g}, lambda: {f} * {g}])
        lax.scan(lambda c, _: (0.5 * c + 0.3 * jnp.sin(c), c), {f}, None, length=3)[0]
        lax.scan(lambda c, _: (0.5 * c + 0.3 * jnp.sin(c), c), {f}, None, length=3)[1]
        lax.scan(lambda c, a: (jnp.sin(c + a), None), {s}, {v}.astype({s}.dtype), reverse=True)[0]
        lax.map(lambda r: r * {s}.astype(r.dtype), {a})
        lax.fori_loop(0, 3, lambda n, c: jnp.sin(c + n.astype(c.dtype)), {f})
        lax.fori_loop(0, 4, lambda n, c: (c[1], 0.5 * (c[0] + c[1])), ({f}, {g}))[0]
        lax.associative_scan(jnp.multiply, {a})
        """,
    "transformed": """
        jax.jit(lambda a, b: jnp.tanh(a - b))({f}, {g})
        jax.checkpoint(lambda a: jnp.sin(jnp.cos(a)))({f})
        jax.vmap(lambda r: jnp.sin(jnp.sum(r)))({a})
        jax.vmap(jnp.dot, in_axes=(0, None))({m}, {m}[0]) / 4.0
        jax.vmap(lambda r: lax.cond(r > 0.0123, jnp.sin, jnp.cos, r))({v})
        jnp.vectorize(lambda r: 0.2 * jnp.sum(r * r), signature="(n)->()")({m})
        0.5 * jax.grad(lambda a: jnp.sum(jnp.sin(a) * a))({f})
        0.5 * jax.value_and_grad(lambda a: jnp.sum(jnp.sin(a) / 16.0))({f})[0]
        jax.jvp(jnp.sin, ({f},), ({g},))[1]
        jax.vjp(jnp.sin, {f})[1]({g})[0]
        0.5 * jax.jacfwd(jnp.sin)({v})
        0.5 * jax.jacrev(lambda a: a[0] * a)({v})
        0.5 * jax.grad(lambda a: lax.scan(lambda c, _: (jnp.sin(c), None), a, None, length=2)[0])({s})
        jax.nn.relu({f} + 0.0123)
        0.5 * jax.nn.softplus({f})
        0.5 * jnp.logaddexp({f}, {g})
        jax.nn.softmax({a})
        jax.nn.sigmoid({f})
        jax.nn.gelu({f})
        jax.nn.leaky_relu({f} + 0.0123)
        own_jvp({f})
        jax.linearize(jnp.sin, {f})[1]({g})
        """,
    "custom vjp": """
        clip_gradient({f})
        clip_gradient({f} * {g})
        """,
    "data-dependent": """
        lax.while_loop(lambda c: jnp.sum(c * c) > 0.3, lambda c: 0.7 * c, {f})
        lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1])), ({k} % 4, {f}))[1]
        """,
    "large": """
        jnp.linalg.solve(definite({f}), fit({g}, (2,), {f}.dtype))
        jnp.linalg.solve(definite({f}, 3), fit({g}, (3, 1), {f}.dtype))
        0.5 * jnp.linalg.inv(definite({f}))
        jnp.linalg.det(definite({f})) / 64.0
        0.2 * jnp.linalg.slogdet(definite({f}))[1]
        0.1 * jnp.linalg.eigvalsh(definite({f}) + np.diag(np.array([0, 7], {f}.dtype)))
        0.2 * jnp.real(jnp.fft.rfft({v}))
        lax.top_k(spread({v}), 1)[0]
        0.3 * jax.scipy.special.gammaln({f} + 3.0)
        """,
}
NO_FORWARD_MODE = ("custom vjp",)
NO_REVERSE_MODE = ("data-dependent",)
MAY_FALL_BACK = ("data-dependent", "large")
FUSIBLE = tuple(name for name in OPERATIONS if name not in (*NO_FORWARD_MODE, *MAY_FALL_BACK))


def templates(family: str) -> list[str]:
    return [line.strip() for line in OPERATIONS[family].strip().splitlines()]


# From templates to programs ---------------------------------------------------------------------------------------


class Leaf(NamedTuple):
    """The type of one array."""

    shape: tuple[int, ...]
    dtype: Any

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        match np.dtype(self.dtype).kind:
            case "f":
                return np.asarray(rng.uniform(-1, 1, self.shape), self.dtype)
            case "b":
                return rng.integers(0, 2, self.shape) == 1
            case "u":
                return np.asarray(rng.integers(0, 9, self.shape), self.dtype)
            case _:
                return np.asarray(rng.integers(-5, 9, self.shape), self.dtype)

    def __str__(self) -> str:
        return f"{np.dtype(self.dtype).name}[{', '.join(map(str, self.shape))}]"


HOLES: dict[str, tuple[str, Callable[[tuple[int, ...]], bool], tuple[int, ...]]] = {
    # letter: (kinds of dtype, the shapes that fit, a shape that does)
    "f": ("f", lambda shape: True, ()),
    "a": ("f", lambda shape: len(shape) > 0 and 0 not in shape, (3,)),
    "v": ("f", lambda shape: len(shape) == 1 and 0 not in shape, (3,)),
    "m": ("f", lambda shape: len(shape) == 2 and 0 not in shape, (2, 3)),
    "t": ("f", lambda shape: len(shape) == 3 and 0 not in shape, (2, 2, 3)),
    "s": ("f", lambda shape: shape == (), ()),
    "i": ("iu", lambda shape: True, ()),
    "u": ("iu", lambda shape: len(shape) > 0 and 0 not in shape, (3,)),
    "k": ("i", lambda shape: shape == (), ()),
    "p": ("b", lambda shape: True, ()),
}
TWINS = {"g": "f", "b": "a", "w": "v", "n": "m", "j": "i", "q": "p"}
Choose = Callable[[list], Any]  # one of these: a draw, or a table's next


def fill(template: str, pool: dict[str, Leaf], dtype: Any, choose: Choose) -> str:
    """The template with a value of the pool in each hole."""
    holes = dict.fromkeys(name for _, name, _, _ in string.Formatter().parse(template) if name)
    chosen: dict[str, str] = {}
    for hole in sorted(holes, key=lambda name: name in TWINS):
        if hole in TWINS:
            like = pool.get(chosen[TWINS[hole]])
            twins = [name for name in reversed(pool) if pool[name] == like]
            chosen[hole] = choose(twins) if twins else chosen[TWINS[hole]]
        else:
            kinds, fits, shape = HOLES[hole]
            made = {"f": np.dtype(dtype).name, "b": "bool"}.get(kinds, "int32")
            found = [n for n in reversed(pool) if np.dtype(pool[n].dtype).kind in kinds and fits(pool[n].shape)]
            chosen[hole] = choose([*found, f'fit({choose(list(reversed(pool)))}, {shape}, "{made}")'])
    return template.format(**chosen)


def evaluate(expression: str, pool: dict[str, Leaf]) -> Leaf:
    """The type of an expression over the pool."""
    function = eval(f"lambda {', '.join(pool)}: {expression}", NAMES)
    out = jax.eval_shape(function, *(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in pool.values()))
    return Leaf(out.shape, out.dtype)


@dataclass(frozen=True, repr=False)
class Program:
    """A step function, and the types of what it starts from."""

    closed_over: tuple[Leaf, ...]
    carry: tuple[Leaf, ...]
    xs: tuple[Leaf, ...]
    structure: str
    lines: tuple[str, ...]
    length: int
    dtype: Any

    @property
    def source(self) -> str:
        def assign(prefix: str, leaves: tuple, value: str) -> list[str]:
            names = ", ".join(f"{prefix}{n}" for n in range(len(leaves)))
            return [f"[{names}] = {value}"] if leaves else []

        inputs = [*assign("s", self.carry, "jax.tree.leaves(carry)"), *assign("x", self.xs, "x")]
        outer = ", ".join(f"c{n}" for n in range(len(self.closed_over)))
        body = "\n".join(f"        {line}" for line in (*inputs, *self.lines))
        return f"def make({outer}):\n    def step(carry, x):\n{body}\n    return step\n"

    def arguments(self, batched: Callable[[Leaf], Leaf] = lambda leaf: leaf) -> tuple[tuple, tuple, tuple]:
        """Closed-over arrays, start and xs, each as a tuple of leaves; `batched` may add axes to them."""
        rng = np.random.default_rng(7)
        stacked = [Leaf((self.length, *leaf.shape), leaf.dtype) for leaf in self.xs]

        def sampled(leaves: Iterable[Leaf]) -> tuple:
            return tuple(jnp.asarray(batched(leaf).sample(rng)) for leaf in leaves)

        return sampled(self.closed_over), sampled(self.carry), sampled(stacked)

    def run(self, scan: Callable, closed_over: tuple, carry: tuple, xs: tuple) -> Any:
        names = dict(NAMES)
        exec(compile(self.source, "<random step>", "exec"), names)
        init = STRUCTURES[self.structure](list(carry))
        return scan(names["make"](*closed_over), init, xs if self.xs else None, length=self.length)

    def __repr__(self) -> str:
        types = [("c", self.closed_over), ("s", self.carry), ("x", self.xs)]
        named = ", ".join(f"{letter}{n}: {leaf}" for letter, leaves in types for n, leaf in enumerate(leaves))
        return f"\n# {named}\n# carry {self.structure}, {self.length} steps\n{self.source}"


def write_program(
    choose: Choose,
    operations: list[str],
    closed_over: tuple[Leaf, ...],
    carry: tuple[Leaf, ...],
    xs: tuple[Leaf, ...],
    structure: str,
    length: int,
    outputs: int | None,
    dtype: Any,
) -> Program:
    """One line for each template, then the new carry and `outputs` values as y (0: y is None; None: every line)."""
    groups = (("s", carry), ("x", xs), ("c", closed_over))
    pool = {f"{letter}{n}": leaf for letter, leaves in groups for n, leaf in enumerate(leaves)}
    lines = []
    for template in operations:
        expression = fill(template, pool, dtype, choose)
        leaf = evaluate(expression, pool)
        if len(leaf.shape) > 3 or any(size > 4 for size in leaf.shape):
            expression = f"cut({expression})"
            leaf = evaluate(expression, pool)
        name = f"v{len(lines)}"
        lines.append(f"{name} = {expression}")
        pool[name] = leaf
    names = list(reversed(pool))
    after = [f'fit({choose(names)}, {leaf.shape}, "{np.dtype(leaf.dtype).name}")' for leaf in carry]
    chosen = [f"v{n}" for n in range(len(lines))] if outputs is None else [choose(names) for _ in range(outputs)]
    ys = f"[{', '.join(chosen)}]" if chosen else None
    lines.append(f"return {structure}([{', '.join(after)}]), {ys}")
    return Program(closed_over, carry, xs, structure, tuple(lines), length, dtype)


# Strategies -------------------------------------------------------------------------------------------------------

SHAPES = [(), (2,), (3,), (1,), (4,), (2, 3), (3, 3), (1, 4), (2, 2, 3), (0,), (2, 0), (1, 2, 1)]
INTEGERS = [np.int32, np.bool_, np.int64, np.uint8, np.int8, np.uint32]


@st.composite
def programs(draw, dtype: Any = np.float64, families=FUSIBLE, max_lines=10) -> Program:
    """Programs whose floats are of `dtype`, made of operations of `families`."""
    widening = "float64" if dtype is np.float32 else "float32"
    operations = [t for family in families for t in templates(family) if f"astype(jnp.{widening})" not in t]
    operations = [t for t in operations if dtype is np.float32 or "jnp.float32" not in t]

    def leaf(dtypes: list) -> Leaf:
        return Leaf(draw(st.sampled_from(SHAPES)), draw(st.sampled_from(dtypes)))

    def leaves(most: int) -> tuple[Leaf, ...]:
        return tuple(leaf([dtype, dtype, *INTEGERS]) for _ in range(draw(st.integers(0, most))))

    return write_program(
        choose=lambda options: draw(st.sampled_from(options)),
        operations=draw(st.lists(st.sampled_from(operations), min_size=1, max_size=max_lines)),
        closed_over=leaves(2),
        carry=(leaf([dtype]), *leaves(2)),
        xs=leaves(2),
        structure=draw(st.sampled_from(list(STRUCTURES))),
        length=draw(st.integers(1, 5)),
        outputs=draw(st.integers(0, 3)),
        dtype=dtype,
    )


def program_of(operations: list[str], dtype: Any = np.float64, seed: int = 0) -> Program:
    """A program with these operations and no other choice: each works on the types it needs."""
    rng = np.random.default_rng(seed)
    return write_program(
        choose=lambda options: options[rng.integers(len(options))],
        operations=operations,
        closed_over=(Leaf((2, 3), dtype), Leaf((3,), np.int32)),
        carry=(Leaf((2, 2, 3), dtype), Leaf((3,), dtype), Leaf((3,), np.bool_)),
        xs=(Leaf((), dtype), Leaf((), np.int32)),
        structure="as_nested",
        length=4,
        outputs=None,
        dtype=dtype,
    )


class Level(NamedTuple):
    """One `vmap`: for each leaf the axis that is mapped, or None."""

    size: int
    in_axes: tuple[int | None, ...]
    out_axis: int


@st.composite
def nested(draw, dtype: Any = np.float64, families=FUSIBLE) -> tuple[Program, tuple[Level, ...]]:
    """A program and the vmaps around it, the innermost first."""
    program = draw(programs(dtype, families, max_lines=6))
    shapes = [leaf.shape for leaf in (*program.closed_over, *program.carry)]
    ranks = [len(shape) for shape in shapes] + [len(leaf.shape) + 1 for leaf in program.xs]
    levels = []
    for _ in range(draw(st.integers(1, 3))):
        axes = [draw(st.none() | st.integers(0, rank)) for rank in ranks]
        if all(axis is None for axis in axes):
            axes[draw(st.integers(0, len(axes) - 1))] = 0
        ranks = [rank + (axis is not None) for rank, axis in zip(ranks, axes, strict=True)]
        size = draw(st.sampled_from([2, 1, 3, 5] if levels else [3, 1, 17]))
        levels.append(Level(size, tuple(axes), draw(st.sampled_from([0, -1]))))
    return program, tuple(levels)


# Comparison -------------------------------------------------------------------------------------------------------

QUICK_TO_COMPILE = {"xla_backend_optimization_level": 0}
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 1e-2, "bfloat16": 5e-2, "complex128": 1e-12}


def distance(actual: Any, expected: Any) -> float:
    """The largest difference, relative to the largest number of the leaf (a hundredth of the tree's, if that is more).

    What is not a float must be equal, and so must be structure, shapes, types and the places of NaN and infinities.
    """
    leaves, tree = jax.tree.flatten(expected)
    others, other_tree = jax.tree.flatten(actual)
    assert other_tree == tree
    types = [jax.typeof(leaf) for leaf in leaves]  # lax.scan may give back a Python number that it was given
    for aval, wanted in zip(map(jax.typeof, others), types, strict=True):
        assert (aval.shape, aval.dtype, aval.weak_type) == (wanted.shape, wanted.dtype, wanted.weak_type)
    scales = [largest(leaf) for leaf in leaves]
    worst = 0.0
    for one, two, aval, scale in zip(others, leaves, types, scales, strict=True):
        if not jnp.issubdtype(aval.dtype, jnp.inexact):
            one, two = (jax.random.key_data(a) if is_key(aval) else a for a in (one, two))
            np.testing.assert_array_equal(one, two)
            continue
        wide = np.complex128 if jnp.issubdtype(aval.dtype, jnp.complexfloating) else np.float64
        one, two = np.asarray(one).astype(wide), np.asarray(two).astype(wide)
        finite = np.isfinite(two)
        np.testing.assert_array_equal(one[~finite], two[~finite])
        error = np.abs(one[finite] - two[finite])
        assert np.all(np.isfinite(error)), f"finite with lax.scan, but not here: {one} {two}"
        worst = max(worst, np.max(error, initial=0) / (max(scale, 0.01 * max(scales)) or 1.0))
    return float(worst)


def is_key(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jax.dtypes.prng_key)


def largest(leaf: Any) -> float:
    """The largest finite float of a leaf, in size."""
    if not jnp.issubdtype(jax.typeof(leaf).dtype, jnp.inexact):
        return 0.0
    size = np.abs(np.asarray(leaf))
    return float(np.max(size, where=np.isfinite(size), initial=0))


def agree(actual: Any, expected: Any, tolerance: float | None = None) -> None:
    """The two trees hold the same numbers, to the tolerance of the coarsest dtype in them."""
    dtypes = {jax.typeof(leaf).dtype.name for leaf in jax.tree.leaves(expected)}
    allowed = tolerance or max((TOLERANCE[name] for name in dtypes if name in TOLERANCE), default=0.0)
    worst = distance(actual, expected)
    assert worst <= allowed, f"differ by {worst:.2g} of their scale, {allowed:.2g} is allowed: {actual} {expected}"


@contextmanager
def types_unchecked() -> Iterator[None]:
    """As the user calls: without the check of types that the tests switch on, and that raises first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def reference(function: Callable, *arguments: Any) -> Any:
    """What `function(lax.scan, *arguments)` gives, compiled in little time."""
    return jax.jit(partial(function, lax.scan), compiler_options=QUICK_TO_COMPILE)(*arguments)


def same(function: Callable, *arguments: Any, tolerance: float | None = None) -> None:
    """`function(scan, *arguments)` agrees for both scans."""
    actual = jax.jit(partial(function, fuse.scan))(*arguments)
    agree(actual, reference(function, *arguments), tolerance)
