"""Where the predicted trajectories run, as a shade, with the recording as a line (`fig:ibm-pendulum-traj-density`)."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.ndimage import gaussian_filter1d

from plausim.report.style import BLUE, ORANGE, calm, few_ticks, label

COLUMNS, BINS = 400, 160  # of the shade
LINE = 1.5  # points: the recording must show on dark shades and on none
AIR = 0.35  # above and below the recording, in heights of it
SOFT = 1.5  # bins, by which the shade is softened, so that a hundred trajectories look like a density
SHADE = PowerNorm(0.5, 0.0, 0.2)  # the share of trajectories in one bin; few must stay visible beside many
PALETTE = LinearSegmentedColormap.from_list("from white to blue", ["white", "#a6cee3", BLUE, "#08306b"])

Trajectories = Float[np.ndarray, "particles steps channels"]


def draw_density(
    time: Float[np.ndarray, " steps"],
    predicted: Mapping[str, Trajectories],
    recording: Float[np.ndarray, "steps channels"],
    names: Sequence[str],
    units: Sequence[str],
    known: Bool[np.ndarray, "steps channels"] | None = None,
) -> Figure:
    """A row for each channel, a column for each method. What is not `known` of the recording leaves a gap in its line.

    Each moment's shade is the share of the trajectories that run through a bin, 1/160 of the panel's height.
    """
    line = recording if known is None else np.where(known, recording, np.nan)
    rows, columns = recording.shape[1], len(predicted)
    width, height = (7.5, 2.0) if columns == 1 else (max(2.4, 7.0 / columns), 1.5)
    figure = Figure(figsize=(width * columns + 1.1, height * rows + 0.8), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey="row", squeeze=False)
    for column, (method, trajectories) in enumerate(predicted.items()):
        panels[0, column].set_title(method, fontsize=11)
        panels[-1, column].set_xlabel("time (s)")
        for row in range(rows):
            draw_channel(panels[row, column], time, trajectories[..., row], line[:, row])
    for row, axes in enumerate(panels[:, 0]):
        axes.set_ylabel(label(names[row], units[row], "\n"))
    bar = figure.colorbar(ScalarMappable(SHADE, PALETTE), ax=panels, pad=0.015, aspect=30, fraction=0.04, extend="max")
    bar.set_label("trajectories per bin", fontsize=9)
    bar.set_ticks([0, 0.01, 0.05, 0.1, 0.2], labels=["0", "1 %", "5 %", "10 %", "20 %"], fontsize=8)
    handle = Line2D([], [], color=ORANGE, lw=LINE, label="recording")
    figure.legend(handles=[handle], loc="outside upper right", frameon=False, fontsize=9)
    return figure


def draw_channel(
    axes: Axes,
    time: Float[np.ndarray, " steps"],
    predicted: Float[np.ndarray, "particles steps"],
    recording: Float[np.ndarray, " steps"],
) -> None:
    """What runs beyond the view, or is not finite, is counted in the panel's corner."""
    edges = heights(recording)
    shade, beyond = shares(predicted, edges)
    half = 0.5 * (time[-1] - time[0]) / max(len(time) - 1, 1)
    extent = (time[0] - half, time[-1] + half, edges[0], edges[-1])
    soft = gaussian_filter1d(shade, SOFT, axis=1, mode="constant").T
    axes.imshow(soft, PALETTE, SHADE, aspect="auto", origin="lower", extent=extent, interpolation="bilinear")
    axes.plot(time, recording, color=ORANGE, lw=LINE)
    if beyond >= 0.005:
        text = f"{100 * beyond:.0f} % beyond the view"
        axes.text(0.99, 0.97, text, ha="right", va="top", transform=axes.transAxes, fontsize=8, color="#444444")
    axes.set_xlim(time[0], time[-1])
    axes.set_ylim(edges[0], edges[-1])
    calm(axes, grid=False)
    few_ticks(axes, "x", 5)
    few_ticks(axes, "y", 4)


def heights(recording: Float[np.ndarray, " steps"]) -> Float[np.ndarray, " edges"]:
    """The edges of the bins: over the recording, and some way above and below it."""
    low, high = np.nanmin(recording), np.nanmax(recording)
    air = AIR * (high - low) if high > low else 1.0
    return np.linspace(low - air, high + air, BINS + 1)


def shares(
    predicted: Float[np.ndarray, "particles steps"], edges: Float[np.ndarray, " edges"]
) -> tuple[Float[np.ndarray, "columns bins"], float]:
    """The share of trajectories in each bin of each column, and the share of all points that no bin holds.

    Neighbours in time are put together where there are more steps than columns.
    """
    steps, bins = predicted.shape[1], len(edges) - 1
    columns = min(steps, COLUMNS)
    column = np.broadcast_to(np.arange(steps) * columns // steps, predicted.shape)
    height = np.floor((predicted - edges[0]) / (edges[-1] - edges[0]) * bins)
    inside = (height >= 0) & (height < bins)  # not finite is not inside
    index = column[inside] * bins + height[inside].astype(int)
    counts = np.bincount(index, minlength=columns * bins).reshape(columns, bins)
    return counts / np.bincount(column[0])[:, None] / len(predicted), 1.0 - float(inside.mean())
