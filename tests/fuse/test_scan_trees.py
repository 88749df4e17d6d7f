"""Every container, every kind of leaf, every number of steps: the meaning of `lax.scan`."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from plausim import fuse

from .random_steps import agree, same, types_unchecked


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


class Body(NamedTuple):
    place: Any
    speed: Any


@jax.tree_util.register_dataclass
@dataclass
class World:
    bodies: list
    clock: Any


@jax.tree_util.register_pytree_node_class
class Model:
    """Static fields beside the arrays, as an equinox module has them."""

    def __init__(self, weight, name):
        self.weight, self.name = weight, name

    def tree_flatten(self):
        return (self.weight,), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        (weight,) = children
        return cls(weight, name)


def test_containers_in_containers(dtype):
    def run(scan, world, model):
        def step(world, push):
            bodies = [Body(b.place + 0.1 * b.speed, b.speed + model.weight * push["left"]) for b in world.bodies]
            return World(bodies, world.clock + 1), {"last": bodies[-1], "nothing": None, "all": (bodies, ())}

        return scan(step, world, {"left": jnp.linspace(0, 1, 4, dtype=dtype), "unused": (jnp.arange(4),)})

    bodies = [Body(jnp.ones(3, dtype), jnp.zeros((), dtype) + n) for n in range(2)]
    world, model = World(bodies, jnp.int32(0)), Model(jnp.asarray(0.3, dtype), "spring")
    same(run, world, model)
    same(lambda scan, model: jax.grad(lambda m: jnp.sum(run(scan, world, m)[1]["last"].place))(model), model)


STEPS = {  # carry, step, xs or length
    "scalar carry": (1.0, lambda c, x: (jnp.sin(c) + x, c), 3),
    "no carry": ((), lambda c, x: (c, jnp.sin(x)), 3),
    "carry is None": (None, lambda c, x: (None, x * x), 3),
    "no carry, no xs": ((), lambda c, x: (c, jnp.ones(2)), None),
    "nothing at all": ((), lambda c, x: (c, None), None),
    "empty containers": ({"a": (), "b": [0.5]}, lambda c, x: (c, ()), 3),
    "empty arrays": (np.zeros((0, 3)), lambda c, x: (jnp.sin(c), c.T), 3),
    "no ys": (0.5, lambda c, x: (c * x, None), 3),
    "carry unchanged": ((0.5, 2.0), lambda c, x: (c, c[0] * x), 3),
    "carry swapped": ((0.5, 2.0), lambda c, x: ((c[1], c[0]), c), 3),
    "carry rotated": ((0.5, 2.0, 7.0), lambda c, x: (c[1:] + c[:1], c[0]), 3),
    "carry overwritten": (0.5, lambda c, x: (x, c), 3),
    "carry made constant": (0.5, lambda c, x: (jnp.full((), 3.0), c), 3),
    "carry part unused": ((0.5, np.ones(2)), lambda c, x: ((jnp.sin(c[0]), c[1]), None), 3),
    "carry part dead": ((0.5, 1.5), lambda c, x: ((jnp.sin(c[0]), jnp.cos(c[1]) * x), c[0]), 3),
    "xs unused": (0.5, lambda c, x: (jnp.sin(c), None), 3),
    "y is x": (0.5, lambda c, x: (c, x), 3),
    "y is x, twice": (0.5, lambda c, x: (c + x, (x, x)), 3),
    "y is the carry before": (0.5, lambda c, x: (jnp.sin(c), c), 3),
    "y is the carry after": (0.5, lambda c, x: (c + x, c + x), 3),
    "y is a constant": (0.5, lambda c, x: (c, (jnp.arange(3), 1.5, True)), 3),
    "y is a number of Python": (0.5, lambda c, x: (c, 2), 3),
    "y does not depend on the carry": (0.5, lambda c, x: (c + 1, jnp.cos(x)), 3),
    "y shapes": (0.5, lambda c, x: (c, (jnp.ones((2, 0)), jnp.full((1, 2, 3), c))), 3),
    "integer counter": (0, lambda c, x: (c + 1, c * 2), 3),
    "int32 counter": (np.int32(0), lambda c, x: (c + np.int32(1), c), 3),
    "bools": (np.array([True, False]), lambda c, x: (~c, c & (x > 0.5)), 3),
    "bytes wrap": (np.uint8(250), lambda c, x: (c + np.uint8(3), c), 9),
    "small integers wrap": (np.int8(100), lambda c, x: (c * np.int8(3), c), 9),
    "large unsigned": (np.uint64(2**63), lambda c, x: (c * np.uint64(3) + np.uint64(1), c), 5),
    "large signed": (np.int64(2**62), lambda c, x: (c * 3 + 1, c), 5),
    "halves": (np.float16(0.5), lambda c, x: (jnp.sin(c), c), 3),
    "bfloat16": (jnp.bfloat16(0.5), lambda c, x: (jnp.sin(c), c), 3),
    "complex": (np.complex128(0.5 + 1j), lambda c, x: (c * c - 0.3, jnp.abs(c)), 3),
    "weak types stay weak": (1.0, lambda c, x: (c * 2.0, c), None),
    "lists of Python numbers": ([1.0, 2], lambda c, x: ([c[0] * 2.0, c[1] + 1], None), None),
    "numpy scalars": (np.float32(0.5), lambda c, x: (c * np.float32(1.5), c), None),
    "pair given as a list": (0.5, lambda c, x: [c + x, c], 3),
    "one step": (0.5, lambda c, x: (jnp.sin(c) + x, c), 1),
    "two steps": (0.5, lambda c, x: (jnp.sin(c) + x, c), 2),
    "no step": ((0.5, np.arange(3)), lambda c, x: ((jnp.sin(c[0]) + x, -c[1]), (c, x)), 0),
    "large constant": (np.ones(50), lambda c, x: (jnp.sin(c) * np.linspace(0, 1, 50), None), 2),
    "matrix product": (np.eye(100) / 10, lambda c, x: (c @ c + x, None), 2),
}


@pytest.mark.parametrize("start, step, length", STEPS.values(), ids=STEPS.keys())
@pytest.mark.filterwarnings("ignore::UserWarning")  # some fall back, and say so
def test_steps(start, step, length):
    """Values outside of jit, and inside it with the gradient wrt what is a float among start and xs."""
    xs = None if length is None else np.linspace(0.1, 0.9, length)
    length = 4 if xs is None else None
    leaves, tree = jax.tree.flatten((start, xs))
    varied = [n for n, leaf in enumerate(leaves) if is_float(jnp.asarray(leaf))]

    def total(scan, floats):
        filled = dict(enumerate(leaves)) | dict(zip(varied, floats, strict=True))
        out = jax.tree.leaves(scan(step, *jax.tree.unflatten(tree, list(filled.values())), length))
        return sum((jnp.sum(jnp.sin(leaf.astype(float))) for leaf in out if is_float(leaf)), jnp.zeros(()))

    def function(scan, floats):
        slopes = jax.grad(partial(total, scan))(floats) if floats else ()
        return scan(step, start, xs, length), slopes

    with types_unchecked():
        agree(fuse.scan(step, start, xs, length), lax.scan(step, start, xs, length))
        same(function, [jnp.asarray(leaves[n], jax.typeof(leaves[n]).dtype) for n in varied])


def is_float(leaf):
    return jnp.issubdtype(jax.typeof(leaf).dtype, jnp.floating)


def test_no_steps_under_vmap_and_grad(dtype):
    def run(scan, start, xs):
        return scan(lambda c, x: (jnp.sin(c) * x, (c, x)), start, xs)

    def function(scan, start, xs):
        slopes = jax.grad(lambda *a: jnp.sum(run(scan, *a)[0]), argnums=(0, 1))(start[0], xs[0])
        return jax.vmap(partial(run, scan))(start, xs), slopes

    same(function, jnp.ones(3, dtype), jnp.ones((3, 0), dtype))


def test_integers_and_bools_beside_floats_that_are_differentiated(dtype):
    def run(scan, start, gains, index, flags):
        def step(carry, flag):
            place, index, seen = carry
            place = jnp.where(flag, jnp.sin(place * gains[index]), 0.9 * place)
            return (place, (index + 1) % 3, seen ^ flag), (index, place)

        return scan(step, (start, index, False), flags)

    def function(scan, start, gains, index, flags):
        (place, pull) = jax.vjp(lambda *a: run(scan, *a), start, gains, index, flags)
        cotangents = jax.tree.map(
            lambda a: jnp.ones_like(a) if a.dtype.kind == "f" else np.zeros(a.shape, jax.dtypes.float0), place
        )
        floats, gain, *none = pull(cotangents)
        assert all(n.dtype == jax.dtypes.float0 for n in none)
        assert [n.shape for n in none] == [index.shape, flags.shape]
        return place, floats, gain

    gains = jnp.asarray([0.5, 0.7, 1.1], dtype)
    same(function, jnp.asarray(0.8, dtype), gains, jnp.int32(1), jnp.array([True, False, True, True, False]))
    flags = jnp.array([True, False])

    def whole(scan, index):
        out, tangents = jax.jvp(
            lambda g, i: run(scan, g[0], g, i, flags), (gains, index), (gains, np.zeros((), jax.dtypes.float0))
        )
        assert tangents[0][1].dtype == jax.dtypes.float0
        return out, tangents[0][0], tangents[1][1]

    same(whole, jnp.int32(1))


def test_integer_inputs_with_allow_int(dtype):
    def run(scan, start, index):
        return scan(lambda c, x: (c * jnp.sin(x.astype(dtype)), None), start, index)[0]

    def function(scan, start, index):
        slope, none = jax.grad(partial(run, scan), argnums=(0, 1), allow_int=True)(start, index)
        assert (none.dtype, none.shape) == (jax.dtypes.float0, index.shape)
        return slope

    same(function, jnp.asarray(0.8, dtype), jnp.arange(1, 5))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_random_numbers_inside_the_step(make, dtype):
    def run(scan, key, start):
        def step(carry, _):
            key, place = carry
            key, now = jax.random.split(key)
            return (key, jnp.sin(place + jax.random.normal(now, (2,), dtype))), jax.random.uniform(now, dtype=dtype)

        (key, place), noise = scan(step, (key, start), None, length=4)
        return jax.random.uniform(key), place, noise

    def function(scan, key, start):
        return run(scan, key, start), jax.grad(lambda s: jnp.sum(run(scan, key, s)[1]))(start)

    same(function, make(0), jnp.ones(2, dtype))
    keys = jax.random.split(make(1), 3)
    same(lambda scan, keys: jax.vmap(lambda k: run(scan, k, jnp.ones(2, dtype)))(keys), keys)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_keys_as_xs(dtype):
    def run(scan, keys):
        return scan(lambda c, key: (c + jax.random.uniform(key, dtype=dtype), c), jnp.zeros((), dtype), keys)

    same(run, jax.random.split(jax.random.key(3), 5))


def test_a_python_number_takes_the_type_that_the_step_returns():
    for start in (0, 0.0):
        arguments = lambda c, x: (c + x, c), start, np.ones(3, "float32")
        agree(fuse.scan(*arguments), lax.scan(*arguments))
        assert fuse.scan(*arguments)[0].dtype == "float32"


def test_weak_type_of_a_mapped_start():
    def run(scan, gains):
        return jax.vmap(lambda g: scan(lambda c, x: (c + g * x, c), 0.0, jnp.ones(3, "float32")))(gains)

    same(run, jnp.arange(3, dtype="float32"))
    assert fuse.scan(lambda c, _: (c * 2.0, c), 1.0, None, length=2)[0].weak_type


def test_length_that_is_not_an_int():
    for length in (np.int64(3), 3.0, jnp.asarray(3)):
        with types_unchecked():
            same(lambda scan, length=length: scan(lambda c, _: (jnp.sin(c), c), 1.0, None, length))


def test_keyword_arguments():
    same(lambda scan: scan(f=lambda c, x: (c + x, c), init=0.0, xs=np.arange(3.0), length=3))


def test_one_function_with_many_types():
    def step(c, x):
        return jnp.sin(c) * x, c

    for dtype, shape in [("float32", ()), ("float64", ()), ("float32", (2,)), ("float64", (2,)), ("float32", ())]:
        same(lambda scan, start: scan(step, start, jnp.ones((3, *start.shape), start.dtype)), jnp.ones(shape, dtype))
