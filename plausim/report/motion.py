"""The picture of a motion: every joint over time, and the skeleton of the robot as it goes."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

SNAPSHOTS = 12


class Curve(NamedTuple):
    """One number over time."""

    name: str
    unit: str
    values: Float[np.ndarray, " steps"]


def draw_motion(
    time: Float[np.ndarray, " steps"],
    curves: Sequence[Curve],
    bones: Float[np.ndarray, "steps bones 2 3"],
    title: str,
) -> Figure:
    """Curves of one unit share a panel; bones are lines from place to place in the world."""
    units = list(dict.fromkeys(c.unit for c in curves))
    figure = Figure(figsize=(11, max(4.5, 1.9 * len(units))), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.5, 1))
    panels = left.subplots(max(len(units), 1), 1, sharex=True, squeeze=False)[:, 0]
    for unit, panel in zip(units, panels, strict=False):
        for curve in (c for c in curves if c.unit == unit):
            panel.plot(time, curve.values, lw=1.4, label=curve.name)
        panel.set_ylabel(unit)
        panel.grid(alpha=0.25, lw=0.6)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    panels[-1].set_xlabel("time (s)")
    panels[0].set_title(title, loc="left", fontsize=11)
    draw_skeleton(right.subplots(), time, bones)
    return figure


def draw_skeleton(axes, time: Float[np.ndarray, " steps"], bones: Float[np.ndarray, "steps bones 2 3"]) -> None:
    """Snapshots, later ones brighter, in the plane in which most of the motion is."""
    if not bones.size:
        axes.set_axis_off()
        return
    spread = np.ptp(bones.reshape(-1, 3), axis=0)
    first, second = sorted(np.argsort(spread)[1:].tolist())
    shown = np.unique(np.linspace(0, len(time) - 1, SNAPSHOTS).astype(int))
    colours = matplotlib.colormaps["viridis"](np.linspace(0.05, 0.95, len(shown)))
    for colour, row in zip(colours, shown, strict=True):
        flat = bones[row][..., [first, second]]
        axes.add_collection(LineCollection(list(flat), colors=[colour], linewidths=2.0, alpha=0.85))
        axes.plot(*flat.reshape(-1, 2).T, "o", ms=3, color=colour, mec="none")
    axes.set_aspect("equal", adjustable="datalim")
    axes.autoscale_view()
    axes.grid(alpha=0.25, lw=0.6)
    axes.set_xlabel(f"{'xyz'[first]} (m)")
    axes.set_ylabel(f"{'xyz'[second]} (m)")
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(time[shown[0]], time[shown[-1]]), "viridis")
    axes.figure.colorbar(scale, ax=axes, label="time (s)", shrink=0.6)
