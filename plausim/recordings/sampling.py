"""From the times of a recording to those of the model's steps; nothing is made up where nothing was measured."""

import numpy as np
from jaxtyping import Bool, Float

SAME = 1e-3  # of an interval: stamps are rounded, and so near to one it is one
Times = Float[np.ndarray, " times"]
Row = Float[np.ndarray, " rows"]
Mask = Bool[np.ndarray, " rows"]


def resample(
    time: Row, values: Row, known: Mask, at: Times, how: str = "linear", gap: float = np.inf
) -> tuple[Times, Bool[np.ndarray, " times"]]:
    """The values at other times, and whether they are known there.

    They are where both neighbours are known and no further apart than `gap`, or where a known one stands. `how` is
    "linear", or "cubic": a spline through each piece without a gap.
    """
    if how not in ("linear", "cubic"):
        raise ValueError(f'resampling is "linear" or "cubic", not {how!r}.')
    right = np.clip(np.searchsorted(time, at), 1, len(time) - 1)
    left = right - 1
    inside = known[left] & known[right] & (time[right] - time[left] <= gap) & (at >= time[0]) & (at <= time[-1])
    taken = np.where(known, values, 0.0)
    curve = _splines(time, taken, known, at, gap) if how == "cubic" else np.interp(at, time, taken)
    nearest = np.where(at - time[left] < time[right] - at, left, right)
    hit = known[nearest] & (np.abs(at - time[nearest]) <= SAME * (time[right] - time[left]))
    found = np.where(inside, curve, np.where(hit, taken[nearest], 0.0))
    return found, inside | hit


def _splines(time: Row, values: Row, known: Mask, at: Times, gap: float) -> Times:
    from scipy.interpolate import CubicSpline

    found = np.zeros(len(at))
    for first, last in pieces(time, known, gap):
        here = (at >= time[first]) & (at <= time[last])
        if last > first and here.any():
            piece = slice(first, last + 1)
            found[here] = CubicSpline(time[piece], values[piece])(at[here])
    return found


def pieces(time: Row, known: Mask, gap: float) -> list[tuple[int, int]]:
    """First and last row of each piece in which all is known and no gap is longer than this."""
    joined = known[:-1] & known[1:] & (np.diff(time) <= gap)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], joined.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def hold(time: Row, values: Row, at: Times) -> Times:
    """The value that was last set: of a control."""
    slack = SAME * np.min(np.diff(time), initial=np.inf) if len(time) > 1 else 0.0
    return values[np.clip(np.searchsorted(time, at + slack, side="right") - 1, 0, None)]


def measured(time: Row, at: Times) -> Bool[np.ndarray, " times"]:
    """Of a recording slower than the steps: which step is the nearest to some row."""
    near = np.searchsorted(at, time)
    near = np.clip(near, 1, len(at) - 1)
    near = np.where(time - at[near - 1] < at[near] - time, near - 1, near)
    found = np.zeros(len(at), bool)
    found[near] = True
    return found


def unwrap(values: Row, known: Mask) -> Row:
    """An angle without jumps of full turns: from one known row to the next it goes the short way."""
    found = np.array(values, float)
    found[known] = np.unwrap(found[known])
    return found
