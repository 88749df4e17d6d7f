"""Actuators: a control becomes a force on a joint, (gain + ...) control + bias + ..., as in MuJoCo.

A motor has a gain only; a position servo has gain (kp, 0, 0) and bias (0, -kp, -kv); a velocity servo (kv, 0, 0) and
(0, 0, -kv).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .joints import JOINTS, parts
from .kinematics import Dof, Position
from .model import Model

Control = Float[Array, " nu"]


def actuation(model: Model, q: Position, qd: Dof, ctrl: Control) -> Dof:
    """The forces of all actuators in the joints."""
    a, j = model.actuators, model.joints
    where, tau = parts(j.kind), jnp.zeros_like(qd)
    for i, joint in enumerate(a.joint):
        part, kind = where[joint], JOINTS[j.kind[joint]]
        gear = a.gear[i, : kind.velocities]
        here = q[part.positions]
        if kind.positions > 1:
            here = kind.stretch(jnp.array(kind.rest, q.dtype), here)
        affine = jnp.stack([jnp.ones((), q.dtype), gear @ here, gear @ qd[part.velocities]])
        control = jnp.clip(ctrl[i], a.ctrllower[i], a.ctrlupper[i]) if a.ctrllimited[i] else ctrl[i]
        force = (a.gain[i] @ affine) * control + a.bias[i] @ affine
        if a.forcelimited[i]:
            force = jnp.clip(force, a.forcelower[i], a.forceupper[i])
        tau = tau.at[part.velocities].add(gear * force)
    for i, part in enumerate(where):
        if j.forcelimited[i]:
            limited = jnp.clip(tau[part.velocities], j.forcelower[i], j.forceupper[i])
            tau = tau.at[part.velocities].set(limited)
    return tau


def resistance(model: Model, ctrl: Control) -> list[Float[Array, ""]]:
    """How much each joint's force falls with its speed, by the actuators alone: what an implicit step wants to know."""
    a, found = model.actuators, {}
    for i, joint in enumerate(a.joint):
        for k in range(JOINTS[model.joints.kind[joint]].velocities):
            n = parts(model.joints.kind)[joint].velocities.start + k
            slope = a.gain[i, 2] * ctrl[i] + a.bias[i, 2]
            found[n] = found.get(n, 0.0) - a.gear[i, k] ** 2 * slope
    count = sum(JOINTS[kind].velocities for kind in model.joints.kind)
    return [jnp.asarray(found.get(n, 0.0), ctrl.dtype) for n in range(count)]
