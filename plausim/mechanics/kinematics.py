"""Where everything is and how it moves, from positions and velocities (Featherstone 2008, chapter 4).

motion    of each body, in its own frame: what the dynamics run on
frames    of each body, in the world
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from . import spatial
from .joints import JOINTS, parts
from .model import WORLD, Model
from .rotations import tilted
from .spatial import Motion, Transform, cross

Position = Float[Array, " nq"]
Dof = Float[Array, " nv"]


class BodyMotion(NamedTuple):
    """How a body moves, in its own frame."""

    turn: spatial.Matrix  # its axes in its parent's frame
    pos: spatial.Vector
    transform: Transform  # of motion, from its parent
    columns: list[Motion]  # the motion that each of its velocities makes
    velocities: list[int]  # which ones these are
    velocity: Motion
    drift: Motion  # its acceleration where its parent and its joints have none


def motion(model: Model, q: Position, qd: Dof) -> list[BodyMotion]:
    """Of every body, from the root to the tips."""
    bodies, moved = model.bodies, []
    for i, parent in enumerate(bodies.parent):
        turn, pos, joints = place(model, i, q)
        transform = spatial.transform(turn, pos)
        velocity = transform @ moved[parent].velocity if parent != WORLD else jnp.zeros(6, q.dtype)
        drift, columns, numbers = jnp.zeros(6, q.dtype), [], []
        for own, turning, where in joints:
            made = [column * qd[n] for column, n in zip(own, where, strict=True)]
            velocity = sum(made, velocity)
            drift = sum((cross(velocity, m) for m, t in zip(made, turning, strict=True) if t), drift)
            columns += own
            numbers += where
        moved.append(BodyMotion(turn, pos, transform, columns, numbers, velocity, drift))
    return moved


def place(model: Model, body: int, q: Position) -> tuple[spatial.Matrix, spatial.Vector, list]:
    """A body's frame in its parent's, and for each of its joints: columns, whether they turn, velocities' numbers."""
    joints, found = model.joints, []
    turn, pos = model.bodies.turn[body] @ tilted(model.bodies.tilt[body]), model.bodies.pos[body]
    for j, part in enumerate(parts(joints.kind)):
        if joints.body[j] != body:
            continue
        kind = JOINTS[joints.kind[j]]
        away = q[part.positions] - joints.ref[j] if kind.positions == 1 else q[part.positions]
        by, shift = kind.move(joints.axis[j], joints.pos[j], away)
        turn, pos = (by, shift) if joints.kind[j] == "free" else (turn @ by, pos + turn @ shift)
        carried = spatial.transform(by, shift)
        found = [([carried @ c for c in own], turning, where) for own, turning, where in found]
        own = list(kind.columns(joints.axis[j], joints.pos[j], by))
        found.append((own, kind.turning, list(range(part.velocities.start, part.velocities.stop))))
    return turn, pos, found


class Frame(NamedTuple):
    """A place and axes in the world."""

    turn: spatial.Matrix  # the axes are its columns
    pos: spatial.Vector


def frames(model: Model, q: Position) -> list[Frame]:
    """Of every body."""
    found: list[Frame] = []
    for i, parent in enumerate(model.bodies.parent):
        turn, pos, _ = place(model, i, q)
        found.append(Frame(turn, pos) if parent == WORLD else attached(found[parent], Frame(turn, pos)))
    return found


def attached(body: Frame, local: Frame) -> Frame:
    """A frame that is fixed to a body, in the world."""
    return Frame(body.turn @ local.turn, body.pos + body.turn @ local.pos)


def still(dtype: jnp.dtype) -> Frame:
    """The world's own."""
    return Frame(jnp.eye(3, dtype=dtype), jnp.zeros(3, dtype))


def velocity_at(velocity: Motion, point: spatial.Vector) -> spatial.Vector:
    """Of a point of a body, both in the body's frame."""
    return velocity[3:] + spatial.skew(velocity[:3]) @ point
