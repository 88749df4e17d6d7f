"""Accelerations, forces and inertias against MuJoCo's C engine, and against each other, in float64."""

from importlib.resources import files

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from plausim.mechanics import ROBOTS, robots
from plausim.mechanics.contacts import contact_forces
from plausim.mechanics.dynamics import aba, energy, mass_matrix, momentum, rnea
from plausim.mechanics.integrators import accelerations, advance
from plausim.mechanics.kinematics import frames
from plausim.mechanics.sensors import observe

from .engine import Engine, far
from .random_trees import tree

SMALL = [(seed, joints) for seed, joints in enumerate((1, 1, 2, 2, 3, 4, 5, 6, 8, 10))]
LARGE = [(100 + i, joints) for i, joints in enumerate((1, 2, 3, 5, 8, 12, 15, 20, 25, 30) * 4)]
TREES = SMALL + [pytest.param(*case, marks=pytest.mark.slow) for case in LARGE]

QUATERNIONS = {int(mujoco.mjtSensor.mjSENS_FRAMEQUAT), int(mujoco.mjtSensor.mjSENS_BALLQUAT)}


@pytest.mark.parametrize("seed, joints", TREES)
def test_accelerations_are_mujocos(seed, joints):
    engine = Engine(tree(seed, joints), seed)
    found = accelerations(engine.model, engine.q, engine.qd, engine.ctrl)
    assert far(found, engine.data.qacc) < 1e-9


@pytest.mark.parametrize("seed, joints", TREES)
def test_mass_matrix_is_mujocos(seed, joints):
    engine = Engine(tree(seed, joints), seed)
    full = np.zeros((engine.compiled.nv, engine.compiled.nv))
    mujoco.mj_fullM(engine.compiled, engine.data, full)
    assert far(mass_matrix(engine.model, engine.q), full) < 1e-9


@pytest.mark.parametrize("seed, joints", SMALL)
def test_forward_and_inverse_dynamics_undo_each_other(seed, joints):
    engine = Engine(tree(seed, joints), seed)
    model, q, qd = engine.model, engine.q, engine.qd
    tau = jnp.asarray(np.random.default_rng(seed).normal(size=qd.shape))
    qdd = aba(model, q, qd, tau)
    assert far(rnea(model, q, qd, qdd), tau) < 1e-9
    assert far(mass_matrix(model, q) @ qdd + rnea(model, q, qd, jnp.zeros_like(qdd)), tau) < 1e-9


@pytest.mark.parametrize("seed, joints", SMALL)
def test_places_are_mujocos(seed, joints):
    engine = Engine(tree(seed, joints), seed)
    for i, frame in enumerate(frames(engine.model, engine.q)):
        np.testing.assert_allclose(frame.pos, engine.data.xpos[i + 1], atol=1e-12)
        np.testing.assert_allclose(frame.turn, engine.data.xmat[i + 1].reshape(3, 3), atol=1e-12)


@pytest.mark.parametrize("seed, joints", SMALL)
def test_energy_and_momentum_are_mujocos(seed, joints):
    engine = Engine(tree(seed, joints, forces=False), seed)
    compiled, data = engine.compiled, engine.data
    mujoco.mj_energyPos(compiled, data)
    mujoco.mj_energyVel(compiled, data)
    kinetic, potential = energy(engine.model, engine.q, engine.qd)
    np.testing.assert_allclose([potential, kinetic], data.energy, rtol=1e-10, atol=1e-12)
    mujoco.mj_subtreeVel(compiled, data)
    linear = compiled.body_mass.sum() * data.subtree_linvel[0]
    np.testing.assert_allclose(momentum(engine.model, engine.q, engine.qd)[3:], linear, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed, joints", TREES)
def test_sensors_are_mujocos(seed, joints):
    engine = Engine(tree(seed, joints), seed)
    found, expected = observe(engine.model, engine.state, engine.ctrl), engine.data.sensordata.copy()
    for i in range(engine.compiled.nsensor):
        here = slice(engine.compiled.sensor_adr[i], engine.compiled.sensor_adr[i] + engine.compiled.sensor_dim[i])
        if int(engine.compiled.sensor_type[i]) in QUATERNIONS:
            expected[here] *= np.sign(expected[here] @ np.asarray(found[here]))  # both quaternions are one rotation
    assert far(found, expected) < 1e-9


def test_the_four_points_of_a_frame():
    """Its origin and 1 m along each of its axes, which MuJoCo knows as a place and a matrix."""
    engine = Engine(files(robots).joinpath(ROBOTS["panda-box"]).read_text(), 3)
    lid, seen = engine.data.site("lid"), observe(engine.model, engine.state, engine.ctrl)
    origin, axes = lid.xpos, lid.xmat.reshape(3, 3)
    assert engine.model.sensors[-1].name == "lid_points"
    np.testing.assert_allclose(seen[-12:].reshape(4, 3), [origin, *(origin + axes.T)], atol=1e-12)


def test_momentum_of_what_floats_is_kept():
    """No gravity, nothing to hold on to: whatever the joints do, both momenta stay."""
    inner = tree(7, 6, forces=False, kinds=("ball", "hinge", "slide"))
    start, end = inner.index("<worldbody>") + len("<worldbody>"), inner.index("</worldbody>")
    root = '<body><freejoint/><inertial mass="1" pos="0 0 0" diaginertia="0.1 0.1 0.1"/>'
    world = f"<worldbody>{root}{inner[start:end]}</body></worldbody>"
    text = f'<mujoco><compiler angle="radian"/><option gravity="0 0 0"/>{world}</mujoco>'
    engine = Engine(text, 7)
    model, q, qd = engine.model, engine.q, engine.qd
    qdd = aba(model, q, qd, jnp.concatenate([jnp.zeros(6), jnp.arange(1.0, 1.0 + qd.size - 6)]))

    def later(h):
        return momentum(model, advance(model, q, qd, h), qd + h * qdd)

    before, drift = jax.jvp(later, (jnp.zeros(()),), (jnp.ones(()),))
    assert np.max(np.abs(before)) > 0.1
    np.testing.assert_allclose(drift, 0.0, atol=1e-9)


def test_a_robot_without_contacts_has_no_contact_forces():
    engine = Engine(tree(3, 4), 3)
    assert contact_forces(engine.model, engine.q, engine.qd) == {}
