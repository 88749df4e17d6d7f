"""All particles, recordings and windows are one launch of the kernel, and one more for all of the gradients."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.samplers import csvgd, svgd
from plausim.shooting import multiple, single
from plausim.studies import two_links

KERNEL = re.compile(r'custom_call_target="(plausim[^"]*)"')


def launches(function, *args) -> int:
    """Calls of our kernels in the compiled program."""
    return len(KERNEL.findall(jax.jit(function).lower(*args).compile().as_text() or ""))


@pytest.fixture(scope="module")
def targets():
    recordings = two_links.recorded([np.array([1.5, 2.0]), np.array([2.0, 1.5])], 12)
    system = two_links.pendulum()
    return {
        "single": single(system, recordings, two_links.NOISE),
        "multiple": multiple(system, recordings, two_links.NOISE, windows=4),
    }


@pytest.mark.parametrize("name", ["single", "multiple"])
def test_a_density_of_many_points_is_one_launch(targets, name: str) -> None:
    target = targets[name]
    points = jnp.asarray(target.starts(7))
    assert launches(jax.vmap(target.evaluate), points) == 1
    assert launches(jax.vmap(jax.value_and_grad(lambda p: target.evaluate(p).logdensity)), points) <= 2


@pytest.mark.parametrize("method, name", [(svgd(), "single"), (csvgd(), "single"), (csvgd(), "multiple")])
def test_an_iteration_is_one_launch_forward_and_one_backward(targets, method, name: str) -> None:
    target = targets[name]
    sampler, key = method.make(target, 10), jax.random.key(0)
    state = sampler.init(key, jnp.asarray(target.starts(7)))
    assert 1 <= launches(sampler.step, key, state) <= 2  # 1 where nothing but the gradient of the density is wanted
