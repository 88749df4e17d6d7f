"""Positions of joints that explain what the sensors of places show: least squares, each sample from the last.

The unknowns are a small way from the last positions (`joints.retract`), so that quaternions stay of unit length.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plausim.mechanics.joints import difference, parts, retract, sizes
from plausim.mechanics.model import Model, on_device
from plausim.mechanics.motion import start
from plausim.mechanics.sensors import observe

from .record import blocks

PLACES = {
    "jointpos", "ballquat", "framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framepoints",
}  # fmt: skip
BLIND = 1e-6  # of the largest singular value: what changes less with a joint does not show it
STARTS = 12  # for the first sample, which has none before it

Row = Float[np.ndarray, " channels"]
Mask = Bool[np.ndarray, " channels"]
Place = Float[np.ndarray, " positions"]
Samples = Float[np.ndarray, "samples channels"]
State = Float[np.ndarray, " state"]


class Fit(NamedTuple):
    position: Place
    cost: float
    blind: Float[np.ndarray, " velocities"]  # how much of each velocity no sensor sees, from 0 to 1


class Eyes(NamedTuple):
    """The sensors of places of a model, and how they would look after a way from some state."""

    model: Model
    columns: np.ndarray  # their channels
    look: Callable[..., tuple[Array, Array]]  # way, state, target, mask -> slope of the misfit, misfit
    move: Callable[..., Array]  # state, way -> state


def estimated(
    model: Model,
    observed: Samples,
    known: Bool[np.ndarray, "samples channels"],
    name: str,
    guess: Float[np.ndarray, " state"] | None = None,
) -> tuple[Float[np.ndarray, "samples positions"], Bool[np.ndarray, " samples"]]:
    """The positions at each sample, and whether the sensors determine them there."""
    eyes = _eyes(model)
    target, mask = observed[:, eyes.columns], known[:, eyes.columns]
    _all_seen(eyes, np.any(mask, axis=0), name)
    rows = np.flatnonzero(mask.any(1))
    fullest = int(rows[np.argmax(mask[rows].sum(1))])
    position = _first(eyes, target[fullest], mask[fullest], guess, name)
    found, sure = np.tile(position, (len(target), 1)), np.zeros(len(target), bool)
    for order in (rows[rows >= fullest], rows[rows < fullest][::-1]):
        last = position
        for row in order:
            one = fitted(eyes, last, target[row], mask[row])
            found[row], sure[row] = one.position, one.blind.max(initial=0.0) < 0.1
            last = one.position if sure[row] else last
    return found, sure


def _eyes(model: Model) -> Eyes:
    chosen = [i for s, own in blocks(model) if s.kind in PLACES for i in range(own.start, own.stop)]
    sensors = tuple(s for s in model.sensors if s.kind in PLACES)
    looking = on_device(replace(model, sensors=sensors), jnp.zeros(0).dtype)
    idle = jnp.zeros(len(model.actuators.name))

    def move(state: Array, way: Array) -> Array:
        return jnp.asarray(retract(model.joints.kind, state, jnp.concatenate([way, jnp.zeros_like(way)])))

    def misfit(way: Array, state: Array, target: Array, mask: Array) -> tuple[Array, Array]:
        shown = _nearer_signs(looking, observe(looking, move(state, way), idle), target)
        found = jnp.where(mask, shown - target, 0.0)
        return found, found

    return Eyes(looking, np.array(chosen, int), jax.jit(jax.jacfwd(misfit, has_aux=True)), jax.jit(move))


def _nearer_signs(model: Model, shown: Array, target: Array) -> Array:
    """A quaternion and its negative are one turn: of the two, the one nearer to what was measured."""
    for sensor, own in blocks(model):
        if sensor.kind in ("ballquat", "framequat"):
            shown = shown.at[own].multiply(jnp.where(shown[own] @ target[own] < 0, -1.0, 1.0))
    return shown


def fitted(eyes: Eyes, position: Place, target: Row, mask: Mask) -> Fit:
    """The positions near to these that explain one sample."""
    from scipy.optimize import least_squares

    velocities = sizes(eyes.model.joints.kind)[1]
    state = np.concatenate([position, np.zeros(velocities)])
    tolerance = float(jnp.finfo(jnp.zeros(0).dtype).eps) ** 0.75

    @lru_cache(maxsize=1)  # the solver asks for the misfit and then for its slope
    def look(way: bytes) -> tuple[np.ndarray, np.ndarray]:
        slope, misfit = eyes.look(np.frombuffer(way), state, target, mask)
        return np.asarray(slope, float), np.asarray(misfit, float)

    slope: Any = lambda way: look(way.tobytes())[0]  # noqa: E731
    best: Any = least_squares(
        lambda way: look(way.tobytes())[1], np.zeros(velocities), slope,
        method="lm", xtol=tolerance, ftol=tolerance, gtol=tolerance,
    )  # fmt: skip
    there = np.asarray(eyes.move(state, best.x), float)
    return Fit(there[: len(position)], float(best.cost), _blind(eyes, there, target, mask))


def _blind(eyes: Eyes, state: State, target: Row, mask: Mask) -> Float[np.ndarray, " velocities"]:
    """How much of each velocity lies where a change shows in no sensor."""
    still = np.zeros(sizes(eyes.model.joints.kind)[1])
    slope = np.asarray(eyes.look(still, state, target, mask)[0], float)
    _, size, ways = np.linalg.svd(np.pad(slope, ((0, slope.shape[1]), (0, 0))), full_matrices=False)
    return np.linalg.norm(ways[size <= BLIND * max(size.max(initial=0.0), 1e-300)], axis=0)


def _all_seen(eyes: Eyes, mask: Mask, name: str) -> None:
    """An error that names the joints which the sensors determine nowhere."""
    model, unseen = eyes.model, np.ones(sizes(eyes.model.joints.kind)[1], bool)
    for way in _ways(model)[1:4]:
        unseen &= _blind(eyes, np.asarray(eyes.move(start(model), way), float), np.zeros(len(mask)), mask) > 0.1
    joints = zip(model.joints.name, parts(model.joints.kind), strict=True)
    names = [joint for joint, part in joints if unseen[part.velocities].any()]
    if names:
        looking = ", ".join(sensor.name for sensor in model.sensors) or "none"
        raise ValueError(
            f"{name}: the positions of {', '.join(names)} cannot be told from the sensors of places ({looking}). Give "
            f"{', '.join(f'joint:{joint}' for joint in names)} as further columns, or add sensors to the model."
        )


def _ways(model: Model) -> Float[np.ndarray, "starts velocities"]:
    """From where the file draws the robot to other positions, all over: turns of up to pi, slides within limits."""
    j, velocities = model.joints, sizes(model.joints.kind)[1]
    lower, upper = np.full(velocities, -np.pi), np.full(velocities, np.pi)
    for i, (kind, part) in enumerate(zip(j.kind, parts(j.kind), strict=True)):
        if kind in ("hinge", "slide"):
            ends = np.array([j.lower[i], j.upper[i]]) - np.asarray(j.ref[i])
            lower[part.velocities], upper[part.velocities] = ends if j.limited[i] else (-np.pi, np.pi)
    random = np.random.default_rng(0).random((STARTS, velocities))
    return np.concatenate([np.zeros((1, velocities)), lower + (upper - lower) * random])


def _first(eyes: Eyes, target: Row, mask: Mask, guess: State | None, name: str) -> Place:
    """The positions at one sample: near to the guess; without one from all over, if there is only one answer."""
    model, count = eyes.model, sizes(eyes.model.joints.kind)[0]
    if guess is not None:
        return fitted(eyes, np.asarray(guess, float)[:count], target, mask).position
    places = [np.asarray(eyes.move(start(model), way), float)[:count] for way in _ways(model)]
    fits = [fitted(eyes, place, target, mask) for place in places]
    inside = [fit for fit in fits if _within_limits(model, fit.position)] or fits
    best = min(inside, key=lambda fit: fit.cost)
    good = 4.0 * best.cost + 1e-9 * float(target[mask] @ target[mask])
    for fit in inside:
        if fit.cost <= good and _apart(model, best.position, fit.position) > 0.05:
            one, other = (np.array2string(f.position, precision=3, separator=", ") for f in (best, fit))
            raise ValueError(
                f"{name}: several positions of the joints explain the first sample equally well, such as {one} and "
                f"{other}. Say near which it starts (guess=, a state), or give columns joint:NAME."
            )
    return best.position


def _within_limits(model: Model, position: Place) -> bool:
    j = model.joints
    for i, part in enumerate(parts(j.kind)):
        if j.limited[i] and j.kind[i] in ("hinge", "slide"):
            slack = 0.05 * float(j.upper[i] - j.lower[i])
            if not j.lower[i] - slack <= position[part.positions.start] <= j.upper[i] + slack:
                return False
    return True


def _apart(model: Model, one: Place, other: Place) -> float:
    """The largest way between two positions, full turns of a hinge left out."""
    kinds, still = model.joints.kind, np.zeros(sizes(model.joints.kind)[1])
    way = np.asarray(difference(kinds, np.concatenate([one, still]), np.concatenate([other, still])))
    ways = []
    for kind, part in zip(kinds, parts(kinds), strict=True):
        own = way[part.velocities]
        ways.append(np.abs(np.angle(np.exp(1j * own))) if kind == "hinge" else np.abs(own))
    return float(np.max(np.concatenate(ways)))
