"""The algorithms and their derivatives against Pinocchio, on the same robots.

Pinocchio has the velocity and force of a free joint in the body's axes, MuJoCo and we the linear half in the world's;
it differentiates by the way from a position. `Both` goes from the one to the other.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import rotations
from plausim.mechanics.dynamics import aba, mass_matrix, rnea
from plausim.mechanics.integrators import advance
from plausim.mechanics.joints import parts
from plausim.mechanics.read import KINDS

from .engine import Engine, far
from .random_trees import tree

pin = pytest.importorskip("pinocchio", reason="Pinocchio (pip install pin) is not installed")

CASES = [(9, 1), (7, 1), (2, 3), (7, 2), (3, 5), (4, 8), (5, 12), (6, 20), (7, 30)]
FAST = CASES[:3]  # with joints of all kinds
JOINTS = {
    "hinge": lambda axis: pin.JointModelRevoluteUnaligned(axis), "ball": lambda axis: pin.JointModelSpherical(),
    "slide": lambda axis: pin.JointModelPrismaticUnaligned(axis), "free": lambda axis: pin.JointModelFreeFlyer(),
}  # fmt: skip


def as_pinocchio(compiled):
    """The same tree, out of MuJoCo's numbers."""
    model = pin.Model()
    model.gravity.linear = compiled.opt.gravity.copy()
    at, place = {0: 0}, {0: pin.SE3.Identity()}  # of each body: the joint it hangs on, and where in that joint's frame
    for b in range(1, compiled.nbody):
        parent = int(compiled.body_parentid[b])
        joint, here = at[parent], place[parent] * pose(compiled.body_pos[b], compiled.body_quat[b])
        for j in range(compiled.body_jntadr[b], compiled.body_jntadr[b] + compiled.body_jntnum[b]):
            kind, anchor = KINDS[int(compiled.jnt_type[j])], pin.SE3(np.eye(3), compiled.jnt_pos[j])
            before = pin.SE3.Identity() if kind == "free" else here * anchor
            joint = model.addJoint(joint, JOINTS[kind](compiled.jnt_axis[j]), before, f"j{j}")
            here = anchor.inverse()
            place_of = model.joints[joint]
            rotor = compiled.dof_armature[compiled.jnt_dofadr[j]]
            model.armature[place_of.idx_v : place_of.idx_v + place_of.nv] = rotor
        turn = pose(np.zeros(3), compiled.body_iquat[b]).rotation
        inertia = turn @ np.diag(compiled.body_inertia[b]) @ turn.T
        model.appendBodyToJoint(joint, pin.Inertia(compiled.body_mass[b], compiled.body_ipos[b], inertia), here)
        at[b], place[b] = joint, here
    return model


def pose(pos, quat):
    w, x, y, z = quat
    return pin.SE3(pin.Quaternion(w, x, y, z).matrix(), pos)


class Both:
    """One random robot in one random state. `q0` is ours, `there` and `plain` are Pinocchio's."""

    def __init__(self, seed: int, joints: int):
        engine = Engine(tree(seed, joints), seed)
        self.model, self.q0 = engine.model, engine.q
        self.kinds, self.parts = self.model.joints.kind, parts(self.model.joints.kind)
        self.there = as_pinocchio(engine.compiled)
        self.data = self.there.createData()
        rng = np.random.default_rng(seed)
        self.still, self.qd = jnp.zeros_like(engine.qd), engine.qd
        self.tau = jnp.asarray(rng.normal(size=engine.qd.size))
        self.plain = self.position(), np.asarray(self.qd), np.asarray(self.tau)

    def position(self) -> np.ndarray:
        """Quaternions with w last, and no references."""
        found = []
        for i, (kind, part) in enumerate(zip(self.kinds, self.parts, strict=True)):
            q = np.asarray(self.q0[part.positions])
            if kind in ("hinge", "slide"):
                q = q - float(self.model.joints.ref[i])
            found.append(np.concatenate([q[:-4], q[-3:], q[-4:-3]]) if len(q) > 3 else q)
        return np.concatenate(found)

    def moved(self, way):
        """Our position a small way further, in the axes of what floats."""
        return advance(self.model, self.q0, self.world(self.q0, way), jnp.ones(()))

    def world(self, q, numbers, back=False):
        """Velocities or forces of what floats, from the body's axes into ours, or back."""
        for kind, part in zip(self.kinds, self.parts, strict=True):
            if kind == "free":
                linear = slice(part.velocities.start, part.velocities.start + 3)
                turn = rotations.matrix(q[part.positions][3:])
                numbers = numbers.at[linear].set((turn.T if back else turn) @ numbers[linear])
        return numbers

    def own(self, q, numbers):
        return self.world(q, numbers, back=True)

    def turning(self, qd):
        """What a velocity that is constant in the body's axes changes by in the world's: omega x v, in the body's."""
        change = jnp.zeros_like(qd)
        for kind, part in zip(self.kinds, self.parts, strict=True):
            if kind == "free":
                first = part.velocities.start
                change = change.at[first : first + 3].set(jnp.cross(qd[first + 3 : first + 6], qd[first : first + 3]))
        return change

    def aba(self, way, qd, tau):
        q = self.moved(way)
        return self.own(q, aba(self.model, q, self.world(q, qd), self.world(q, tau))) - self.turning(qd)

    def rnea(self, way, qd, qdd):
        q = self.moved(way)
        return self.own(q, rnea(self.model, q, self.world(q, qd), self.world(q, qdd + self.turning(qd))))


def symmetric(upper):
    return np.triu(upper) + np.triu(upper, 1).T


@pytest.mark.parametrize("seed, joints", CASES)
def test_algorithms(seed, joints):
    both = Both(seed, joints)
    arguments = both.still, both.qd, both.tau
    assert far(both.aba(*arguments), pin.aba(both.there, both.data, *both.plain)) < 1e-9
    assert far(both.rnea(*arguments), pin.rnea(both.there, both.data, *both.plain)) < 1e-9
    own = jax.vmap(lambda row: both.own(both.q0, row))
    assert (
        far(own(own(mass_matrix(both.model, both.q0)).T), symmetric(pin.crba(both.there, both.data, both.plain[0])))
        < 1e-9
    )


@pytest.mark.parametrize("seed, joints", [c if c in FAST else pytest.param(*c, marks=pytest.mark.slow) for c in CASES])
def test_derivatives(seed, joints):
    """By q, qd and tau, of accelerations; by q, qd and qdd, of forces."""
    both = Both(seed, joints)
    arguments = both.still, both.qd, both.tau
    pin.computeABADerivatives(both.there, both.data, *both.plain)
    found = jax.jit(jax.jacfwd(both.aba, (0, 1, 2)))(*arguments)
    for ours, theirs in zip(found, (both.data.ddq_dq, both.data.ddq_dv, symmetric(both.data.Minv)), strict=True):
        assert far(ours, theirs) < 1e-9
    by_q, by_qd, by_qdd = pin.computeRNEADerivatives(both.there, both.data, *both.plain)
    found = jax.jit(jax.jacfwd(both.rnea, (0, 1, 2)))(*arguments)
    for ours, theirs in zip(found, (by_q, by_qd, symmetric(by_qdd)), strict=True):
        assert far(ours, theirs) < 1e-9
