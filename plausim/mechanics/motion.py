"""A model's motion over many steps."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim import fuse

from . import rotations
from .integrators import State, step
from .joints import JOINTS, sizes
from .model import Model, on_device


def start(model: Model) -> Float[np.ndarray, " state"]:
    """The state in which the file draws the robot, at rest: positions, then velocities.

    Example:
        >>> from plausim import mechanics
        >>> print(mechanics.start(mechanics.robot("cartpole")))  # the cart's place, the pole's angle; both speeds
        [0. 0. 0. 0.]

    """
    positions = []
    for i, kind in enumerate(model.joints.kind):
        own = np.array(JOINTS[kind].rest)
        if kind in ("hinge", "slide"):
            own = np.asarray(model.joints.ref[i])[None]
        if kind == "free":
            own = np.concatenate([np.asarray(model.bodies.pos[model.joints.body[i]]), _quaternion(model, i)])
        positions.append(own)
    _, velocities = sizes(model.joints.kind)
    return np.concatenate([np.zeros(0), *positions, np.zeros(velocities)])


def _quaternion(model: Model, joint: int) -> np.ndarray:
    body = model.joints.body[joint]
    turn, tilt = model.bodies.turn[body], model.bodies.tilt[body]
    return np.asarray(rotations.quaternion(jnp.asarray(turn) @ rotations.tilted(jnp.asarray(tilt))))


def simulate(
    model: Model,
    state: State | np.ndarray | Sequence[float],
    controls: Float[Array, "steps nu"] | Float[np.ndarray, "steps nu"] | None = None,
    steps: int | None = None,
) -> Float[Array, "steps state"]:
    """The states after each step, row by row, as one compiled kernel; `state` itself is not among them.

    Args:
        model: the robot.
        state: where it starts: positions, then velocities.
        controls: a row for each step; none for a robot that is left alone.
        steps: how many, where there are no controls.

    Example:
        >>> from plausim import mechanics
        >>> model = mechanics.robot("pendulum")
        >>> angles = mechanics.simulate(model, [1.0, 0.0], steps=200)[:, 0]  # let go at 1 rad, for 1 s
        >>> print(f"{angles[-1]:.2f}")
        -0.88

    """
    count = len(model.actuators.name)
    nq, nv = sizes(model.joints.kind)
    state = jnp.asarray(state, float)
    if state.shape != (nq + nv,):
        raise ValueError(
            f"the state has shape {state.shape}; this model has {nq} positions and {nv} velocities: ({nq + nv},)."
        )
    if controls is None:
        if steps is None:
            raise ValueError("say how many steps, or give controls with a row for each.")
        controls = jnp.zeros((steps, count), state.dtype)
    controls = jnp.asarray(controls, state.dtype)
    if controls.ndim != 2 or controls.shape[1] != count or steps not in (None, len(controls)):
        raise ValueError(
            f"the controls have shape {controls.shape}; with {count} actuators it is ({steps or 'steps'}, {count})."
        )
    model = on_device(model, state.dtype)

    def advance(state: State, control: Float[Array, " nu"]) -> tuple[State, State]:
        state = step(model, state, control)
        return state, state

    return fuse.scan(advance, state, controls)[1]
