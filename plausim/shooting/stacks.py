"""Recordings laid side by side, cut into windows, in arrays of one shape."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float

from plausim.recordings import Recording

if TYPE_CHECKING:
    from plausim.systems import System


class Stack(NamedTuple):
    """Of each recording and window: the measured start, and what was done and seen in each step after it."""

    names: tuple[str, ...]
    channels: tuple[str, ...]
    starts: Float[np.ndarray, "recordings windows state"]
    controls: Float[np.ndarray, "recordings windows steps controls"]
    observed: Float[np.ndarray, "recordings windows steps channels"]
    known: Bool[np.ndarray, "recordings windows steps channels"]
    spread: Float[np.ndarray, " tangent"]  # of the states
    channel_spread: Float[np.ndarray, " channels"]

    @property
    def windows(self) -> int:
        return self.starts.shape[1]

    @property
    def tangent(self) -> int:
        return len(self.spread)


def stacked(system: "System", recordings: Sequence[Recording], windows: int) -> Stack:
    """Check that the recordings fit the system and each other, and lay them side by side."""
    if not recordings:
        raise ValueError("there is no recording; give at least one.")
    if windows < 1:
        raise ValueError(f"{windows} windows were asked for; ask for at least 1.")
    for recording in recordings:
        _fits(system, recording)
        _divides(recording, windows)
        _finite(recording)
    _together(recordings)
    steps = recordings[0].steps // windows
    cut = lambda rows: np.reshape(rows, (windows, steps, rows.shape[1]))  # noqa: E731
    return Stack(
        names=tuple(r.name for r in recordings),
        channels=system.channels,
        starts=np.array([r.states[:-1:steps] for r in recordings]),
        controls=np.array([cut(r.controls) for r in recordings]),
        observed=np.array([cut(np.where(r.known, r.observed, 0.0)[1:]) for r in recordings]),
        known=np.array([cut(r.known[1:]) for r in recordings]),
        spread=state_spread(system, recordings),
        channel_spread=channel_spread(recordings),
    )


def _fits(system: "System", recording: Recording) -> None:
    name = recording.name
    if recording.channels != system.channels:
        raise ValueError(
            f"{name} has the channels {', '.join(recording.channels)}; the model has {', '.join(system.channels)}."
        )
    if not np.isclose(recording.timestep, system.timestep, rtol=1e-6):
        raise ValueError(
            f"{name} has a sample every {recording.timestep:g} s, the model a step every {system.timestep:g} s; "
            "make the recording for this model, or set its timestep."
        )
    if system.sizes is None:
        return
    found = recording.states.shape[1], recording.controls.shape[1]
    for what, ours, theirs in zip(("states", "controls"), found, system.sizes, strict=True):
        if ours != theirs:
            raise ValueError(f"{name} has {what} of {ours} numbers, the model's have {theirs}; make it for this model.")


def _divides(recording: Recording, windows: int) -> None:
    name, steps = recording.name, recording.steps
    if steps % windows:
        trimmed = f"trim it to {steps - steps % windows} steps, or " if windows < steps else ""
        raise ValueError(
            f"{name} has {steps} steps, which do not divide into {windows} windows; {trimmed}pick a divisor of {steps}."
        )


def _finite(recording: Recording) -> None:
    """What is measured are numbers, and so is every state, since any may be a start."""
    name = recording.name
    if not recording.known[1:].any():
        raise ValueError(f"{name} has no measured sample after its first; there is nothing to compare with.")
    bad = np.argwhere(recording.known & ~np.isfinite(recording.observed))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{name} has {recording.observed[row, column]} in sample {row} of {recording.channels[column]}, which "
            "counts as measured; mark it as not known."
        )
    for what in ("states", "controls"):
        numbers = getattr(recording, what)
        bad = np.argwhere(~np.isfinite(numbers))
        if len(bad):
            raise ValueError(f"{name} has {numbers[tuple(bad[0])]} in row {bad[0][0]} of its {what}; fill it in.")


def _together(recordings: Sequence[Recording]) -> None:
    names = [r.name for r in recordings]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{names.count(name)} recordings are called {name}; give each a name of its own.")
    lengths = {r.name: r.steps for r in recordings}
    if len(set(lengths.values())) > 1:
        shortest = min(lengths.values())
        listed = ", ".join(f"{name}: {steps}" for name, steps in lengths.items())
        raise ValueError(f"the recordings differ in length (steps of {listed}); cut them all to {shortest} steps.")


def state_spread(system: "System", recordings: Sequence[Recording]) -> Float[np.ndarray, " tangent"]:
    """The standard deviation of the states about their first, so that all coordinates are of one size."""
    away = jax.jit(jax.vmap(system.difference, in_axes=(None, 0)))
    steps = np.concatenate([np.asarray(away(r.states[0], r.states)) for r in recordings])
    return _positive(np.std(steps, axis=0))


def channel_spread(recordings: Sequence[Recording]) -> Float[np.ndarray, " channels"]:
    observed = np.concatenate([np.where(r.known, r.observed, np.nan) for r in recordings])
    seen = ~np.all(np.isnan(observed), axis=0)
    found = np.ones(observed.shape[1])
    found[seen] = np.nanstd(observed[:, seen], axis=0)
    return _positive(found)


def _positive(spread: Float[np.ndarray, " numbers"]) -> Float[np.ndarray, " numbers"]:
    """What does not move has the spread of the rest, or 1."""
    usual = float(np.median(spread[spread > 1e-9])) if np.any(spread > 1e-9) else 1.0
    return np.where(spread > 1e-9, spread, usual)
