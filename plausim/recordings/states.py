"""The states of a recorded motion, where simulations may start: given, read off the sensors of joints, or estimated.

All of it on evenly spaced samples. Where a joint's position was not measured it is interpolated: a state is a place to
start from, not a measurement.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from plausim.mechanics.joints import JOINTS, parts, sizes
from plausim.mechanics.model import Model

from . import smoothing
from .estimation import estimated
from .record import blocks

DIRECT = {
    "jointpos": 0,
    "ballquat": 0,
    "jointvel": 1,
    "ballangvel": 1,
}  # sensors of a joint: 0 where it is, 1 its speed

Samples = Float[np.ndarray, "samples channels"]
Known = Bool[np.ndarray, "samples channels"]
States = Float[np.ndarray, "samples state"]


class Sampled(NamedTuple):
    """Some numbers of a state over time, and when they are known."""

    values: Float[np.ndarray, "samples numbers"]
    known: Bool[np.ndarray, " samples"]


class Smoothing(NamedTuple):
    """The filter that makes velocities: samples in its window, order of its polynomial."""

    window: int = smoothing.WINDOW
    order: int = smoothing.ORDER


def seen(model: Model) -> list[tuple[slice, int, int]]:
    """The channels of sensors that show a joint itself: which joint, and 0 for where it is, 1 for how fast."""
    return [(own, s.element, DIRECT[s.kind]) for s, own in blocks(model) if s.kind in DIRECT]


def states_of(
    model: Model,
    observed: Samples,
    known: Known,
    timestep: float,
    name: str,
    smooth: Smoothing = Smoothing(),  # noqa: B008
    given: dict[tuple[int, int], Sampled] | None = None,
    estimate: bool = False,
    guess: np.ndarray | None = None,
) -> States:
    """The states, on samples that are `timestep` apart.

    Args:
        model: the robot.
        observed: what its sensors show.
        known: where they do.
        timestep: seconds from sample to sample.
        name: of the recording, for errors.
        smooth: the filter for velocities that no sensor shows.
        given: what is known of a joint without sensors: (joint, 0) its positions, (joint, 1) its velocities.
        estimate: positions by least squares, even where sensors show them.
        guess: a state near to the first one, for the least squares.

    """
    found = dict(given or {})
    for channels, joint, which in seen(model):
        if (joint, which) not in found and known[:, channels].any():
            found[joint, which] = Sampled(observed[:, channels], np.all(known[:, channels], axis=1))
    joints = range(len(model.joints.kind))
    if estimate or any((joint, 0) not in found for joint in joints):
        places, sure = estimated(model, observed, known, name, guess)
        for joint, part in enumerate(parts(model.joints.kind)):
            if estimate or (joint, 0) not in found:
                found[joint, 0] = Sampled(places[:, part.positions], sure)
    positions = [_complete(model, joint, found[joint, 0], name) for joint in joints]
    speeds = [_speeds(model, joint, found, timestep, smooth) for joint in joints]
    return np.concatenate([np.zeros((len(observed), 0)), *positions, *speeds], axis=1)


def _complete(model: Model, joint: int, sampled: Sampled, name: str) -> Float[np.ndarray, "samples positions"]:
    """The positions of a joint at all samples."""
    if not sampled.known[0]:
        first = f"sample {int(np.argmax(sampled.known))} is the first" if sampled.known.any() else "none is"
        raise ValueError(
            f"{name}: the position of {model.joints.name[joint]} is not known at the start, and a simulation has to "
            f"start somewhere; {first} at which it is. Take the rows from there (recordings.between), or give the "
            f"column joint:{model.joints.name[joint]}."
        )
    return filled(sampled.values, sampled.known, quaternion_of(model.joints.kind[joint]))


def quaternion_of(kind: str) -> slice | None:
    """Where a joint's positions are a quaternion."""
    return {"ball": slice(0, 4), "free": slice(3, 7)}.get(kind)


