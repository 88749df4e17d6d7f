"""Actuators: a control becomes a force on a joint, (gain + ...) control + bias + ..., as in MuJoCo.

A motor has a gain only; a position servo has gain (kp, 0, 0) and bias (0, -kp, -kv); a velocity servo (kv, 0, 0) and
(0, 0, -kv).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .joints import JOINTS, parts, sizes
from .kinematics import Dof, Position
from .model import Model

Control = Float[Array, " nu"]
Number = Float[Array, ""]


def actuation(model: Model, q: Position, qd: Dof, ctrl: Control) -> Dof:
    """The forces of all actuators in the joints."""
    a, j = model.actuators, model.joints
    where, tau = parts(j.kind), jnp.zeros_like(qd)
    for i, joint in enumerate(a.joint):
        force = _force(model, i, q, qd, ctrl)
        if a.forcelimited[i]:
            force = jnp.clip(force, a.forcelower[i], a.forceupper[i])
        velocities = where[joint].velocities
        tau = tau.at[velocities].add(_gear(model, i) * force)
    for i, part in enumerate(where):
        if j.forcelimited[i]:
            limited = jnp.clip(tau[part.velocities], j.forcelower[i], j.forceupper[i])
            tau = tau.at[part.velocities].set(limited)
    return tau


def resistance(model: Model, q: Position, qd: Dof, ctrl: Control) -> list[Number]:
    """How much each joint's force falls with its speed, by the actuators alone: what an implicit step wants to know.

    A force at its limit no longer falls. As in MuJoCo, the limits of a whole joint are not looked at.
    """
    a, j = model.actuators, model.joints
    found = [jnp.zeros((), q.dtype) for _ in range(sizes(j.kind)[1])]
    for i, joint in enumerate(a.joint):
        slope = a.gain[i, 2] * _control(model, i, ctrl) + a.bias[i, 2]
        if a.forcelimited[i]:
            force = _force(model, i, q, qd, ctrl)
            slope = jnp.where((a.forcelower[i] < force) & (force < a.forceupper[i]), slope, 0.0)
        for k, gear in enumerate(_gear(model, i), parts(j.kind)[joint].velocities.start):
            found[k] = found[k] - gear * gear * slope
    return found


def _gear(model: Model, i: int) -> Dof:
    """Of an actuator, for each velocity of its joint."""
    return jnp.asarray(model.actuators.gear[i, : JOINTS[model.joints.kind[model.actuators.joint[i]]].velocities])


def _control(model: Model, i: int, ctrl: Control) -> Number:
    a = model.actuators
    return jnp.clip(ctrl[i], a.ctrllower[i], a.ctrlupper[i]) if a.ctrllimited[i] else ctrl[i]


def _force(model: Model, i: int, q: Position, qd: Dof, ctrl: Control) -> Number:
    """Of an actuator, before its limits."""
    a, j = model.actuators, model.joints
    joint = a.joint[i]
    part, kind, gear = parts(j.kind)[joint], JOINTS[j.kind[joint]], _gear(model, i)
    here = q[part.positions]
    if kind.positions > 1:
        here = kind.stretch(jnp.array(kind.rest, q.dtype), here)
    affine = jnp.stack([jnp.ones((), q.dtype), gear @ here, gear @ qd[part.velocities]])
    return (a.gain[i] @ affine) * _control(model, i, ctrl) + a.bias[i] @ affine
