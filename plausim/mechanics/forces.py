"""Forces in the joints that no actuator makes: damping, dry friction, springs, limits. They change with q and qd only.

The two laws of everything compliant, also between bodies: `pushed` and `rubbed`.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .joints import JOINTS, parts
from .kinematics import Dof, Position
from .model import Model

Number = Float[Array, ""]


def pushed(depth: Number, rate: Number, stiffness: Number, dissipation: Number) -> Number:
    """The force against a depth that grows at a rate (Hunt and Crossley 1975): it begins at zero, and never pulls."""
    return stiffness * jnp.maximum(depth, 0.0) * jnp.maximum(1.0 + dissipation * rate, 0.0)


def rubbed(velocity: Float[Array, "*axes"], speed: Number) -> Float[Array, "*axes"]:
    """The direction of a velocity, shorter than 1 where that is slow: Coulomb's friction made smooth."""
    return velocity / jnp.sqrt(jnp.sum(velocity * velocity) + speed * speed)


def passive(model: Model, q: Position, qd: Dof) -> Dof:
    """The joints' own forces."""
    j = model.joints
    found = [jnp.zeros(0, q.dtype)]
    for i, (name, part) in enumerate(zip(j.kind, parts(j.kind), strict=True)):
        kind, here, v = JOINTS[name], q[part.positions], qd[part.velocities]
        rest = j.springref[i][None] if kind.positions == 1 else jnp.array(kind.rest, q.dtype)
        force = (
            -j.damping[i] * v
            - j.stiffness[i] * kind.stretch(rest, here)
            - j.frictionloss[i] * rubbed(v, j.frictionspeed[i])
        )
        if j.limited[i]:
            low = pushed(j.lower[i] - here[0], -v[0], j.limitstiffness[i], j.limitdissipation[i])
            high = pushed(here[0] - j.upper[i], v[0], j.limitstiffness[i], j.limitdissipation[i])
            force = force + (low - high)
        found.append(force)
    return jnp.concatenate(found)
