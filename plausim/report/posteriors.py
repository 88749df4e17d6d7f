"""What several methods found of two parameters: a panel each, on the same axes (`fig:exp-param-noise-posterior`)."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plausim.report.pairs import Normal, draw_normal, draw_pair
from plausim.report.style import BLUE, ORANGE, calm, few_ticks, label, reach

ACROSS = 6  # panels in a row
MOST = (0.01, 0.99)  # quantiles of all samples that are in view: a few that strayed would make all else small
POINT = 0.01  # of the view: what is narrower looks like one sample

Points = Float[np.ndarray, "_ 2"]


def draw_posteriors(
    sets: Mapping[str, Points], names: Sequence[str], units: Sequence[str], normal: Normal | None = None
) -> Figure:
    """Samples by method, in the mapping's order."""
    columns = min(len(sets), ACROSS)
    rows = -(-len(sets) // columns)
    figure = Figure(figsize=(2.05 * columns + 0.7, 2.2 * rows + 0.8), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    shown = view(list(sets.values()), normal)
    for (title, samples), axes in zip(sets.items(), panels.flat, strict=False):
        draw_pair(axes, samples, None, None)
        if normal is not None:
            draw_normal(axes, normal.mean, normal.covariance)
        remark(axes, samples, shown)
        axes.set_title(title, fontsize=10)
    for axes in panels.flat:
        axes.set_aspect("equal")
        calm(axes, grid=False)
        few_ticks(axes, "xy", 4)
        axes.tick_params(labelsize=8)
    for axes in panels.flat[len(sets) :]:
        axes.set_axis_off()
    panels[0, 0].set_xlim(shown[0])
    panels[0, 0].set_ylim(shown[1])
    figure.supxlabel(label(names[0], units[0]), fontsize=9)
    figure.supylabel(label(names[1], units[1]), fontsize=9)
    handles = [Line2D([], [], ls="", marker="o", ms=4, color=BLUE, label="samples")]
    if normal is not None:
        handles.append(Line2D([], [], color=ORANGE, label="true density, 1 and 2 sd"))
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8)
    return figure


def view(sets: Sequence[Points], normal: Normal | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """Of both axes."""
    ends = [np.quantile(np.concatenate(sets), MOST, axis=0), *([] if normal is None else [normal.reach()])]
    first, second = np.concatenate(ends).T
    return reach(first, 0.12), reach(second, 0.12)


def remark(axes: Axes, samples: Points, shown: tuple[tuple[float, float], tuple[float, float]]) -> None:
    """What the panel itself does not show: how many samples are beyond it, and whether all are in one point."""
    low, high = np.array(shown).T
    beyond = int(np.sum(np.any((samples < low) | (samples > high), axis=1)))
    alike = bool(np.all(np.ptp(samples, axis=0) < POINT * (high - low)))
    text = "\n".join([f"{beyond} beyond the view"] * (beyond > 0) + [f"all {len(samples)} in one point"] * alike)
    axes.text(0.98, 0.03, text, ha="right", va="bottom", fontsize=7.5, color="#444444", transform=axes.transAxes)
