"""Ten numbers that are always a possible mass, centre of mass and inertia (Rucker and Wensing 2022).

The pseudo-inertia, 4 x 4 and positive definite for a real body, is U U' with U upper triangular:

    U = e^alpha [V t; 0 1]      mass e^(2 alpha),  centre of mass t,  V V' = (tr(I)/2 - I) / mass about it

`encode` and `decode` go there and back; every vector of ten numbers decodes to a body that can exist.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .spatial import Vector, symmetric

NAMES = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")

Ten = Float[Array, "10"]


def encode(mass: Float[Array, ""], com: Vector, inertia: Float[Array, "6"]) -> Ten:
    """NaN where there is no such body."""
    matrix = symmetric(inertia)
    s = (0.5 * jnp.trace(matrix) * jnp.eye(3, dtype=matrix.dtype) - matrix) / mass
    v3 = jnp.sqrt(s[2, 2])
    s13, s23 = s[0, 2] / v3, s[1, 2] / v3
    v2 = jnp.sqrt(s[1, 1] - s23 * s23)
    s12 = (s[0, 1] - s13 * s23) / v2
    v1 = jnp.sqrt(s[0, 0] - s12 * s12 - s13 * s13)
    numbers = [0.5 * jnp.log(mass), jnp.log(v1), jnp.log(v2), jnp.log(v3), s12, s23, s13, *com]
    return jnp.stack([jnp.asarray(n, matrix.dtype) for n in numbers])


def decode(ten: Ten) -> tuple[Float[Array, ""], Vector, Float[Array, "6"]]:
    """Mass, centre of mass, and the inertia about it."""
    alpha, d1, d2, d3, s12, s23, s13, *t = ten
    zero, mass = jnp.zeros_like(alpha), jnp.exp(2.0 * alpha)
    v = jnp.stack([jnp.exp(d1), s12, s13, zero, jnp.exp(d2), s23, zero, zero, jnp.exp(d3)]).reshape(3, 3)
    s = mass * (v @ v.T)
    i = jnp.trace(s) * jnp.eye(3, dtype=s.dtype) - s
    return mass, jnp.stack(t), jnp.stack([i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]])