def filled(
    values: Float[np.ndarray, "samples numbers"], known: Bool[np.ndarray, " samples"], quaternion: slice | None
) -> Float[np.ndarray, "samples numbers"]:
    """Interpolated where it is not known; a quaternion keeps its sign from sample to sample, and its length of 1."""
    rows = np.arange(len(values))
    if quaternion is not None:
        values = values.copy()
        values[:, quaternion] = same_sign(values[:, quaternion], known)
    found = np.stack([np.interp(rows, rows[known], column[known]) for column in values.T], axis=1)
    if quaternion is not None:
        found[:, quaternion] /= np.linalg.norm(found[:, quaternion], axis=1, keepdims=True)
    return found


def same_sign(quaternions: Float[np.ndarray, "samples 4"], known: Bool[np.ndarray, " samples"]) -> np.ndarray:
    """A quaternion and its negative are one turn: the sign that is nearer to the sample before."""
    found = quaternions.copy()
    rows = np.flatnonzero(known)
    turned = np.sum(found[rows[1:]] * found[rows[:-1]], axis=1) < 0
    found[rows[1:]] *= np.where(np.cumsum(turned) % 2 == 1, -1.0, 1.0)[:, None]
    return found


def _speeds(
    model: Model, joint: int, found: dict[tuple[int, int], Sampled], timestep: float, smooth: Smoothing
) -> Float[np.ndarray, "samples velocities"]:
    """The velocities of a joint: measured, or slopes of its positions."""
    kind = model.joints.kind[joint]
    measured = found.get((joint, 1))
    if measured is None or not measured.known.any():
        measured = speeds(kind, found[joint, 0], timestep, smooth)
    if not measured.known.any():
        raise ValueError(
            f"the positions of {model.joints.name[joint]} have too many gaps for velocities by a window of "
            f"{smooth.window} samples; take a shorter window, or give the column jointvel:{model.joints.name[joint]}."
        )
    return filled(measured.values, measured.known, None)


def speeds(kind: str, positions: Sampled, timestep: float, smooth: Smoothing) -> Sampled:
    """Of a joint of any kind, out of its positions."""
    smoothing.check(len(positions.values), *smooth)
    if not positions.known.any():
        _, width = sizes((kind,))
        return Sampled(np.zeros((len(positions.values), width)), positions.known)
    places = filled(positions.values, positions.known, quaternion_of(kind))
    around = places[smoothing.windows(len(places), smooth.window)]
    stretch = jax.jit(jax.vmap(jax.vmap(JOINTS[kind].stretch, (None, 0))))
    ways = np.asarray(stretch(jnp.asarray(places), jnp.asarray(around)), float)
    return Sampled(*smoothing.slopes(ways, positions.known, timestep, *smooth))


def at_times(
    model: Model, states: States, timestep: float, at: Float[np.ndarray, " times"]
) -> Float[np.ndarray, "times state"]:
    """States that are `timestep` apart, at other times since the first: along the straight way between two of them."""
    (count, _), last = sizes(model.joints.kind), len(states) - 1
    places = np.clip(at / timestep, 0.0, last)
    places = np.where(np.abs(places - np.round(places)) < 1e-6, np.round(places), places)
    left = np.clip(np.floor(places).astype(int), 0, max(last - 1, 0))
    right, share = np.minimum(left + 1, last), places - left
    found = [(1.0 - share)[:, None] * states[left, count:] + share[:, None] * states[right, count:]]

    def between(kind: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        joint = JOINTS[kind]
        along = jax.jit(jax.vmap(lambda a, b, s: joint.advance(a, s * joint.stretch(a, b))))
        return np.asarray(along(jnp.asarray(a), jnp.asarray(b), jnp.asarray(share)), float)

    moved = [
        between(kind, states[left, part.positions], states[right, part.positions])
        for kind, part in zip(model.joints.kind, parts(model.joints.kind), strict=True)
    ]
    return np.concatenate([np.zeros((len(at), 0)), *moved, *found], axis=1)
