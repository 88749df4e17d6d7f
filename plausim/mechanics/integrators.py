"""How a state moves on by one time step: one table, `INTEGRATORS`. A state is the positions, then the velocities.

integrate: (model, q, qd, ctrl, h) -> q, qd
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from .actuators import Control, actuation, resistance
from .contacts import contact_forces
from .dynamics import aba, per_velocity
from .forces import passive
from .joints import JOINTS, parts, sizes
from .kinematics import Dof, Position
from .model import Model, in_jax

State = Float[Array, " state"]
Time = Float[Array, ""]
Integrate = Callable[[Model, Position, Dof, Control, Time], tuple[Position, Dof]]


def accelerations(
    model: Model, q: Position, qd: Dof, ctrl: Control, implicit: list[Float[Array, ""]] | None = None
) -> Dof:
    """Under everything that acts: gravity, actuators, the joints' own forces, contacts."""
    tau = passive(model, q, qd) + actuation(model, q, qd, ctrl)
    return aba(model, q, qd, tau, contact_forces(model, q, qd), implicit)


def advance(model: Model, q: Position, qd: Dof, h: Time) -> Position:
    """Positions after a time h at constant velocities."""
    kinds = model.joints.kind
    moved = [JOINTS[k].advance(q[p.positions], h * qd[p.velocities]) for k, p in zip(kinds, parts(kinds), strict=True)]
    return jnp.concatenate([jnp.zeros(0, q.dtype), *moved])


def euler(model: Model, q: Position, qd: Dof, ctrl: Control, h: Time) -> tuple[Position, Dof]:
    """Semi-implicit: the new velocities move the positions (`eq:dynamics`)."""
    qd = qd + h * accelerations(model, q, qd, ctrl)
    return advance(model, q, qd, h), qd


def damped(model: Model, q: Position, qd: Dof, ctrl: Control, h: Time) -> tuple[Position, Dof]:
    """The same with the damping at the new velocities, (M + h D) qdd = tau - D qd: stable at any damping."""
    implicit = [h * d for d in per_velocity(model, model.joints.damping)]
    qd = qd + h * accelerations(model, q, qd, ctrl, implicit)
    return advance(model, q, qd, h), qd


def implicit(model: Model, q: Position, qd: Dof, ctrl: Control, h: Time) -> tuple[Position, Dof]:
    """The same with what the actuators' forces lose with speed, too; each joint by itself."""
    slopes = zip(per_velocity(model, model.joints.damping), resistance(model, q, qd, ctrl), strict=True)
    qd = qd + h * accelerations(model, q, qd, ctrl, [h * (d + r) for d, r in slopes])
    return advance(model, q, qd, h), qd


def rk4(model: Model, q: Position, qd: Dof, ctrl: Control, h: Time) -> tuple[Position, Dof]:
    """Runge and Kutta's of fourth order, the control held; quaternions as Munthe-Kaas (1998), or it were of second."""
    velocities, rates, changes = qd, [qd], [accelerations(model, q, qd, ctrl)]
    for part in (0.5, 0.5, 1.0):
        there = advance(model, q, rates[-1], part * h)
        velocities = qd + part * h * changes[-1]
        rates.append(way_rates(model, part * h * rates[-1], velocities))
        changes.append(accelerations(model, there, velocities, ctrl))
    mean = lambda k: (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3]) / 6.0  # noqa: E731
    return advance(model, q, mean(rates), h), qd + h * mean(changes)


def way_rates(model: Model, way: Dof, qd: Dof) -> Dof:
    """How fast the way from a position grows, where one has come this far and has these velocities."""
    kinds = model.joints.kind
    found = [JOINTS[k].rate(way[p.velocities], qd[p.velocities]) for k, p in zip(kinds, parts(kinds), strict=True)]
    return jnp.concatenate([jnp.zeros(0, qd.dtype), *found])


INTEGRATORS: dict[str, Integrate] = {"euler": euler, "damped": damped, "implicit": implicit, "rk4": rk4}


def step(model: Model, state: State, ctrl: Control) -> State:
    """The state one time step later, in the model's substeps: the paper's f_step."""
    model, (count, _) = in_jax(model, state.dtype), sizes(model.joints.kind)
    q, qd = state[:count], state[count:]
    integrate, h = INTEGRATORS[model.integrator], jnp.asarray(model.timestep) / model.substeps
    for _ in range(model.substeps):
        q, qd = integrate(model, q, qd, ctrl, h)
    return jnp.concatenate([q, qd])
