"""Rotations: matrices, whose columns are the turned axes, and unit quaternions (w, x, y, z), as MuJoCo has them."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .spatial import Matrix, Vector, skew

Quaternion = Float[Array, "4"]


def about(axis: Vector, angle: Float[Array, ""]) -> Matrix:
    """The rotation by an angle about a unit vector (Rodrigues)."""
    k = skew(axis)
    return jnp.eye(3, dtype=axis.dtype) + jnp.sin(angle) * k + (1.0 - jnp.cos(angle)) * (k @ k)


def tilted(angles: Vector) -> Matrix:
    """Turns about x, then the new y, then the new z; no turn at all costs nothing in a compiled step."""
    x, y, z = jnp.eye(3, dtype=angles.dtype)
    return about(x, angles[0]) @ about(y, angles[1]) @ about(z, angles[2])


def unit(q: Quaternion) -> Quaternion:
    return q / jnp.sqrt(q @ q)


def matrix(q: Quaternion) -> Matrix:
    """Of a unit quaternion."""
    w, v = q[0], q[1:]
    k = skew(v)
    return jnp.eye(3, dtype=q.dtype) + 2.0 * (w * k + k @ k)


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """First b, then a."""
    w, v = a[0] * b[0] - a[1:] @ b[1:], a[0] * b[1:] + b[0] * a[1:] + skew(a[1:]) @ b[1:]
    return jnp.concatenate([w[None], v])


def conjugate(q: Quaternion) -> Quaternion:
    return q * jnp.array([1.0, -1.0, -1.0, -1.0], q.dtype)


def exponential(turn: Vector) -> Quaternion:
    """The rotation about `turn` by its length; smooth at zero."""
    square = 0.25 * turn @ turn
    small = square < 1e-8
    half = jnp.sqrt(jnp.where(small, 1.0, square))
    sinc = jnp.where(small, 1.0 - square / 6.0, jnp.sin(half) / half)
    cosine = jnp.where(small, 1.0 - square / 2.0, jnp.cos(half))
    return jnp.concatenate([cosine[None], 0.5 * sinc * turn])


def logarithm(q: Quaternion) -> Vector:
    """The turn, shorter than pi, that a unit quaternion stands for: the inverse of `exponential`."""
    q = jnp.where(q[0] < 0, -q, q)
    square = q[1:] @ q[1:]
    small = square < 1e-12
    sine = jnp.sqrt(jnp.where(small, 1.0, square))
    ratio = jnp.where(small, 2.0 + square / 3.0, 2.0 * jnp.arctan2(sine, q[0]) / sine)
    return ratio * q[1:]


def quaternion(turn: Matrix) -> Quaternion:
    """Of a rotation matrix, by the largest of its four numbers: nothing is divided by zero. w is not negative."""
    trace = jnp.trace(turn)
    diagonal = jnp.diagonal(turn)
    squares = jnp.concatenate([(1.0 + trace)[None], 1.0 + 2.0 * diagonal - trace])  # 4 w^2, 4 x^2, 4 y^2, 4 z^2
    sums, differences = turn + turn.T, turn - turn.T
    products = jnp.stack([  # 4 times each product of two of them
        jnp.stack([squares[0], differences[2, 1], differences[0, 2], differences[1, 0]]),
        jnp.stack([differences[2, 1], squares[1], sums[0, 1], sums[0, 2]]),
        jnp.stack([differences[0, 2], sums[0, 1], squares[2], sums[1, 2]]),
        jnp.stack([differences[1, 0], sums[0, 2], sums[1, 2], squares[3]]),
    ])  # fmt: skip
    row = products[jnp.argmax(squares)]
    q = row / jnp.sqrt(row @ row)
    return jnp.where(q[0] < 0, -q, q)
