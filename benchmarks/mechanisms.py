"""The mechanisms that are timed: one step each, (state, parameters) -> state, by semi-implicit Euler.

A state is the hinges' angles, then their rates. The steps run on jax.numpy arrays and on arrays of symbols alike.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.spatial import Array, Link, constant, forward_dynamics, module_of, spatial_inertia, vector

GRAVITY = (0.0, 0.0, -9.81)


def advance(q: Array, qd: Array, qdd: Array, timestep: float) -> Array:
    """Semi-implicit Euler: the new rates move the angles."""
    qd = qd + qdd * timestep
    return module_of(q).concatenate([q + qd * timestep, qd])


# The double pendulum: two links that swing about x. Parameters, for each link: mass, inertia, centre of mass (y and z),
# and damping; and the length of the first.

PENDULUM_TIMESTEP = 1 / 400
PENDULUM_PARAMETERS = ("m1", "I1", "cx1", "cy1", "f1", "L1", "m2", "I2", "cx2", "cy2", "f2")
PENDULUM_NOMINAL = np.array([0.3, 0.02, 0.0, -0.1, 0.01, 0.2, 0.3, 0.02, 0.0, -0.1, 0.01])
PENDULUM_START = np.array([1.5, 0.3, 0.0, 0.0])
OFF_PLANE_INERTIA = 1e-3  # about y and z: a planar motion never feels it


def planar_inertia(mass: Array, inertia: Array, y: Array, z: Array) -> Array:
    diagonal = vector(1.0, 0.0, 0.0, like=mass) * inertia + vector(0.0, OFF_PLANE_INERTIA, OFF_PLANE_INERTIA, like=mass)
    return spatial_inertia(mass, vector(0.0, y, z, like=mass), diagonal * constant(np.eye(3), mass))


def double_pendulum_step(state: Array, theta: Array) -> Array:
    """state (4,), theta (11,) -> state."""
    m1, i1, cx1, cy1, f1, length, m2, i2, cx2, cy2, f2 = theta
    axis, upright = np.array([1.0, 0.0, 0.0]), np.eye(3)
    base, tip = constant(np.zeros(3), state), vector(0.0, 0.0, -length, like=state)
    links = [
        Link(-1, axis, upright, base, planar_inertia(m1, i1, cx1, cy1), f1),
        Link(0, axis, upright, tip, planar_inertia(m2, i2, cx2, cy2), f2),
    ]
    q, qd = state[:2], state[2:]
    qdd = forward_dynamics(links, q, qd, constant(np.zeros(2), state), GRAVITY)
    return advance(q, qd, qdd, PENDULUM_TIMESTEP)


# The arm: seven hinges laid out like a Panda's, and a box on two passive hinges under the hand. In the box are two
# weights; the parameters are where: x and y of the first, x and y of the second. The links' masses are made up.

ARM_TIMESTEP = 1 / 500
ARM_NOMINAL = np.array([0.05, -0.03, -0.04, 0.02])
ARM_START = np.zeros(18)
ARM_TARGET = np.array([0.3, -0.5, 0.2, -1.5, 0.1, 1.2, 0.4])
ARM_AXES = np.array([[0.0, 0.0, 1.0]] * 7 + [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
ARM_QUARTER_TURNS = (0, -1, 1, 1, -1, 1, 1, 0, 0)  # about x, from one link to the next
ARM_OFFSETS = np.array(
    [
        [0.0, 0.0, 0.333],
        [0.0, 0.0, 0.0],
        [0.0, -0.316, 0.0],
        [0.0825, 0.0, 0.0],
        [-0.0825, 0.384, 0.0],
        [0.0, 0.0, 0.0],
        [0.088, 0.0, 0.0],
        [0.0, 0.0, 0.107],
        [0.0, 0.0, 0.0],
    ]
)
ARM_STIFFNESS = np.array([60.0] * 4 + [20.0] * 3)
ARM_RATE_GAIN = np.array([3.0] * 4 + [0.5] * 3)
ARM_DAMPING = np.array([0.1] * 7 + [0.05] * 2)
BOX_MASS, BOX_COM, BOX_INERTIA = 0.92, np.array([0.0, 0.0, 0.2]), np.full(3, 0.07)
WEIGHT_MASS, WEIGHT_HEIGHT, WEIGHT_INERTIA = 0.5, 0.3, np.full(3, 1e-5)


class Body(NamedTuple):
    """Mass, centre of mass, and inertia about it along the link's axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


