"""The kinds of joint: how a body moves under one, one table, `JOINTS`.

Positions and velocities are MuJoCo's: a ball joint has a unit quaternion and an angular velocity in the body's axes; a
free joint has the place of the body's frame and a quaternion, and the velocity of that place in the world's axes.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from . import rotations
from .spatial import Matrix, Vector

Positions = Float[Array, " positions"]
Velocities = Float[Array, " velocities"]
State = Float[Array, " state"] | Float[np.ndarray, " state"]  # positions, then velocities
Delta = Float[Array, " delta"] | Float[np.ndarray, " delta"]  # a small change of a state: two numbers for each velocity
Columns = Float[Array, "velocities 6"]  # the motion that each velocity makes, in the frame that is moved


class Kind(NamedTuple):
    positions: int
    velocities: int
    move: Callable[[Vector, Vector, Positions], tuple[Matrix, Vector]]  # axis, pos, q - ref -> turn and shift
    columns: Callable[[Vector, Vector, Matrix], Columns]  # axis, pos, turn
    turning: tuple[bool, ...]  # which columns are fixed to what moves, not to the world
    advance: Callable[[Positions, Velocities], Positions]  # q, velocity * time
    stretch: Callable[[Positions, Positions], Velocities]  # from one position to another, as velocity * time
    rate: Callable[[Velocities, Velocities], Velocities]  # of the way gone since a position, from it and the velocity
    rest: tuple[float, ...]  # the position at reference


def _hinge_move(axis: Vector, pos: Vector, q: Positions) -> tuple[Matrix, Vector]:
    turn = rotations.about(axis, q[0])
    return turn, pos - turn @ pos


def _ball_move(axis: Vector, pos: Vector, q: Positions) -> tuple[Matrix, Vector]:
    turn = rotations.matrix(rotations.unit(q))
    return turn, pos - turn @ pos


def _turning_about(pos: Vector, axes: Float[Array, "axes 3"]) -> Columns:
    return jnp.concatenate([axes, jnp.cross(jnp.broadcast_to(pos, axes.shape), axes)], 1)


def _quaternion_advance(q: Positions, turn: Velocities) -> Positions:
    return rotations.product(rotations.unit(q), rotations.exponential(turn))


def _quaternion_stretch(start: Positions, end: Positions) -> Velocities:
    return rotations.logarithm(rotations.product(rotations.conjugate(rotations.unit(start)), rotations.unit(end)))


def _quaternion_rate(way: Velocities, velocity: Velocities) -> Velocities:
    """The inverse of the exponential's derivative: a way grows otherwise than one turns, about another axis."""
    square = way @ way
    small = square < 1e-4
    half = 0.5 * jnp.sqrt(jnp.where(small, 1.0, square))
    factor = jnp.where(small, 1.0 / 12.0 + square / 720.0, (1.0 - half / jnp.tan(half)) / jnp.where(small, 1.0, square))
    aside = jnp.cross(way, velocity)
    return velocity + 0.5 * aside + factor * jnp.cross(way, aside)


def _free_columns(axis: Vector, pos: Vector, turn: Matrix) -> Columns:
    zero, eye = jnp.zeros_like(turn), jnp.eye(3, dtype=turn.dtype)
    return jnp.concatenate([jnp.concatenate([zero, turn], 1), jnp.concatenate([eye, zero], 1)])


JOINTS: dict[str, Kind] = {
    "hinge": Kind(
        1, 1, _hinge_move,
        lambda axis, pos, turn: _turning_about(pos, axis[None]), (True,),
        lambda q, v: q + v, lambda a, b: b - a, lambda way, v: v, (0.0,),
    ),
    "slide": Kind(
        1, 1, lambda axis, pos, q: (jnp.eye(3, dtype=axis.dtype), q[0] * axis),
        lambda axis, pos, turn: jnp.concatenate([jnp.zeros_like(axis), axis])[None], (True,),
        lambda q, v: q + v, lambda a, b: b - a, lambda way, v: v, (0.0,),
    ),
    "ball": Kind(
        4, 3, _ball_move,
        lambda axis, pos, turn: _turning_about(pos, jnp.eye(3, dtype=axis.dtype)), (True,) * 3,
        _quaternion_advance, _quaternion_stretch, _quaternion_rate, (1.0, 0.0, 0.0, 0.0),
    ),
    "free": Kind(
        7, 6, lambda axis, pos, q: (rotations.matrix(rotations.unit(q[3:])), q[:3]),
        _free_columns, (False,) * 3 + (True,) * 3,
        lambda q, v: jnp.concatenate([q[:3] + v[:3], _quaternion_advance(q[3:], v[3:])]),
        lambda a, b: jnp.concatenate([b[:3] - a[:3], _quaternion_stretch(a[3:], b[3:])]),
        lambda way, v: jnp.concatenate([v[:3], _quaternion_rate(way[3:], v[3:])]),
        (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    ),
}  # fmt: skip


class Part(NamedTuple):
    """Where a joint's numbers stand in the positions and velocities of all."""

    positions: slice
    velocities: slice


def parts(kinds: tuple[str, ...]) -> list[Part]:
    ends = np.cumsum([(0, 0), *((JOINTS[k].positions, JOINTS[k].velocities) for k in kinds)], axis=0)
    return [Part(slice(q, qn), slice(v, vn)) for (q, v), (qn, vn) in pairwise(ends.tolist())]


def sizes(kinds: tuple[str, ...]) -> tuple[int, int]:
    """The numbers of positions and of velocities."""
    return sum(JOINTS[k].positions for k in kinds), sum(JOINTS[k].velocities for k in kinds)


def retract(kinds: tuple[str, ...], state: State, delta: Delta) -> State:
    """The state a way from another: positions advanced by the first half of delta, the second added to velocities.

    Example:
        >>> print(retract(("hinge", "slide"), np.zeros(4), np.array([0.5, 1.0, 0.25, 2.0])))
        [0.5  1.   0.25 2.  ]

    """
    nq, nv = sizes(kinds)
    state, delta = _taken("state", state, nq + nv), _taken("delta", delta, 2 * nv)
    moved = [
        JOINTS[k].advance(state[p.positions], delta[p.velocities]) for k, p in zip(kinds, parts(kinds), strict=True)
    ]
    return jnp.concatenate([*moved, state[nq:] + delta[nv:]])


def difference(kinds: tuple[str, ...], start: State, end: State) -> Delta:
    """The way from one state to another, which `retract` goes: a plain difference but for quaternions.

    Turns are taken the short way round, so a quaternion and its negative are one place.
    """
    nq, nv = sizes(kinds)
    start, end = _taken("start", start, nq + nv), _taken("end", end, nq + nv)
    ways = [JOINTS[k].stretch(start[p.positions], end[p.positions]) for k, p in zip(kinds, parts(kinds), strict=True)]
    return jnp.concatenate([*ways, end[nq:] - start[nq:]])


def _taken(what: str, numbers: State, count: int) -> Array:
    if numbers.shape != (count,):
        raise ValueError(f"{what} has the shape {numbers.shape}; for these joints it takes {count} numbers.")
    return jnp.asarray(numbers)
