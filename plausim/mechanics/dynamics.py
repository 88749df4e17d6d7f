"""From positions, velocities and forces to accelerations, and back (Featherstone 2008, chapters 5 to 7).

forward:      aba          forces -> accelerations, the articulated-body algorithm
inverse:      rnea         accelerations -> forces, the recursive Newton-Euler algorithm
joint space:  mass_matrix  by composite bodies
conserved:    energy, momentum
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from . import spatial
from .joints import JOINTS
from .kinematics import Dof, Position, frames, motion
from .model import WORLD, Leaf, Model
from .spatial import Force, Inertia, Motion, cross_force, mirrored


def inertias(model: Model) -> list[Inertia]:
    """Of each body alone."""
    b = model.bodies
    return [spatial.rigid_inertia(b.mass[i], b.com[i], spatial.symmetric(b.inertia[i])) for i in range(len(b.parent))]


def per_velocity(model: Model, numbers: Float[Leaf, " joint"]) -> list[Float[Array, ""]]:
    """A number of each joint, once for each of its velocities."""
    return [numbers[j] for j, kind in enumerate(model.joints.kind) for _ in range(JOINTS[kind].velocities)]


def aba(
    model: Model,
    q: Position,
    qd: Dof,
    tau: Dof,
    external: dict[int, Force] | None = None,
    implicit: list[Float[Array, ""]] | None = None,
) -> Dof:
    """The accelerations under the forces tau: the articulated-body algorithm (table 7.1), `eq:dynamics`.

    A body's velocities are taken out one at a time, so joints of all kinds are one case. `external` are forces on
    bodies, in their frames; `implicit` is added to the rotors' inertias.
    """
    moved, held = motion(model, q, qd), inertias(model)
    rotor = per_velocity(model, model.joints.armature)
    if implicit is not None:
        rotor = [a + b for a, b in zip(rotor, implicit, strict=True)]
    bias = [cross_force(m.velocity, inertia @ m.velocity) for m, inertia in zip(moved, held, strict=True)]
    for body, force in (external or {}).items():
        bias[body] = bias[body] - force

    pulls, pivots, rests = {}, {}, {}
    for i, m in reversed(list(enumerate(moved))):
        for column, n in reversed(list(zip(m.columns, m.velocities, strict=True))):
            pulls[n] = held[i] @ column
            pivots[n] = column @ pulls[n] + rotor[n]
            rests[n] = tau[n] - column @ bias[i]
            held[i] = mirrored(held[i] - jnp.outer(pulls[n], pulls[n] / pivots[n]))
            bias[i] = bias[i] + pulls[n] * (rests[n] / pivots[n])
        parent = model.bodies.parent[i]
        if parent != WORLD:
            held[parent] = held[parent] + mirrored(m.transform.T @ (held[i] @ m.transform))
            bias[parent] = bias[parent] + m.transform.T @ (bias[i] + held[i] @ m.drift)

    accelerations, qdd = [], {}
    for m, parent in zip(moved, model.bodies.parent, strict=True):
        acceleration = m.transform @ (falling(model) if parent == WORLD else accelerations[parent]) + m.drift
        for column, n in zip(m.columns, m.velocities, strict=True):
            qdd[n] = (rests[n] - pulls[n] @ acceleration) / pivots[n]
            acceleration = acceleration + column * qdd[n]
        accelerations.append(acceleration)
    return jnp.stack([qdd[n] for n in range(len(qdd))]) if qdd else jnp.zeros(0, q.dtype)


def rnea(model: Model, q: Position, qd: Dof, qdd: Dof, external: dict[int, Force] | None = None) -> Dof:
    """The forces under which the joints accelerate by qdd: the recursive Newton-Euler algorithm (table 5.1)."""
    moved, held = motion(model, q, qd), inertias(model)
    accelerations, forces = [], []
    for i, (m, parent) in enumerate(zip(moved, model.bodies.parent, strict=True)):
        acceleration = m.transform @ (falling(model) if parent == WORLD else accelerations[parent]) + m.drift
        acceleration = sum((c * qdd[n] for c, n in zip(m.columns, m.velocities, strict=True)), acceleration)
        accelerations.append(acceleration)
        force = held[i] @ acceleration + cross_force(m.velocity, held[i] @ m.velocity)
        forces.append(force - external[i] if external and i in external else force)
    rotor = per_velocity(model, model.joints.armature)
    tau = {}
    for i, m in reversed(list(enumerate(moved))):
        for column, n in zip(m.columns, m.velocities, strict=True):
            tau[n] = column @ forces[i] + rotor[n] * qdd[n]
        parent = model.bodies.parent[i]
        if parent != WORLD:
            forces[parent] = forces[parent] + m.transform.T @ forces[i]
    return jnp.stack([tau[n] for n in range(len(tau))]) if tau else jnp.zeros(0, q.dtype)


def mass_matrix(model: Model, q: Position) -> Float[Array, "nv nv"]:
    """The inertia that the joints feel, rotors included: composite bodies (table 6.2)."""
    count = len(per_velocity(model, model.joints.armature))
    moved, held = motion(model, q, jnp.zeros(count, q.dtype)), inertias(model)
    for i, parent in reversed(list(enumerate(model.bodies.parent))):
        if parent != WORLD:
            held[parent] = held[parent] + moved[i].transform.T @ held[i] @ moved[i].transform
    entries = {(n, n): rotor for n, rotor in enumerate(per_velocity(model, model.joints.armature))}
    for i, m in enumerate(moved):
        for column, n in zip(m.columns, m.velocities, strict=True):
            force, ancestor = held[i] @ column, i
            while ancestor != WORLD:
                a = moved[ancestor]
                for other, k in zip(a.columns, a.velocities, strict=True):
                    if k <= n:
                        entry = other @ force + entries.get((n, k), jnp.zeros((), q.dtype))
                        entries[n, k] = entries[k, n] = entry
                force, ancestor = a.transform.T @ force, model.bodies.parent[ancestor]
    zero = jnp.zeros((), q.dtype)
    return jnp.stack([entries.get((n, k), zero) for n in range(count) for k in range(count)]).reshape(count, count)


def energy(model: Model, q: Position, qd: Dof) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Kinetic and potential: of the bodies and rotors, and of gravity. Springs and contacts hold theirs apart."""
    moved, world = motion(model, q, qd), frames(model, q)
    rotor = jnp.stack([jnp.zeros((), q.dtype), *per_velocity(model, model.joints.armature)])[1:]
    kinetic = 0.5 * jnp.sum(rotor * qd * qd)
    potential = jnp.zeros((), q.dtype)
    for i, (m, inertia, frame) in enumerate(zip(moved, inertias(model), world, strict=True)):
        kinetic = kinetic + 0.5 * m.velocity @ inertia @ m.velocity
        com = frame.pos + frame.turn @ model.bodies.com[i]
        potential = potential - model.bodies.mass[i] * model.gravity @ com
    return kinetic, potential


def momentum(model: Model, q: Position, qd: Dof) -> Force:
    """Angular about the world's origin, and linear, in the world's axes. Rotors add nothing: they are no bodies."""
    total = jnp.zeros(6, q.dtype)
    for m, inertia, frame in zip(motion(model, q, qd), inertias(model), frames(model, q), strict=True):
        total = total + spatial.transform(frame.turn, frame.pos).T @ (inertia @ m.velocity)
    return total


def falling(model: Model) -> Motion:
    """Gravity, as an acceleration of the world upwards."""
    return jnp.concatenate([jnp.zeros(3, model.gravity.dtype), -model.gravity])
