"""Steps against MuJoCo's, and the order of convergence against the textbook's."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import robot, simulate
from plausim.mechanics.dynamics import energy
from plausim.mechanics.integrators import INTEGRATORS, step
from plausim.mechanics.model import on_device

from .engine import Engine, far
from .random_trees import tree

SCALARS = ("hinge", "slide", "universal", "three", "fixed")


def rolled(engine: Engine, count: int) -> np.ndarray:
    """The states after each of so many steps of plausim."""
    advance = jax.jit(lambda state: step(engine.model, state, engine.ctrl))
    rows, state = [], engine.state
    for _ in range(count):
        state = advance(state)
        rows.append(np.asarray(state))
    return np.array(rows)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
@pytest.mark.parametrize("seed, joints", [(0, 1), (1, 2), (2, 3), (5, 6)])
def test_steps_are_mujocos(seed, joints, integrator):
    kinds = SCALARS if integrator == "implicitfast" else (*SCALARS, "ball", "free")
    engine = Engine(tree(seed, joints, integrator=integrator, kinds=kinds), seed)
    found = rolled(engine, 20)
    assert far(found, engine.steps(20)) < 1e-8


def test_explicit_damping_is_mujocos_without_eulerdamp():
    text = tree(4, 4).replace('integrator="Euler"/>', 'integrator="Euler"><flag eulerdamp="disable"/></option>')
    engine = Engine(text, 4)
    assert engine.model.integrator == "euler"
    found = rolled(engine, 20)
    assert far(found, engine.steps(20)) < 1e-9


ORDERS = {"euler": 1, "damped": 1, "implicit": 1, "rk4": 4}


@pytest.mark.parametrize("name", INTEGRATORS)
def test_order_of_convergence(name):
    """The error after 1 s of a frictionless double pendulum falls with the step as the order says; so does the energy's."""
    model = robot("double-pendulum")
    model = replace(model, integrator=name, joints=replace(model.joints, damping=np.zeros(2)))
    start = jnp.array([1.0, -0.5, 0.0, 0.0])

    def after(steps: int):
        finer = replace(model, timestep=np.array(1.0 / steps))
        return simulate(finer, start, steps=steps)[-1]

    exact = after(16384) if ORDERS[name] > 1 else simulate(
        replace(model, integrator="rk4", timestep=np.array(1 / 4096)), start, steps=4096
    )[-1]  # fmt: skip
    device = on_device(model)
    held = sum(energy(device, start[:2], start[2:]))
    counts = (200, 400, 800)
    errors, losses = [], []
    for steps in counts:
        state = after(steps)
        errors.append(float(jnp.max(jnp.abs(state - exact))))
        losses.append(abs(float(sum(energy(device, state[:2], state[2:])) - held)))
    for found in (errors, losses):
        orders = np.log2(np.array(found[:-1]) / np.array(found[1:]))
        assert np.all(np.abs(orders - ORDERS[name]) < 0.35), orders


def test_substeps_are_shorter_steps():
    model = robot("cartpole")
    state, push = jnp.array([0.0, 0.3, 0.0, 0.0]), jnp.ones((10, 1))
    coarse = simulate(replace(model, substeps=4), state, push)
    fine = simulate(replace(model, timestep=model.timestep / 4), state, jnp.ones((40, 1)))
    np.testing.assert_allclose(coarse, fine[3::4], rtol=1e-12)


def test_implicit_damping_is_stable_where_explicit_damping_is_not():
    """friction / inertia * step = 20."""
    model = robot("pendulum")
    model = replace(model, joints=replace(model.joints, damping=np.array([1300.0])), timestep=np.array(0.005))
    final = {
        name: float(jnp.max(jnp.abs(simulate(replace(model, integrator=name), [1.0, 1.0], steps=50)[-1])))
        for name in ("euler", "damped")
    }
    assert final["damped"] < 1.1
    assert not final["euler"] < 1e6
