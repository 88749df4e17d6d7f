"""Generic 6-D spatial algebra and the articulated-body algorithm (Featherstone 2008, chapters 2 and 7).

Written once for two number types: arrays of jax.numpy, and NumPy arrays of symbols (dtype object), out of which
`operations.py` builds expression graphs. Nothing is specialised to planar motion or to particular axes: the zeros are
left for the compiler to find.
"""

from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray | jax.Array


class Link(NamedTuple):
    """A rigid body, hung from its parent by one hinge."""

    parent: int  # -1 is the world
    axis: np.ndarray  # of the hinge, in the link
    rotation: np.ndarray  # of the link in its parent when the hinge is at zero
    offset: Array  # of the hinge in the parent
    inertia: Array  # spatial, about the hinge
    damping: float | Array


def module_of(array: Array) -> ModuleType:
    """numpy for arrays of symbols, jax.numpy for numbers."""
    return np if array.dtype == object else jnp


def constant(value, like: Array) -> Array:
    """`value` as an array of the same kind and dtype as `like`."""
    return module_of(like).asarray(value, like.dtype)


def vector(*entries, like: Array) -> Array:
    """Numbers and scalars of `like`'s kind as one vector."""
    return module_of(like).stack([constant(entry, like) for entry in entries])


def skew(v: Array) -> Array:
    """The matrix of the cross product: skew(v) @ w = v x w."""
    x, y, z = v
    return vector(0.0, -z, y, z, 0.0, -x, -y, x, 0.0, like=v).reshape(3, 3)


def blocks(upper_left, upper_right, lower_left, lower_right) -> Array:
    """A 6 x 6 matrix out of four 3 x 3."""
    rows = [[upper_left, upper_right], [lower_left, lower_right]]
    return module_of(upper_left).block(rows)


def zeros(like: Array) -> Array:
    """The 3 x 3 block of zeros."""
    return constant(np.zeros((3, 3)), like)


def motion_cross(v: Array) -> Array:
    """crm(v): the rate of change of a motion vector that is fixed in a frame moving with v."""
    angular, linear = skew(v[:3]), skew(v[3:])
    return blocks(angular, zeros(v), linear, angular)


def hinge_rotation(axis: np.ndarray, q: Array) -> Array:
    """The rotation by q about an axis (Rodrigues)."""
    turn = skew(constant(axis, q))
    numbers = module_of(q)
    return constant(np.eye(3), q) + numbers.sin(q) * turn + (1.0 - numbers.cos(q)) * (turn @ turn)


def motion_transform(link: Link, q: Array) -> Array:
    """Takes motion vectors from the parent's coordinates to the link's."""
    rotation = hinge_rotation(link.axis, q).T @ constant(link.rotation.T, q)
    return blocks(rotation, zeros(rotation), -rotation @ skew(link.offset), rotation)


def spatial_inertia(mass: Array, com: Array, inertia: Array) -> Array:
    """About the link's origin, from mass, centre of mass, and the inertia about the centre of mass."""
    lever = skew(com)
    diagonal = mass * constant(np.eye(3), com)
    return blocks(inertia + mass * lever @ lever.T, mass * lever, mass * lever.T, diagonal)


def forward_dynamics(links: list[Link], q, qd, tau, gravity) -> Array:
    """The articulated-body algorithm: the hinges' accelerations under the torques tau (table 7.1)."""
    axes = [constant(np.concatenate([link.axis, np.zeros(3)]), q) for link in links]
    transforms = [motion_transform(link, angle) for link, angle in zip(links, q, strict=True)]
    inertias = [link.inertia for link in links]
    velocities, drifts, biases = [], [], []
    for link, axis, transform, rate in zip(links, axes, transforms, qd, strict=True):
        joint_velocity = axis * rate
        velocity = joint_velocity if link.parent < 0 else transform @ velocities[link.parent] + joint_velocity
        cross = motion_cross(velocity)
        velocities.append(velocity)
        drifts.append(cross @ joint_velocity)
        biases.append(-cross.T @ (link.inertia @ velocity))

    outer = module_of(q).outer
    forces, pivots, rests = {}, {}, {}
    for i, (link, axis, transform) in reversed(list(enumerate(zip(links, axes, transforms, strict=True)))):
        forces[i] = inertias[i] @ axis
        pivots[i] = axis @ forces[i]
        rests[i] = tau[i] - link.damping * qd[i] - axis @ biases[i]
        if link.parent >= 0:
            articulated = inertias[i] - outer(forces[i], forces[i] / pivots[i])
            bias = biases[i] + articulated @ drifts[i] + forces[i] * (rests[i] / pivots[i])
            inertias[link.parent] = inertias[link.parent] + transform.T @ (articulated @ transform)
            biases[link.parent] = biases[link.parent] + transform.T @ bias

    world = constant(np.concatenate([np.zeros(3), -np.asarray(gravity)]), q)
    accelerations, qdd = [], []
    for i, (link, axis, transform) in enumerate(zip(links, axes, transforms, strict=True)):
        parent = world if link.parent < 0 else accelerations[link.parent]
        carried = transform @ parent + drifts[i]
        qdd.append((rests[i] - forces[i] @ carried) / pivots[i])
        accelerations.append(carried + axis * qdd[i])
    return module_of(q).stack(qdd)
