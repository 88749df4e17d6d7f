"""The picture of a motion: every joint over time, and the skeleton of the robot as it goes."""

from collections.abc import Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from plausim.report.style import COLOURS, DASHES, calm

SNAPSHOTS = 9
LEGEND_ROWS = 10
FLAT = 0.05  # the height of what is seen from above, of its width


class Curve(NamedTuple):
    """One number over time."""

    name: str
    unit: str
    values: Float[np.ndarray, " steps"]


class Skeleton(NamedTuple):
    """Lines and places in the world, m."""

    bones: Float[np.ndarray, "steps bones 2 3"]
    tips: Float[np.ndarray, "steps tips 3"]  # whose ways are drawn
    floor: float | None  # how high it is, if there is one


def draw_motion(time: Float[np.ndarray, " steps"], curves: Sequence[Curve], skeleton: Skeleton, title: str) -> Figure:
    """Curves of one unit share a panel, those of one name a colour."""
    units = list(dict.fromkeys(c.unit for c in curves))
    figure = Figure(figsize=(11, max(4.6, 1.75 * len(units))), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=12)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.5, 1))[0]
    if units:
        draw_curves(list(left.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]), units, time, curves)
    draw_skeleton(right.subplots(), time, skeleton)
    return figure


def draw_curves(
    panels: Sequence[Axes], units: Sequence[str], time: Float[np.ndarray, " steps"], curves: Sequence[Curve]
) -> None:
    """A panel for each unit. Names stand beside the first panel that shows them."""
    numbers = {name: i for i, name in enumerate(dict.fromkeys(c.name for c in curves))}
    explained: set[str] = set()
    for unit, panel in zip(units, panels, strict=True):
        for curve in (c for c in curves if c.unit == unit):
            turn, colour = divmod(numbers[curve.name], len(COLOURS))
            label = "_nolegend_" if curve.name in explained else curve.name
            explained.add(curve.name)
            dashes = DASHES[turn % len(DASHES)]
            panel.plot(time, curve.values, lw=1.5, label=label, color=COLOURS[colour], ls=dashes)
        panel.set_ylabel(unit or "1")
        panel.margins(x=0)
        calm(panel)
        shown = len(panel.get_legend_handles_labels()[0])
        if shown:
            panel.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.05), borderaxespad=0.2,
                         ncols=-(-shown // LEGEND_ROWS))  # fmt: skip
    panels[-1].set_xlabel("time (s)")


def draw_skeleton(axes: Axes, time: Float[np.ndarray, " steps"], skeleton: Skeleton) -> None:
    """Snapshots, later ones brighter, from the side; from above, where all is flat."""
    bones, tips, floor = skeleton
    if not bones.size:
        axes.set_axis_off()
        return
    places = np.concatenate([bones.reshape(-1, 3), tips.reshape(-1, 3)])
    wide, deep, tall = np.ptp(places, axis=0)
    across, up = (0, 1) if tall < FLAT * max(wide, deep) else (int(deep > wide), 2)
    shown = np.unique(np.linspace(0, len(time) - 1, SNAPSHOTS).astype(int))
    colours = matplotlib.colormaps["viridis"](np.linspace(0.0, 0.92, len(shown)))
    for tip in range(tips.shape[1]):
        axes.plot(tips[:, tip, across], tips[:, tip, up], color="0.75", lw=0.8, zorder=1)
    for colour, row in zip(colours, shown, strict=True):
        flat = bones[row][..., [across, up]]
        axes.add_collection(LineCollection(list(flat), colors=[colour], linewidths=2.2, capstyle="round"))
        axes.plot(*flat.reshape(-1, 2).T, "o", ms=3, color=colour, mec="none")
    if floor is not None and up == 2:
        axes.axhline(floor, color="0.4", lw=1.2, zorder=0)
    axes.set_aspect("equal", adjustable="box", anchor="N")
    axes.margins(0.08)
    axes.autoscale_view()
    _square(axes)
    calm(axes)
    axes.set_xlabel(f"{'xyz'[across]} (m)")
    axes.set_ylabel(f"{'xyz'[up]} (m)")
    scale = ScalarMappable(Normalize(float(time[0]), float(time[-1])), matplotlib.colormaps["viridis"])
    axes.figure.colorbar(scale, ax=axes, label="time (s)", location="top", shrink=0.7, aspect=40)


def _square(axes: Axes) -> None:
    """A view no narrower than three fifths of its height, nor lower than that of its width."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    wide, tall = right - left, high - low
    more_wide, more_tall = max(0.0, 0.6 * tall - wide) / 2, max(0.0, 0.6 * wide - tall) / 2
    axes.set_xlim(left - more_wide, right + more_wide)
    axes.set_ylim(low - more_tall, high + more_tall)


def _plain(axes: Axes) -> None:
    axes.grid(alpha=0.25, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
