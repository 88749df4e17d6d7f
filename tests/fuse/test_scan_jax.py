"""Under and inside every JAX transformation, `fuse.scan` gives the numbers of `lax.scan`."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxpr_as_fun
from jax.sharding import PartitionSpec

from plausim import fuse

from .random_steps import agree, reference, same


def rollout(scan, parameters, state, torques):
    """A damped pendulum; gives the last angle and speed, and all angles."""

    def step(state, torque):
        angle, speed = state
        pull = torque - parameters["damping"] * speed - 9.81 / parameters["length"] * jnp.sin(angle)
        speed = speed + 0.05 * pull
        return (angle + 0.05 * speed, speed), angle

    return scan(step, state, torques)


def loss(scan, parameters, state, torques):
    (angle, speed), angles = rollout(scan, parameters, state, torques)
    return jnp.sum(angles**2) + angle * speed


def numbers(dtype, lanes=()):
    """Parameters, start and torques, each with these leading axes."""
    rng = np.random.default_rng(3)

    def draw(low, high, *shape):
        return jnp.asarray(rng.uniform(low, high, (*lanes, *shape)), dtype)

    parameters = {"damping": draw(0.1, 0.5), "length": draw(0.5, 2.0)}
    return parameters, (draw(-1, 1), draw(-1, 1)), draw(-1, 1, 9)


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def pull_back(f, *arguments):
    value, pull, angles = jax.vjp(lambda *a: (f(*a), a[2] * 2.0), *arguments, has_aux=True)
    return value, pull(jnp.ones_like(value)), angles


def push_and_pull(f, *arguments):
    value, push = jax.linearize(f, *arguments)
    return value, push(*arguments), jax.linear_transpose(push, *arguments)(value)


def descend(f, parameters, state, torques):
    """Three steps of gradient descent, inside fori_loop."""

    def body(_, parameters):
        return jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, jax.grad(f)(parameters, state, torques))

    return lax.fori_loop(0, 3, body, parameters)


def search(f, parameters, state, torques):
    """Halve the state until the loss is small, inside while_loop."""

    def large(state):
        return f(parameters, state, torques) > 0.3

    return lax.while_loop(large, lambda state: jax.tree.map(lambda s: 0.5 * s, state), state)


def either(f, parameters, state, torques):
    """A branch with and one without a rollout."""
    on = state[0] > 0
    return lax.cond(on, f, lambda *_: jnp.zeros_like(state[0]), parameters, state, torques), lax.switch(
        jnp.argmax(torques) % 2, [lambda: f(parameters, state, torques), lambda: jnp.sum(torques)]
    )


def windows(f, parameters, state, torques):
    """A rollout for each window of three torques, inside an outer scan."""

    def window(total, torques):
        value = f(parameters, (total, state[1]), torques)
        return 0.1 * value, value

    return lax.scan(window, state[0], torques.reshape(3, 3))


def clipped(f, parameters, state, torques):
    """Inside a function with a derivative of its own."""

    @jax.custom_vjp
    def outer(state):
        return f(parameters, state, torques)

    def forward(state):
        return jax.value_and_grad(lambda s: f(parameters, s, torques))(state)

    outer.defvjp(forward, lambda grad, ct: (jax.tree.map(lambda g: jnp.tanh(g) * ct, grad),))
    return jax.value_and_grad(outer)(state)


def sum_of_squares(f):
    return lambda *a: sum(jnp.sum(g * g) for g in jax.tree.leaves(jax.grad(f)(*a)))


ONCE = {
    "value": lambda f, *a: f(*a),
    "grad": lambda f, *a: jax.grad(f)(*a),
    "grad of everything": lambda f, *a: jax.grad(f, argnums=(0, 1, 2))(*a),
    "value_and_grad": lambda f, *a: jax.value_and_grad(f, argnums=2)(*a),
    "jacrev": lambda f, *a: jax.jacrev(f, argnums=1)(*a),
    "jacfwd": lambda f, *a: jax.jacfwd(f, argnums=(0, 1))(*a),
    "jvp": lambda f, *a: jax.jvp(f, a, jax.tree.map(jnp.sin, a)),
    "vjp with aux": pull_back,
    "linearize and transpose": push_and_pull,
    "checkpoint": lambda f, *a: jax.grad(jax.checkpoint(f))(*a),
    "checkpoint, nothing saved": lambda f, *a: jax.grad(
        jax.checkpoint(f, policy=jax.checkpoint_policies.nothing_saveable)
    )(*a),
    "checkpoint, everything saved": lambda f, *a: jax.grad(
        jax.checkpoint(f, policy=jax.checkpoint_policies.everything_saveable)
    )(*a),
    "jit in jit": lambda f, *a: jax.jit(jax.value_and_grad(jax.jit(f)))(*a),
    "custom_vjp": clipped,
    "fori_loop": descend,
    "while_loop": search,
    "cond": either,
    "grad of cond": lambda f, *a: jax.grad(lambda *a: sum(either(f, *a)), argnums=(0, 1))(*a),
    "scan": windows,
    "grad of scan": lambda f, *a: jax.grad(lambda *a: windows(f, *a)[0], argnums=(0, 1, 2))(*a),
    "jvp of scan": lambda f, *a: jax.jvp(partial(windows, f), a, a),
    "evaluated jaxpr": lambda f, *a: jaxpr_as_fun(jax.make_jaxpr(jax.grad(f))(*a))(*jax.tree.leaves(a)),
}
TWICE = {
    "hessian": lambda f, *a: jax.hessian(f)(*a),
    "reverse over forward": lambda f, *a: jax.jacrev(jax.jacfwd(f))(*a),
    "forward over forward": lambda f, *a: jax.jacfwd(jax.jacfwd(f))(*a),
    "reverse over reverse": lambda f, *a: jax.grad(sum_of_squares(f), argnums=(0, 2))(*a),
    "grad inside fori_loop": lambda f, *a: jax.jacfwd(lambda *a: descend(f, *a))(*a),
    "hessian-vector product": lambda f, *a: jax.jvp(jax.grad(f), a, a)[1],
}


def of_loss(transform):
    return lambda scan, *arguments: transform(partial(loss, scan), *arguments)


@pytest.mark.parametrize("transform", ONCE.values(), ids=ONCE.keys())
def test_one_rollout(transform, dtype):
    same(of_loss(transform), *numbers(dtype))


@pytest.mark.parametrize("transform", TWICE.values(), ids=TWICE.keys())
def test_second_derivatives(transform):
    same(of_loss(transform), *numbers("float64"))


@pytest.mark.parametrize("name", ["value", "grad", "jvp", "scan"])
def test_outside_of_jit(name, dtype):
    function, arguments = of_loss(ONCE[name]), numbers(dtype)
    agree(function(fuse.scan, *arguments), reference(function, *arguments))


OF_LANES = {
    "vmap": lambda f, *a: jax.vmap(f)(*a),
    "vmap of grad": lambda f, *a: jax.vmap(jax.grad(f, argnums=(0, 2)))(*a),
    "grad of vmap": lambda f, *a: jax.grad(lambda *a: jnp.sum(jnp.sin(jax.vmap(f)(*a))), argnums=(0, 1, 2))(*a),
    "vmap of hessian": lambda f, *a: jax.vmap(jax.hessian(f))(*a),
    "vmap of jvp": lambda f, *a: jax.vmap(lambda *a: jax.jvp(f, a, a))(*a),
    "vmap of checkpoint": lambda f, *a: jax.vmap(jax.grad(jax.checkpoint(f)))(*a),
    "lax.map": lambda f, *a: lax.map(lambda a: f(*a), a),
    "lax.map in batches": lambda f, *a: lax.map(lambda a: jax.grad(f)(*a), a, batch_size=2),
    "vmap of cond": lambda f, *a: jax.vmap(partial(either, f))(*a),
    "grad of vmap of cond": lambda f, *a: jax.grad(lambda *a: jnp.sum(jax.vmap(partial(either, f))(*a)[0]))(*a),
    "vmap of while_loop": lambda f, *a: jax.vmap(partial(search, f))(*a),
    "vmap of fori_loop": lambda f, *a: jax.vmap(partial(descend, f))(*a),
    "vmap of scan": lambda f, *a: jax.vmap(partial(windows, f))(*a),
    "fori_loop of vmap": lambda f, *a: descend(lambda *a: jnp.sum(jax.vmap(f)(*a)), *a),
    "one parameter for all": lambda f, p, s, u: jax.vmap(f, in_axes=({"damping": None, "length": 0}, 0, None))(
        p | {"damping": p["damping"][0]}, s, u[0]
    ),
    "grad of what all share": lambda f, p, s, u: jax.grad(
        lambda p, u: jnp.sum(jax.vmap(f, in_axes=(None, 0, None))(p, s, u)), argnums=(0, 1)
    )(jax.tree.map(lambda a: a[0], p), u[0]),
    "every pair": lambda f, p, s, u: jax.vmap(jax.vmap(jax.grad(f), (None, 0, None)), (0, None, None))(p, s, u[0]),
    "torques by the last axis": lambda f, p, s, u: jax.vmap(f, in_axes=(0, 0, 1))(p, s, u.T),
    "named axis": lambda f, *a: jax.vmap(lambda *a: lax.pmean(f(*a), "lane"), axis_name="lane")(*a),
}


@pytest.mark.parametrize("transform", OF_LANES.values(), ids=OF_LANES.keys())
def test_lanes(transform):
    same(of_loss(transform), *numbers("float64", lanes=(5,)))


@pytest.mark.parametrize("name", ["vmap of grad", "grad of vmap"])
def test_lanes_outside_of_jit(name, dtype):
    function, arguments = of_loss(OF_LANES[name]), numbers(dtype, lanes=(5,))
    agree(function(fuse.scan, *arguments), reference(function, *arguments))


def mesh_of_all_devices():
    return jax.make_mesh((jax.device_count(),), ("device",), axis_types=(jax.sharding.AxisType.Auto,))


def sharded(scan, parameters, states, torques):
    """Lanes over the devices of a mesh; the gradient of what they share is summed over all of them."""
    mesh = mesh_of_all_devices()
    lanes, shared = PartitionSpec("device"), PartitionSpec()

    @partial(jax.shard_map, mesh=mesh, in_specs=(shared, lanes, lanes), out_specs=(lanes, lanes, shared, shared))
    def run(parameters, states, torques):
        def mean(parameters):
            losses = jax.vmap(partial(loss, scan), (None, 0, 0))(parameters, states, torques)
            return lax.pmean(jnp.mean(losses), "device")

        final, angles = jax.vmap(partial(rollout, scan), (None, 0, 0))(parameters, states, torques)
        value, grad = jax.value_and_grad(mean)(parameters)
        return final, angles, value, grad

    def mean(parameters, states):
        return run(parameters, states, torques)[2]

    return run(parameters, states, torques), jax.grad(mean, argnums=(0, 1))(parameters, states)


def same_when_sharded(dtype):
    parameters, states, torques = numbers(dtype, lanes=(6,))
    arguments = jax.tree.map(lambda p: p[0], parameters), states, torques
    expected = reference(sharded, *arguments)
    agree(jax.jit(partial(sharded, fuse.scan))(*arguments), expected)
    alone = jax.value_and_grad(lambda p: jnp.mean(jax.vmap(partial(loss, lax.scan), (None, 0, 0))(p, states, torques)))
    agree(expected[0][2:], alone(arguments[0]))


def test_shard_map_over_one_device(dtype):
    same_when_sharded(dtype)


def test_shard_map_over_two_devices():
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    script = "from tests.fuse import test_scan_jax as t; t.same_when_sharded('float32'); t.same_when_sharded('float64')"
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu", "PYTHONPATH": path}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | flags, cwd=root, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_lanes_sharded_by_jit(dtype):
    lanes = jax.NamedSharding(mesh_of_all_devices(), PartitionSpec("device"))
    placed = jax.device_put(numbers(dtype, lanes=(4,)), lanes)
    same(lambda scan, *a: jax.vmap(jax.grad(partial(loss, scan)))(*a), *placed)


def test_with_jit_disabled(dtype):
    function = of_loss(ONCE["value_and_grad"])
    expected = reference(function, *numbers(dtype))
    with jax.disable_jit():
        agree(function(fuse.scan, *numbers(dtype)), expected)


def test_types_and_text_without_a_run(dtype):
    def shapes(scan):
        return jax.eval_shape(jax.vmap(partial(rollout, scan)), *numbers(dtype, lanes=(3,)))

    assert shapes(fuse.scan) == shapes(lax.scan)
    jaxpr = jax.make_jaxpr(jax.grad(partial(loss, fuse.scan)))(*numbers(dtype))
    assert [aval.shape for aval in jaxpr.out_avals] == [(), ()]
    assert str(jaxpr)


def test_compiled_ahead_of_time(dtype):
    function, arguments = of_loss(OF_LANES["vmap of grad"]), numbers(dtype, lanes=(5,))
    compiled = jax.jit(partial(function, fuse.scan)).lower(*arguments).compile()
    agree(compiled(*arguments), reference(function, *arguments))


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_donated_buffers(dtype):
    def run(scan, state, torques):
        return rollout(scan, {"damping": 0.1, "length": 1.0}, state, torques)

    expected = reference(run, *numbers(dtype)[1:])
    donating = jax.jit(partial(run, fuse.scan), donate_argnums=(0, 1))
    for _ in range(2):
        agree(donating(*jax.tree.map(jnp.copy, numbers(dtype)[1:])), expected)


def test_linear_in_everything_it_is_given(dtype):
    matrix = jnp.asarray([[0.9, 0.3], [-0.2, 0.8]], dtype)

    def run(scan, state, pushes):
        return scan(lambda c, x: (matrix @ c + x, c[0]), state, pushes)

    arguments = jnp.ones(2, dtype), jnp.ones((4, 2), dtype)

    def transpose(scan):
        out = run(lax.scan, *arguments)
        return jax.linear_transpose(partial(run, scan), *arguments)(out)

    agree(transpose(fuse.scan), transpose(lax.scan))


def test_many_threads_at_once(dtype):
    gradient = of_loss(OF_LANES["vmap of grad"])
    function = jax.jit(partial(gradient, fuse.scan))
    problems = [numbers(dtype, lanes=(lanes,)) for lanes in (3, 17)] * 8
    expected = [reference(gradient, *problem) for problem in problems[:2]] * 8
    with ThreadPoolExecutor(4) as pool:
        for actual, wanted in zip(pool.map(lambda problem: function(*problem), problems), expected, strict=True):
            agree(actual, wanted)


def test_a_long_rollout():
    """20,000 steps: what the adjoint reads is more than what should be kept."""
    parameters, state, _ = numbers("float64", lanes=(3,))
    torques = jnp.sin(0.01 * jnp.arange(20_000.0))

    def function(scan, *arguments):
        return jax.vmap(jax.value_and_grad(partial(loss, scan), argnums=(0, 1)), (0, 0, None))(*arguments)

    same(function, parameters, state, torques, tolerance=1e-10)


def test_new_closures_give_new_results(dtype):
    """Nothing of a closed-over array is remembered from the call before."""
    function = jax.jit(jax.grad(lambda g, scan: scan(make(g), g, None, length=3)[0]), static_argnums=1)

    def make(gain, shift: Any = 0.0):
        return lambda c, _: (jnp.sin(gain * c) + shift, None)

    for gain in (0.5, 0.7, 0.9):
        gain = jnp.asarray(gain, dtype)
        agree(function(gain, fuse.scan), function(gain, lax.scan))
        for shift in (0.0, 0.25, np.asarray(0.5, dtype), jnp.asarray(0.75, dtype)):
            same(lambda scan, g, shift=shift: scan(make(g, shift), g, None, length=3), gain)


def test_a_closed_over_numpy_array_that_changes(dtype):
    offsets = np.array([0.1, 0.2, 0.3], dtype)

    def step(c, _):
        return jnp.sin(c + offsets), None

    for _ in range(3):
        agree(fuse.scan(step, jnp.ones(3, dtype), None, length=4), lax.scan(step, jnp.ones(3, dtype), None, length=4))
        offsets += 0.25


def test_reverse_and_unroll():
    xs = jnp.arange(5.0)

    def run(scan, xs):
        return scan(lambda c, x: (0.9 * c + x, c * x), 1.0, xs, reverse=True, unroll=2)

    same(run, xs)
    same(lambda scan, xs: jax.grad(lambda xs: run(scan, xs)[0])(xs), xs)


def test_linear_transpose():
    def run(f):
        return lambda x: fuse.scan(lambda c, _: (f(c), None), x, None, 3)[0]

    assert jax.linear_transpose(run(lambda c: 2.0 * c), 1.0)(1.0) == (8.0,)
    with pytest.raises(NotImplementedError, match="not linear"):
        jax.linear_transpose(run(jnp.sin), 1.0)(1.0)
