"""Steps against MuJoCo's, and the order of convergence against the textbook's."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import parse, robot, simulate
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
@pytest.mark.parametrize("seed, joints", [(0, 1), (1, 2), (2, 3), pytest.param(5, 6, marks=pytest.mark.slow)])
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
COUNTS = {  # steps, where an order shows: past the first terms, above rounding
    (1, "double pendulum"): (200, 400, 800), (4, "double pendulum"): (800, 1600, 3200),
    (1, "ball joint"): (200, 400, 800), (4, "ball joint"): (50, 100, 200),
}  # fmt: skip
WHIRL = """<mujoco><option gravity="0 0 -9.81"/><worldbody><body><joint type="ball"/>
<inertial pos="0.1 0 -0.3" mass="1" diaginertia="0.1 0.2 0.25"/></body></worldbody></mujoco>"""


def orders(error, counts) -> np.ndarray:
    """By which power of the step an error falls."""
    found = np.array([error(steps) for steps in counts])
    return np.log2(found[:-1] / found[1:])


@cache
def exact(name: str):
    """Where it is after 1 s."""
    return frictionless(name, "rk4")[2](20000)


def frictionless(name: str, integrator: str):
    """A model, where it starts, and where it is after 1 s in so many steps."""
    model, begin = {
        "double pendulum": lambda: (robot("double-pendulum"), [1.0, -0.5, 0.0, 0.0]),
        "ball joint": lambda: (parse(WHIRL), [1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]),
    }[name]()
    model = replace(model, integrator=integrator, joints=replace(model.joints, damping=0 * model.joints.damping))
    begin = jnp.asarray(begin)

    def after(steps: int):
        return simulate(replace(model, timestep=1.0 / steps), begin, steps=steps)[-1]

    return model, begin, after


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", ["double pendulum", "ball joint"])
def test_order_of_convergence(name, integrator):
    """The error after 1 s falls with the step as the textbook says."""
    _, _, after = frictionless(name, integrator)
    expected = ORDERS[integrator]
    found = orders(lambda steps: jnp.max(jnp.abs(after(steps) - exact(name))), COUNTS[expected, name])
    np.testing.assert_allclose(found, expected, atol=0.3)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_order_of_energy(integrator):
    """So does what is won or lost of the energy; Runge and Kutta's fourth order loses it at the fifth."""
    model, begin, after = frictionless("double pendulum", integrator)
    model = on_device(model)

    def total(state):
        return sum(energy(model, state[:2], state[2:]))

    expected = {1: 1, 4: 5}[ORDERS[integrator]]
    found = orders(lambda steps: abs(total(after(steps)) - total(begin)), (200, 400, 800))
    np.testing.assert_allclose(found, expected, atol=0.6)


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
