"""What several runs say of the same parameters: a panel for each, in it a line for each run."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausim.report.style import BLUE, GREY, calm, few_ticks, label

ACROSS = 4  # panels in a row
ENDS = (0.05, 0.95)  # quantiles that a line goes between
DECADES = 1.5  # between limits, from which on an axis is logarithmic
WIDE_VIEW = 0.2  # of the limits: where all lines fill less of them, the view is theirs


class Estimates(NamedTuple):
    """One parameter's draws by run, in the order in which they are drawn."""

    unit: str
    limits: tuple[float, float]
    draws: Mapping[str, Float[np.ndarray, " draws"]]


def draw_intervals(parameters: Mapping[str, Estimates]) -> Figure:
    """Dots are means, lines the central 90 %. Views span the limits, dashed, or short lines alone."""
    runs = max(len(p.draws) for p in parameters.values())
    columns = min(len(parameters), ACROSS)
    rows = -(-len(parameters) // columns)
    size = (max(2.6 * columns + 1.0, 4.0), (0.3 * runs + 0.9) * rows)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False)
    for place, ((name, found), axes) in enumerate(zip(parameters.items(), panels.flat, strict=False)):
        draw_parameter(axes, found)
        axes.set_title(label(name, found.unit), fontsize=10, loc="left")
        if place % columns:
            axes.tick_params(labelleft=False)
    for axes in panels.flat[len(parameters) :]:
        axes.set_axis_off()
    return figure


def draw_parameter(axes: Axes, found: Estimates) -> None:
    at, (low, high) = np.arange(len(found.draws)), found.limits
    lines = np.array([[*np.quantile(draws, ENDS), np.mean(draws)] for draws in found.draws.values()])
    axes.hlines(at, lines[:, 0], lines[:, 1], color=BLUE, lw=1.8)
    axes.plot(lines[:, 2], at, "o", color=BLUE, ms=4.5)
    decades = low > 0 and np.log10(high / low) > DECADES
    scale = np.log10 if decades else np.asarray
    if np.ptp(scale(lines)) >= WIDE_VIEW * (scale(high) - scale(low)):
        for end in found.limits:
            axes.axvline(end, color=GREY, lw=0.8, ls=(0, (4, 3)))
        axes.set_xscale("log" if decades else "linear")
    axes.set_yticks(at, list(found.draws))
    axes.set_ylim(len(at) - 0.5, -0.5)  # the first run on top
    calm(axes)
    if axes.get_xscale() == "linear":
        few_ticks(axes, "x")
    axes.tick_params(labelsize=8)
