"""The picture of a fit from many starts: the motion before and after, and the climb over the landscape."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from plausim.report.style import BLUE, GREY, ORANGE, SKY


def draw_motion(
    axes: Axes,
    time: Float[np.ndarray, " steps"],
    measured: Float[np.ndarray, " steps"],
    before: Float[np.ndarray, "starts steps"],
    after: Float[np.ndarray, " steps"],
    label: str,
) -> None:
    """One channel of the recording, each start's prediction of it, and the best answer's."""
    axes.plot(time, before.T, color=GREY, lw=0.6, alpha=0.3)
    axes.plot([], [], color=GREY, lw=1.2, label="predicted by the starts")
    shown = slice(None, None, max(1, len(time) // 80))
    axes.plot(time[shown], measured[shown], "o", ms=3.2, color=ORANGE, mec="none", label="recording", zorder=3)
    axes.plot(time, after, color=BLUE, lw=1.8, label="predicted by the best fit", zorder=4)
    low, high = measured.min(), measured.max()
    axes.set_ylim(low - 0.35 * (high - low), high + 0.35 * (high - low))
    axes.set_xlim(time[0], time[-1])
    axes.set_ylabel(label)
    axes.grid(alpha=0.25, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw_climb(
    axes: Axes,
    grid: tuple[Float[np.ndarray, " first"], Float[np.ndarray, " second"]],
    misfit: Float[np.ndarray, "second first"],
    path: Float[np.ndarray, "stages particles 2"],
    found: Bool[np.ndarray, " particles"],
    truth: Sequence[float],
) -> None:
    """The landscape, brighter where the motion is explained better, and every start's way over it."""
    levels = np.geomspace(np.nanmin(misfit), np.nanmax(misfit), 13)
    image = axes.contourf(*grid, misfit, levels, cmap="cividis_r", norm=LogNorm())
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02, fraction=0.046, ticks=levels[::3], format="%.2g")
    bar.set_label("misfit: rms residual / noise")
    axes.plot(path[..., 0], path[..., 1], color="white", lw=0.8, alpha=0.7)
    axes.plot(*path[0].T, "o", ms=3.5, color="white", mec="black", mew=0.5, label=f"{path.shape[1]} starts")
    answers, stuck = path[-1, found], path[-1, ~found]
    axes.plot(*answers.T, "o", ms=12, color=ORANGE, mec="black", mew=0.8, label=f"{len(answers)} reached the best fit")
    axes.plot(*truth, "*", ms=8, color="white", mec="black", mew=0.7, label="truth")
    if len(stuck):
        axes.plot(
            *stuck.T,
            "X",
            ms=8,
            color=SKY,
            mec="black",
            mew=0.8,
            alpha=0.8,
            label=f"{len(stuck)} did not",
            clip_on=False,
        )
    axes.set_xlim(grid[0][0], grid[0][-1])
    axes.set_ylim(grid[1][0], grid[1][-1])
    axes.set_aspect("equal")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False, columnspacing=1.5)
