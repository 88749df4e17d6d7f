"""The log-likelihood over two parameters, one shooting or several side by side (`fig:double-pendulum-ms`, a and b)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from plausim.report.style import ORANGE, SKY, few_ticks, label, short

Places = Float[np.ndarray, "_ 2"]


class Landscape(NamedTuple):
    """A panel: the log-likelihood on a grid, and what lies on it, in the units of the axes."""

    title: str
    across: Float[np.ndarray, " across"]
    up: Float[np.ndarray, " up"]
    values: Float[np.ndarray, "up across"]
    truth: Places | None = None
    particles: Places | None = None
    maxima: Places | None = None


def draw_landscape(panels: Sequence[Landscape], names: Sequence[str], units: Sequence[str]) -> Figure:
    """Panels share their axes. Each has its own scale: heights of different likelihoods do not compare."""
    figure = Figure(figsize=(5.3 * len(panels) + 0.3, 5.0), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        draw_heights(axes, panel)
        draw_places(axes, panel)
        axes.set_title(panel.title, fontsize=11)
        axes.set_xlabel(label(names[0], units[0]))
        axes.set_ylabel(label(names[1], units[1]))
        few_ticks(axes, "xy", 6)
        axes.set_xlim(panel.across[0], panel.across[-1])
        axes.set_ylim(panel.up[0], panel.up[-1])
        if units[0] == units[1]:
            axes.set_aspect("equal")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False, fontsize=9)
    return figure


def draw_heights(axes: Axes, panel: Landscape) -> None:
    """Coloured by the logarithm of how far it is below the best: the summit and the far valleys both show."""
    depth = np.log10(1.0 + np.nanmax(panel.values) - panel.values)
    lowest = max(1.0, float(np.max(depth[np.isfinite(depth)])))
    scale = Normalize(-lowest, 0.0)
    axes.pcolormesh(panel.across, panel.up, -depth, cmap="viridis", norm=scale, shading="nearest", rasterized=True)
    axes.set_facecolor("#d0d0d0")  # where there is no log-likelihood
    marks = np.concatenate([[0.0], 10.0 ** np.arange(1, int(lowest) + 1)])
    bar = axes.figure.colorbar(ScalarMappable(scale, "viridis"), ax=axes, pad=0.02, fraction=0.046, aspect=24)
    bar.set_ticks(list(-np.log10(1.0 + marks)), labels=[short(-mark) for mark in marks], fontsize=8)
    bar.set_label("log-likelihood, from its highest", fontsize=9)


def draw_places(axes: Axes, panel: Landscape) -> None:
    """Names carry counts: how many maxima there are is what the picture is about."""
    if panel.maxima is not None:
        many = f"{len(panel.maxima)} local {'maximum' if len(panel.maxima) == 1 else 'maxima'}"
        axes.plot(*panel.maxima.T, "X", ms=5.5, color="white", mec="black", mew=0.6, label=many)
    if panel.particles is not None:
        many = f"{len(panel.particles)} particles"
        axes.plot(*panel.particles.T, "o", ms=4.5, color=SKY, mec="black", mew=0.5, alpha=0.9, label=many)
    if panel.truth is not None:
        axes.plot(*panel.truth.T, "*", ms=13, color=ORANGE, mec="black", mew=0.7, label="truth", zorder=4)