def made_up_bodies(count: int) -> list[Body]:
    """Plausible arm links, always the same; the last is the light one between the two hinges of the box."""
    rng = np.random.default_rng(1)
    bodies = []
    for i in range(count):
        mass = rng.uniform(0.5, 4.0) if i < count - 1 else 0.1
        bodies.append(Body(float(mass), rng.uniform(-0.05, 0.05, 3), rng.uniform(0.02, 0.04, 3)))
    return bodies


ARM_BODIES = made_up_bodies(8)


def quarter_turns(count: int) -> np.ndarray:
    """The rotation by so many right angles about x, without rounding errors."""
    return np.linalg.matrix_power(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]), count % 4)


def body_inertia(body: Body, like: Array) -> Array:
    mass, com, inertia = (constant(value, like) for value in (body.mass, body.com, np.diag(body.inertia)))
    return spatial_inertia(mass, com, inertia)


def loaded_box(theta: Array) -> Array:
    """The spatial inertia of the box with its two weights."""
    mass, inertia = constant(WEIGHT_MASS, theta), constant(np.diag(WEIGHT_INERTIA), theta)
    total = body_inertia(Body(BOX_MASS, BOX_COM, BOX_INERTIA), theta)
    for x, y in ((theta[0], theta[1]), (theta[2], theta[3])):
        total = total + spatial_inertia(mass, vector(x, y, WEIGHT_HEIGHT, like=theta), inertia)
    return total


def arm_step(state: Array, theta: Array, target: Array) -> Array:
    """state (18,), theta (4,), target (7,) -> state: a position controller on seven hinges, the box swings on two."""
    inertias = [body_inertia(body, state) for body in ARM_BODIES] + [loaded_box(theta)]
    links = [
        Link(i - 1, ARM_AXES[i], quarter_turns(turns), constant(ARM_OFFSETS[i], state), inertia, float(ARM_DAMPING[i]))
        for i, (turns, inertia) in enumerate(zip(ARM_QUARTER_TURNS, inertias, strict=True))
    ]
    q, qd = state[:9], state[9:]
    torque = constant(ARM_STIFFNESS, state) * (target - q[:7]) - constant(ARM_RATE_GAIN, state) * qd[:7]
    tau = module_of(state).concatenate([torque, constant(np.zeros(2), state)])
    return advance(q, qd, forward_dynamics(links, q, qd, tau, GRAVITY), ARM_TIMESTEP)


# The tree: a trunk of three hinges and four limbs of six, 27 in all, with a spring in every hinge. The parameters are
# what all limb links share: mass, length, inertia, damping, and the springs' stiffness.

TREE_TIMESTEP = 1 / 500
TREE_PARENTS = (-1, 0, 1, *(parent for first in (3, 9, 15, 21) for parent in (2, *range(first, first + 5))))
TREE_NOMINAL = np.array([0.5, 0.15, 0.02, 0.1, 8.0])
TREE_START = np.concatenate([0.3 * np.cos(np.arange(27.0)), np.zeros(27)])
TREE_TRUNK = Body(3.0, np.array([0.0, 0.0, 0.1]), np.full(3, 0.05))


def tree_step(state: Array, theta: Array) -> Array:
    """state (54,), theta (5,) -> state."""
    mass, length, inertia, damping, stiffness = theta
    trunk = body_inertia(TREE_TRUNK, state)
    limb = spatial_inertia(mass, vector(0.0, 0.0, -0.5 * length, like=state), inertia * constant(np.eye(3), state))
    links = []
    for i, parent in enumerate(TREE_PARENTS):
        sideways = 0.1 * (1, 1, -1, -1)[(i - 3) // 6], 0.1 * (1, -1)[((i - 3) // 6) % 2]
        shoulder = constant(np.array([*sideways, 0.2]), state)
        offset = shoulder if parent == 2 else vector(0.0, 0.0, -length if i > 2 else 0.1, like=state)
        links.append(Link(parent, np.eye(3)[i % 3], np.eye(3), offset, limb if i > 2 else trunk, damping))
    q, qd = state[:27], state[27:]
    return advance(q, qd, forward_dynamics(links, q, qd, -stiffness * q, GRAVITY), TREE_TIMESTEP)


class Mechanism(NamedTuple):
    """A step with what it takes to run it: inputs are further constant arguments of the step."""

    name: str
    step: Callable[..., Array]  # (state, theta, *inputs) -> state
    start: np.ndarray
    nominal: np.ndarray
    inputs: tuple[np.ndarray, ...]
    steps: int


MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism("double pendulum", double_pendulum_step, PENDULUM_START, PENDULUM_NOMINAL, (), 400),
        Mechanism("arm with box", arm_step, ARM_START, ARM_NOMINAL, (ARM_TARGET,), 200),
        Mechanism("tree of 27", tree_step, TREE_START, TREE_NOMINAL, (), 50),
    )
}
