"""Where two shapes touch: one table, `TOUCH`, from a pair of kinds to their points of contact.

    touch: (Shape, Shape) -> list of Point

Points are there whether the shapes touch or not: what is apart has a negative depth. Kinks: where the deepest place
jumps (a cylinder that stands upright, capsules that are parallel), gradients see the place of the moment only.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from .spatial import Matrix, Vector

TINY = 1e-12


class Shape(NamedTuple):
    """A geom in the world; `size` as MuJoCo has it, and along the columns of `turn`."""

    turn: Matrix
    pos: Vector
    size: Vector


class Point(NamedTuple):
    """Where two shapes touch: halfway between their surfaces."""

    pos: Vector
    normal: Vector  # from the second shape to the first
    depth: Float[Array, ""]


def _length(v: Vector) -> Float[Array, ""]:
    return jnp.sqrt(v @ v + TINY)


def _ball_on_plane(plane: Shape, centre: Vector, radius: Float[Array, ""]) -> Point:
    normal = plane.turn[:, 2]
    depth = radius - normal @ (centre - plane.pos)
    return Point(centre - (radius - 0.5 * depth) * normal, normal, depth)


def _two_balls(a: Vector, b: Vector, radius_a: Float[Array, ""], radius_b: Float[Array, ""]) -> Point:
    apart = _length(a - b)
    normal = (a - b) / apart
    depth = radius_a + radius_b - apart
    return Point(b + (radius_b - 0.5 * depth) * normal, normal, depth)


def _ends(capsule: Shape) -> tuple[Vector, Vector]:
    along = capsule.size[1] * capsule.turn[:, 2]
    return capsule.pos - along, capsule.pos + along


def sphere_plane(sphere: Shape, plane: Shape) -> list[Point]:
    return [_ball_on_plane(plane, sphere.pos, sphere.size[0])]


def capsule_plane(capsule: Shape, plane: Shape) -> list[Point]:
    return [_ball_on_plane(plane, end, capsule.size[0]) for end in _ends(capsule)]


def box_plane(box: Shape, plane: Shape) -> list[Point]:
    """All eight corners: each that is below pushes by itself, so a box on its face stands on four springs."""
    signs = [jnp.array([x, y, z], box.size.dtype) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    zero = jnp.zeros((), box.size.dtype)
    return [_ball_on_plane(plane, box.pos + box.turn @ (s * box.size), zero) for s in signs]


def cylinder_plane(cylinder: Shape, plane: Shape) -> list[Point]:
    """On each rim the lowest point, the highest, and those halfway: it stands on four, and rolls on two."""
    axis, normal = cylinder.turn[:, 2], plane.turn[:, 2]
    radius, half = cylinder.size[0], cylinder.size[1]
    down = -(normal - (normal @ axis) * axis) + 1e-6 * cylinder.turn[:, 0]  # some direction, where it stands upright
    down = down / _length(down)
    aside = jnp.cross(axis, down)
    zero = jnp.zeros((), axis.dtype)
    rim = [radius * d for d in (down, aside, -down, -aside)]
    caps = [cylinder.pos - half * axis, cylinder.pos + half * axis]
    return [_ball_on_plane(plane, cap + way, zero) for cap in caps for way in rim]


def sphere_sphere(a: Shape, b: Shape) -> list[Point]:
    return [_two_balls(a.pos, b.pos, a.size[0], b.size[0])]


def capsule_sphere(capsule: Shape, sphere: Shape) -> list[Point]:
    axis, half = capsule.turn[:, 2], capsule.size[1]
    nearest = capsule.pos + jnp.clip(axis @ (sphere.pos - capsule.pos), -half, half) * axis
    return [_two_balls(nearest, sphere.pos, capsule.size[0], sphere.size[0])]


def capsule_capsule(a: Shape, b: Shape) -> list[Point]:
    """Between the nearest points of their axes (Ericson 2005, 5.1.9)."""
    u, v, between = a.turn[:, 2], b.turn[:, 2], a.pos - b.pos
    cosine, along_u, along_v = u @ v, u @ between, v @ between
    s = jnp.clip((cosine * along_v - along_u) / (1.0 - cosine * cosine + TINY), -a.size[1], a.size[1])
    t = jnp.clip(cosine * s + along_v, -b.size[1], b.size[1])
    s = jnp.clip(cosine * t - along_u, -a.size[1], a.size[1])
    return [_two_balls(a.pos + s * u, b.pos + t * v, a.size[0], b.size[0])]


TOUCH: dict[tuple[str, str], Callable[[Shape, Shape], list[Point]]] = {
    ("sphere", "plane"): sphere_plane,
    ("capsule", "plane"): capsule_plane,
    ("box", "plane"): box_plane,
    ("cylinder", "plane"): cylinder_plane,
    ("sphere", "sphere"): sphere_sphere,
    ("capsule", "sphere"): capsule_sphere,
    ("capsule", "capsule"): capsule_capsule,
}
