"""Any number of lanes: the tail of the last vector, shared operands, and no lane touches another."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from plausim import fuse

from .random_steps import agree, reference, same


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def spring(scan, stiffness, state, pushes):
    def step(state, push):
        place, speed = state
        speed = speed + 0.1 * (push - stiffness * place**3)
        return (place + 0.1 * speed, speed), place * speed

    return scan(step, (state[0], state[1]), pushes)


def loss(scan, stiffness, state, pushes):
    (place, speed), powers = spring(scan, stiffness, state, pushes)
    return place * speed + jnp.sum(powers**2)


def numbers(lanes, dtype):
    rng = np.random.default_rng(lanes)
    shapes = (lanes,), (lanes, 2), (lanes, 6)
    return tuple(jnp.asarray(rng.uniform(0.5, 1.5, shape), dtype) for shape in shapes)


def values_and_gradients(scan, *arguments):
    return jax.vmap(partial(spring, scan))(*arguments), jax.vmap(jax.grad(partial(loss, scan), (0, 1, 2)))(*arguments)


@cache
def all_lanes(dtype):
    """What lax.scan gives for 130 lanes."""
    return reference(values_and_gradients, *numbers(130, dtype))


@pytest.mark.parametrize("lanes", [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 70, 130])
def test_any_number_of_lanes(lanes, dtype):
    arguments = [a[:lanes] for a in numbers(130, dtype)]
    actual = jax.jit(partial(values_and_gradients, fuse.scan))(*arguments)
    agree(actual, jax.tree.map(lambda a: a[:lanes], all_lanes(dtype)))


@pytest.mark.parametrize(("lanes", "shared"), [(1, (0,)), (17, (0, 1)), (70, (1, 2)), (33, (2,)), (70, (0, 2))])
def test_gradient_of_what_all_lanes_share_is_the_sum_over_them(lanes, shared, dtype):
    arguments = [a[0] if n in shared else a for n, a in enumerate(numbers(lanes, dtype))]
    axes = [None if n in shared else 0 for n in range(3)]

    def total(scan, *arguments):
        return jnp.sum(jax.vmap(partial(loss, scan), axes)(*arguments))

    def gradient(scan, *arguments):
        return jax.grad(partial(total, scan), argnums=(0, 1, 2))(*arguments)

    same(gradient, *arguments)


@pytest.mark.parametrize("sizes", [(2, 3), (1, 1, 1), (3, 1, 7), (17, 2)])
def test_nested_lanes(sizes, dtype):
    rng = np.random.default_rng(0)
    stiffness = jnp.asarray(rng.uniform(0.5, 1.5, sizes), dtype)
    state, pushes = [a[0] for a in numbers(1, dtype)[1:]]

    def function(scan, stiffness):
        run = jax.value_and_grad(partial(loss, scan))
        for _ in sizes:
            run = jax.vmap(run, in_axes=(0, None, None), out_axes=-1)
        return run(stiffness, state, pushes)

    same(function, stiffness)


@pytest.mark.parametrize("sizes", [(0,), (0, 3), (3, 0)])
def test_no_lanes(sizes, dtype):
    stiffness = jnp.ones(sizes, dtype)
    state, pushes = [a[0] for a in numbers(1, dtype)[1:]]

    def function(scan, stiffness):
        run, gradient = partial(spring, scan), jax.grad(partial(loss, scan), argnums=(0, 1))
        for _ in sizes:
            run, gradient = (jax.vmap(g, in_axes=(0, None, None)) for g in (run, gradient))
        arguments = stiffness, state, pushes
        shared = jax.grad(lambda *arguments: jnp.sum(run(*arguments)[1]), argnums=(1, 2))(*arguments)
        return run(*arguments), gradient(*arguments), shared

    same(function, stiffness)


@cache
def compiled():
    """One function for all poisons."""
    return jax.jit(partial(values_and_gradients, fuse.scan))


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_a_bad_number_stays_in_its_lane(poison, where, dtype):
    lanes, bad = 19, 16
    clean = numbers(lanes, dtype)
    dirty = list(clean)
    dirty[where] = clean[where].at[(bad, *(0,) * (clean[where].ndim - 1))].set(poison)

    function = compiled()
    others = np.arange(lanes) != bad
    one, two = function(*dirty), function(*clean)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[others], b[others]), one, two)
    (_, powers), (slope, _, _) = one
    if poison != 1e30 or dtype == "float32":
        assert not np.any(np.isfinite(powers[bad, -1]))
        assert not np.any(np.isfinite(slope[bad]))


def test_the_order_of_lanes_does_not_matter(dtype):
    arguments = numbers(37, dtype)
    function = jax.jit(jax.vmap(jax.value_and_grad(partial(loss, fuse.scan), argnums=(0, 1))))
    backwards = jax.tree.map(lambda a: a[::-1], function(*(a[::-1] for a in arguments)))
    agree(backwards, function(*arguments), 1e-6 if dtype == "float32" else 1e-14)


def test_lanes_that_take_different_branches(dtype):
    def run(scan, mode, start):
        def step(c, _):
            c = lax.cond(c > 1.0, lambda c: c - 0.7, lambda c: c + 0.4, c)
            c = lax.switch(mode, [jnp.sin, jnp.cos, lambda c: 0.5 * c], c)
            return c, c > 0.5

        return scan(step, start, None, length=6)

    def function(scan, modes, starts):
        slopes = jax.vmap(jax.grad(lambda start, mode: run(scan, mode, start)[0]))(starts, modes)
        return jax.vmap(partial(run, scan))(modes, starts), slopes

    modes = jnp.arange(-2, 9) % 5 - 1  # out of range clamps
    starts = jnp.linspace(-1.1, 2.3, 11, dtype=dtype)
    same(function, modes, starts)


def test_an_unused_branch_does_not_spoil_the_gradient(dtype):
    """sqrt of a negative number is NaN, and so is its slope; select must not let it through."""

    def run(scan, start):
        def step(c, _):
            return lax.cond(c > 0, jnp.sqrt, lambda c: c + 0.3, c), None

        return scan(step, start, None, length=5)[0]

    starts = jnp.linspace(-2.05, 1.0, 20, dtype=dtype)

    def function(scan):
        return jax.vmap(run, (None, 0))(scan, starts), lax.map(jax.grad(partial(run, scan)), starts)

    same(function)
