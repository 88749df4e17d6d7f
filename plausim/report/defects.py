"""How well shooting windows join: their gaps over the run, and one particle's windows over the recording."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausim.report.style import BLUE, GREY, ORANGE, SKY, VERMILION, calm, few_ticks, label


def draw_defects(
    iterations: Float[np.ndarray, " iterations"],
    defects: Float[np.ndarray, " iterations *gaps"],
    goal: float | None = None,
    unit: str = "spread of the states",
) -> Figure:
    """The sizes of all gaps, of every particle and window, at each iteration; NaN and infinite ones are left out."""
    sizes = np.abs(defects.reshape(len(defects), -1))
    sizes = np.where(np.isfinite(sizes), sizes, np.nan)
    some = np.isfinite(sizes).any(axis=1)
    iterations, sizes = iterations[some], sizes[some]
    low, middle, high, largest = np.nanquantile(sizes, [0.05, 0.5, 0.95, 1.0], axis=1)
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.fill_between(iterations, low, high, color=BLUE, alpha=0.25, lw=0, label="9 in 10 gaps")
    axes.plot(iterations, middle, color=BLUE, lw=1.8, label="median")
    axes.plot(iterations, largest, color=GREY, lw=1.0, ls=(0, (4, 2)), label="largest")
    if goal is not None:
        axes.axhline(goal, color=VERMILION, lw=1.2, ls=(0, (1.5, 1.5)), label="goal")
    if largest.max() > 0:  # where all windows join exactly, there is no logarithm
        axes.set_yscale("log")
    axes.set_xlabel("iteration")
    axes.set_ylabel(label("gap between windows", unit, "\n"))
    few_ticks(axes, "x", 6)
    calm(axes)
    figure.legend(loc="outside upper right", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_windows(
    time: Float[np.ndarray, " steps"],
    recording: Float[np.ndarray, "steps channels"],
    window_time: Float[np.ndarray, "windows points"],
    windows: Float[np.ndarray, "windows points channels"],
    names: Sequence[str],
    units: Sequence[str],
    known: Bool[np.ndarray, "steps channels"] | None = None,
) -> Figure:
    """One particle's shooting windows, from their starts to where the next one starts (`fig:double-pendulum-ms`, c)."""
    line = recording if known is None else np.where(known, recording, np.nan)
    channels = recording.shape[1]
    figure = Figure(figsize=(9.0, 2.0 * channels + 0.8), layout="constrained")
    panels = figure.subplots(channels, 1, sharex=True, squeeze=False)[:, 0]
    for channel, axes in enumerate(panels):
        axes.plot(time, line[:, channel], color=GREY, lw=3.0, alpha=0.55, label="recording")
        draw_shots(axes, window_time, windows[..., channel])
        axes.set_ylabel(label(names[channel], units[channel], "\n"))
        calm(axes)
        few_ticks(axes, "x", 6)
        few_ticks(axes, "y", 4)
    panels[-1].set_xlabel("time (s)")
    panels[-1].set_xlim(min(time[0], window_time.min()), max(time[-1], window_time.max()))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    return figure


def draw_shots(
    axes: Axes, window_time: Float[np.ndarray, "windows points"], windows: Float[np.ndarray, "windows points"]
) -> None:
    """Windows take two colours in turn; a gap is an upright line from the end of one to the start of the next."""
    for i, (at, window) in enumerate(zip(window_time, windows, strict=True)):
        axes.plot(at, window, color=(BLUE, SKY)[i % 2], lw=1.6, label=None if i else "shooting windows")
    axes.plot(window_time[:, 0], windows[:, 0], "o", ms=4, color=ORANGE, mec="black", mew=0.5, label="starts", zorder=4)
    gaps = np.stack([windows[:-1, -1], windows[1:, 0]])
    axes.vlines(window_time[1:, 0], *np.sort(gaps, axis=0), color=VERMILION, lw=2.0, label="defects", zorder=3)
