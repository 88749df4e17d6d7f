"""Forces between bodies that touch: compliant, smooth, so that every number in them has a gradient.

Normal force by Hunt and Crossley, k d (1 + c d'), friction by Coulomb's law made smooth at low speed. Two surfaces are
two springs in series, which share the dissipation (Sherman, Seth and Delp 2011); of two friction coefficients the
larger one holds, or that of the geom with the higher priority, as in MuJoCo.
"""

from functools import reduce
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .forces import pushed, rubbed
from .kinematics import BodyMotion, Dof, Frame, Position, attached, frames, motion, still, velocity_at
from .model import WORLD, Model
from .spatial import Force, Vector, skew
from .touch import TOUCH, Point, Shape


class Surface(NamedTuple):
    """What a pair of geoms is to each other."""

    stiffness: Float[Array, ""]
    dissipation: Float[Array, ""]
    friction: Float[Array, ""]
    slipspeed: Float[Array, ""]


def between(model: Model, pair: int) -> Surface:
    g, (a, b) = model.geoms, model.geoms.touch[pair]
    total = g.stiffness[a] + g.stiffness[b]
    return Surface(
        stiffness=g.stiffness[a] * g.stiffness[b] / total,
        dissipation=(g.stiffness[b] * g.dissipation[a] + g.stiffness[a] * g.dissipation[b]) / total,
        friction=reduce(jnp.maximum, [g.friction[i] for i in g.rough[pair]]) if g.rough[pair] else 0.0 * total,
        slipspeed=jnp.minimum(g.slipspeed[a], g.slipspeed[b]),
    )


def contact_force(surface: Surface, point: Point, velocity: Vector) -> Vector:
    """On the first body, which moves past the second at this velocity."""
    away = point.normal @ velocity
    push = pushed(point.depth, -away, surface.stiffness, surface.dissipation)
    slip = velocity - away * point.normal
    return push * (point.normal - surface.friction * rubbed(slip, surface.slipspeed))


def points(model: Model, q: Position) -> list[tuple[int, Point]]:
    """The number of the pair and the point, of every contact there may be."""
    g, world, free = model.geoms, frames(model, q), still(q.dtype)
    there = [attached(free if b == WORLD else world[b], Frame(g.turn[i], g.pos[i])) for i, b in enumerate(g.body)]
    shapes = [Shape(frame.turn, frame.pos, g.size[i]) for i, frame in enumerate(there)]
    return [
        (pair, point)
        for pair, (a, b) in enumerate(g.touch)
        for point in TOUCH[g.kind[a], g.kind[b]](shapes[a], shapes[b])
    ]


def contact_forces(model: Model, q: Position, qd: Dof) -> dict[int, Force]:
    """The sum on each body that may touch something, in its frame."""
    if not model.geoms.touch:
        return {}
    world, moved, total = frames(model, q), motion(model, q, qd), {}
    for pair, point in points(model, q):
        first, second = (model.geoms.body[i] for i in model.geoms.touch[pair])
        speed = _speed(first, point.pos, world, moved) - _speed(second, point.pos, world, moved)
        force = contact_force(between(model, pair), point, speed)
        for body, sign in ((first, 1.0), (second, -1.0)):
            if body != WORLD:
                frame = world[body]
                local, lever = frame.turn.T @ (sign * force), frame.turn.T @ (point.pos - frame.pos)
                wrench = jnp.concatenate([skew(lever) @ local, local])
                total[body] = total[body] + wrench if body in total else wrench
    return total


def _speed(body: int, point: Vector, world: list[Frame], moved: list[BodyMotion]) -> Vector:
    """Of a place on a body, all in the world."""
    if body == WORLD:
        return jnp.zeros_like(point)
    turn, pos = world[body]
    return turn @ velocity_at(moved[body].velocity, turn.T @ (point - pos))
