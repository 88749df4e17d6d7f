"""Spatial algebra: six numbers for the motion of a body, six for the forces on it (Featherstone 2008, chapter 2).

A motion vector is (angular velocity, velocity of the point at the frame's origin), a force vector is (torque about the
origin, force). Nothing here is specialised to planar motion or to an axis: `fuse` finds the zeros.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

Vector = Float[Array, "3"]
Matrix = Float[Array, "3 3"]
Motion = Float[Array, "6"]
Force = Float[Array, "6"]
Transform = Float[Array, "6 6"]  # of motion vectors, from one frame to another; its transpose takes forces back
Inertia = Float[Array, "6 6"]  # of a rigid body, or of all that hangs on it


def skew(v: Vector) -> Matrix:
    """The matrix of the cross product: skew(a) @ b = a x b."""
    x, y, z = v
    zero = jnp.zeros_like(x)
    return jnp.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)


def cross(v: Motion, m: Motion) -> Motion:
    """The rate of change of a motion vector that is fixed in a frame moving with v (2.31)."""
    angular, linear = skew(v[:3]), skew(v[3:])
    return jnp.concatenate([angular @ m[:3], linear @ m[:3] + angular @ m[3:]])


def cross_force(v: Motion, f: Force) -> Force:
    """The rate of change of a force vector that is fixed in a frame moving with v (2.32)."""
    angular, linear = skew(v[:3]), skew(v[3:])
    return jnp.concatenate([angular @ f[:3] + linear @ f[3:], angular @ f[3:]])


def transform(turn: Matrix, pos: Vector) -> Transform:
    """Takes motion vectors into a frame at `pos`, whose axes are the columns of `turn` (2.24)."""
    back = turn.T
    return jnp.block([[back, jnp.zeros_like(back)], [-back @ skew(pos), back]])


def rigid_inertia(mass: Float[Array, ""], com: Vector, inertia: Matrix) -> Inertia:
    """About the frame's origin, from the inertia about the centre of mass (2.63)."""
    lever = skew(com)
    weight = mass * jnp.eye(3, dtype=com.dtype)
    return jnp.block([[inertia + mass * lever @ lever.T, mass * lever], [mass * lever.T, weight]])


def mirrored(m: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """A matrix that is symmetric but for rounding, by its upper triangle: the lower one is never computed."""
    upper = jnp.triu(jnp.ones_like(m, dtype=bool))
    return jnp.where(upper, m, m.T)


def symmetric(entries: Float[Array, "6"]) -> Matrix:
    """The symmetric matrix of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = entries
    return jnp.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz]).reshape(3, 3)
