"""The algorithms and their derivatives against Pinocchio, on the same robots."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from plausim.mechanics.dynamics import aba, mass_matrix, rnea

from .engine import Engine, far
from .random_trees import tree

pin = pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")

CASES = [(seed, joints) for seed, joints in enumerate((1, 2, 3, 5, 8, 12, 20, 30))]


def as_pinocchio(compiled):
    """The same tree, out of MuJoCo's numbers: hinges and slides."""
    model = pin.Model()
    model.gravity.linear = compiled.opt.gravity.copy()
    at, place = {0: 0}, {0: pin.SE3.Identity()}  # of each body: the joint it hangs on, and where in that joint's frame
    for b in range(1, compiled.nbody):
        parent = int(compiled.body_parentid[b])
        joint, here = at[parent], place[parent] * pose(compiled.body_pos[b], compiled.body_quat[b])
        for j in range(compiled.body_jntadr[b], compiled.body_jntadr[b] + compiled.body_jntnum[b]):
            axis, anchor = compiled.jnt_axis[j], pin.SE3(np.eye(3), compiled.jnt_pos[j])
            slides = compiled.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE
            kind = (pin.JointModelPrismaticUnaligned if slides else pin.JointModelRevoluteUnaligned)(axis)
            joint = model.addJoint(joint, kind, here * anchor, f"j{j}")
            here = anchor.inverse()
            model.armature[model.joints[joint].idx_v] = compiled.dof_armature[compiled.jnt_dofadr[j]]
        turn = pose(np.zeros(3), compiled.body_iquat[b]).rotation
        inertia = turn @ np.diag(compiled.body_inertia[b]) @ turn.T
        model.appendBodyToJoint(joint, pin.Inertia(compiled.body_mass[b], compiled.body_ipos[b], inertia), here)
        at[b], place[b] = joint, here
    return model


def pose(pos, quat):
    w, x, y, z = quat
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), pos)


class Both:
    """One random robot of hinges and slides, in one random state."""

    def __init__(self, seed: int, joints: int):
        self.engine = Engine(tree(seed, joints, kinds=("hinge", "slide", "universal", "three", "fixed")), seed)
        self.model, self.qd = self.engine.model, self.engine.qd
        self.there = as_pinocchio(self.engine.compiled)
        self.data = self.there.createData()
        rng = np.random.default_rng(seed)
        self.q, self.tau = jnp.asarray(rng.normal(size=self.qd.size)), jnp.asarray(rng.normal(size=self.qd.size))
        self.angles = np.asarray(self.q) - np.asarray(self.model.joints.ref)  # Pinocchio knows no reference


@pytest.mark.parametrize("seed, joints", CASES)
def test_algorithms(seed, joints):
    both = Both(seed, joints)
    qd, tau = np.asarray(both.qd), np.asarray(both.tau)
    expected = pin.aba(both.there, both.data, both.angles, qd, tau)
    assert far(aba(both.model, both.q, both.qd, both.tau), expected) < 1e-9
    expected = pin.rnea(both.there, both.data, both.angles, qd, tau)
    assert far(rnea(both.model, both.q, both.qd, both.tau), expected) < 1e-9
    upper = np.triu(pin.crba(both.there, both.data, both.angles))
    assert far(mass_matrix(both.model, both.q), upper + np.triu(upper, 1).T) < 1e-9


@pytest.mark.parametrize("seed, joints", CASES[:5] + [pytest.param(*c, marks=pytest.mark.slow) for c in CASES[5:]])
def test_derivatives(seed, joints):
    """By q, qd and tau, of accelerations; by q, qd and qdd, of forces."""
    both = Both(seed, joints)
    arguments = both.q, both.qd, both.tau
    plain = both.angles, np.asarray(both.qd), np.asarray(both.tau)
    pin.computeABADerivatives(both.there, both.data, *plain)
    inverse = both.data.Minv
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    found = jax.jit(jax.jacfwd(lambda *a: aba(both.model, *a), (0, 1, 2)))(*arguments)
    for ours, theirs in zip(found, (both.data.ddq_dq, both.data.ddq_dv, inverse), strict=True):
        assert far(ours, theirs) < 1e-9
    by_q, by_qd, by_qdd = pin.computeRNEADerivatives(both.there, both.data, *plain)
    by_qdd = np.triu(by_qdd) + np.triu(by_qdd, 1).T
    found = jax.jit(jax.jacfwd(lambda *a: rnea(both.model, *a), (0, 1, 2)))(*arguments)
    for ours, theirs in zip(found, (by_q, by_qd, by_qdd), strict=True):
        assert far(ours, theirs) < 1e-9
