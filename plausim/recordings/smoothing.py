"""Velocities out of positions by the filter of Savitzky and Golay: the slope of a polynomial through a window of rows.

Rows that are not known take no part. At the ends, the window is the first or the last one. Of a quaternion it is the
turn from the row itself to each other row of the window that the polynomial runs through.
"""

import numpy as np
from jaxtyping import Bool, Float

WINDOW, ORDER = 15, 4
Mask = Bool[np.ndarray, " rows"]


def windows(rows: int, window: int) -> np.ndarray:
    """The rows of each row's window."""
    first = np.clip(np.arange(rows) - window // 2, 0, rows - window)
    return first[:, None] + np.arange(window)


def velocities(
    positions: Float[np.ndarray, " rows"], known: Mask, timestep: float, window: int = WINDOW, order: int = ORDER
) -> tuple[Float[np.ndarray, " rows"], Mask]:
    """Of numbers that add up: the velocity of each row, and whether it is known."""
    check(len(positions), window, order)
    around = windows(len(positions), window)
    found, enough = slopes(positions[around][..., None], known, timestep, window, order)
    return found[:, 0], enough


def slopes(
    ways: Float[np.ndarray, "rows window dims"], known: Mask, timestep: float, window: int, order: int
) -> tuple[Float[np.ndarray, "rows dims"], Mask]:
    """The slopes of polynomials through the windows, each at its own row.

    Known where the row is, and half its window and enough for the polynomial.
    """
    around = windows(len(known), window)
    patterns = np.concatenate([known[around], (np.arange(len(known)) - around[:, 0])[:, None]], axis=1)
    found = np.zeros((ways.shape[0], ways.shape[2]))
    least = max(order + 1, (window + 1) // 2)
    enough = known & (known[around].sum(1) >= least)
    kinds, which = np.unique(patterns[enough], axis=0, return_inverse=True)
    rows = np.flatnonzero(enough)
    for kind, pattern in enumerate(kinds):
        mask, own = pattern[:-1].astype(bool), int(pattern[-1])
        here = rows[which.ravel() == kind]
        found[here] = np.einsum("w,rwd->rd", _weights(mask, own, order), ways[here]) / timestep
    return found, enough


def _weights(mask: np.ndarray, own: int, order: int) -> Float[np.ndarray, " window"]:
    """What each row of a window counts in the slope at one of them, in units of the time between rows."""
    half = len(mask) / 2
    places = (np.flatnonzero(mask) - own) / half  # near 1: the powers stay apart
    weights = np.zeros(len(mask))
    weights[mask] = np.linalg.pinv(places[:, None] ** np.arange(order + 1))[1] / half
    return weights


def check(rows: int, window: int, order: int) -> None:
    if window % 2 == 0 or not 1 <= order < window:
        raise ValueError(
            f"the window of {window} rows and the order {order} do not go together; take an odd window, and an order "
            "from 1 up to below it."
        )
    if rows < window:
        raise ValueError(
            f"velocities by a window of {window} rows need that many; there are {rows}. Take a shorter one, or record "
            "the velocities."
        )
