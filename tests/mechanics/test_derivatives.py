"""Derivatives by every kind of number in a model against central differences, in float64."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import robot, start
from plausim.mechanics.integrators import step
from plausim.mechanics.model import on_device

from .engine import Engine
from .random_trees import tree

PARTS = ("bodies", "joints", "actuators")
STEPS = 5
# Limits are far away, quaternions in `turn` have no free direction, and what is switched off has no effect.
UNUSED = {"lower", "upper", "limitstiffness", "limitdissipation", "forcelower", "forceupper", "turn", "axis",
          "ctrllower", "ctrlupper"}  # fmt: skip


def moved(model, state, ctrl):
    for _ in range(STEPS):
        state = step(model, state, ctrl)
    return state


def engine():
    found = Engine(tree(11, 6, kinds=("hinge", "slide", "ball", "universal", "fixed")), 11)
    joints = found.model.joints
    rubbing = replace(joints, frictionloss=0.3 + 0 * joints.frictionloss)
    return replace(found.model, joints=rubbing), found.state, found.ctrl


FIELDS = [(part, name) for part in PARTS for name in vars(getattr(engine()[0], part))
          if isinstance(getattr(getattr(engine()[0], part), name), jax.Array) and name not in UNUSED]  # fmt: skip


@pytest.fixture(scope="module")
def case():
    return engine()


@pytest.mark.parametrize("part, name", FIELDS)
def test_by_numbers_of_the_model(case, part, name):
    model, state, ctrl = case
    elements = getattr(model, part)
    numbers = getattr(elements, name)
    weights = jnp.asarray(np.random.default_rng(0).normal(size=state.shape))
    direction = jnp.asarray(np.random.default_rng(1).normal(size=numbers.shape))

    def reached(t):
        changed = replace(elements, **{name: numbers + t * direction})
        return weights @ moved(replace(model, **{part: changed}), state, ctrl)

    compare(reached, 1e-5)


@pytest.mark.parametrize("name", ["gravity", "timestep"])
def test_by_what_is_everywhere(case, name):
    model, state, ctrl = case
    weights = jnp.asarray(np.random.default_rng(0).normal(size=state.shape))
    number = getattr(model, name)
    compare(lambda t: weights @ moved(replace(model, **{name: number * (1 + t)}), state, ctrl), 1e-5)


def compare(function, h):
    """Against the five-point formula, 1e-6 relative."""
    function = jax.jit(function)
    slope = jax.grad(function)(0.0)
    f = {k: function(k * h) for k in (-2, -1, 1, 2)}
    expected = (8 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12 * h)
    assert abs(float(expected)) > 1e-9
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["limitstiffness", "limitdissipation", "lower"])
def test_by_limits_where_they_act(name):
    model = on_device(robot("cartpole"))
    state = jnp.asarray(start(model)).at[0].set(-2.1).at[2].set(-0.3)
    numbers = getattr(model.joints, name)

    def reached(t):
        joints = replace(model.joints, **{name: numbers.at[0].multiply(1 + t)})
        return moved(replace(model, joints=joints), state, jnp.zeros(1))[2]

    compare(reached, 1e-4)
