"""The first seam: a model's step with its numbers in doubt, rolled out by one backend or another."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import robot, simulate, start
from plausim.parameters import choose, parameter
from plausim.paths import changed
from plausim.rollout import fused, scanned, step_of

STEPS = 40
DOUBT = {  # of each model, numbers in doubt with other values than its own, and where it starts
    "double-pendulum": {"link2.mass": 0.2, "elbow.damping": 0.004, "link2.pos.z": -0.2, "gravity.z": -9.0},
    "cartpole": {"cart.mass": 1.5, "motor.gear": 1.2, "pole.com.z": 0.4, "timestep": 0.008},
    "panda": {"servo4.kp": 3000.0, "link7.mass": 1.0, "joint2.damping": 2.0, "link6.logcholesky.d1": -1.5},
}


def case(name):
    model, values = robot(name), DOUBT[name]
    chosen = choose(
        model, [parameter(path, min(0.1 * v, 100.0 * v), max(0.1 * v, 100.0 * v)) for path, v in values.items()]
    )
    state = start(model) + np.linspace(0.3, 0.1, len(start(model)))
    controls = np.linspace(-0.5, 0.5, STEPS * len(model.actuators.name)).reshape(STEPS, -1)
    return model, chosen, jnp.array(list(values.values())), jnp.asarray(state), jnp.asarray(controls)


@pytest.mark.filterwarnings("ignore:.* in the model, outside its limits:UserWarning")
@pytest.mark.parametrize("name", [*list(DOUBT)[:2], pytest.param("panda", marks=pytest.mark.slow)])
def test_both_backends_move_the_model_that_has_these_values(name):
    model, chosen, params, state, controls = case(name)
    other = changed(model, dict(zip(chosen.names, params.tolist(), strict=True)))
    expected = simulate(other, state, controls)
    for backend in (fused, scanned):
        states = backend(step_of(chosen))(params, state, controls)
        np.testing.assert_allclose(states, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.filterwarnings("ignore:.* in the model, outside its limits:UserWarning")
@pytest.mark.parametrize("name", ["double-pendulum", "cartpole"])
def test_gradients_by_params_against_central_differences(name):
    _, chosen, params, state, controls = case(name)
    rollout = jax.jit(fused(step_of(chosen)))

    def last(params):
        return jnp.sum(jnp.sin(rollout(params, state, controls)[-1]))

    gradient = jax.grad(last)(params)
    for i, step in enumerate(1e-5 * np.abs(params)):
        apart = jnp.zeros_like(params).at[i].set(step)
        difference = (last(params + apart) - last(params - apart)) / (2 * step)
        np.testing.assert_allclose(gradient[i], difference, rtol=1e-6, atol=1e-9)
