"""What likelihood-free inference sees of a motion: samples, or numbers that describe it (`fig:bayessim-inputs`)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plausim.report.style import COLOURS, DASHES, GREY, calm, few_ticks

ACROSS = 3  # panels in a row
DOTTED = 100  # samples, up to which each is a dot
DECADES = 1.5  # between numbers, from which on their axis is logarithmic on both sides of 0


class Lines(NamedTuple):
    """Samples over time."""

    title: str
    at: Float[np.ndarray, " samples"]  # s
    values: Float[np.ndarray, "samples channels"]


class Bars(NamedTuple):
    """Numbers without a time, in groups that stand side by side."""

    title: str
    numbers: Float[np.ndarray, " numbers"]
    groups: Mapping[str, int]  # how many there are in each


def draw_inputs(panels: Sequence[Lines | Bars], channels: Sequence[str]) -> Figure:
    """The legend is where no panel is, or above all of them."""
    rows = -(-len(panels) // ACROSS)
    figure = Figure(figsize=(3.9 * min(len(panels), ACROSS), 2.5 * rows), layout="constrained")
    places = figure.subplots(rows, min(len(panels), ACROSS), squeeze=False).ravel()
    for axes, panel in zip(places, panels, strict=False):
        calm(axes)
        axes.tick_params(labelsize=8)
        axes.set_title(panel.title, fontsize=10, loc="left")
        draw_lines(axes, panel) if isinstance(panel, Lines) else draw_bars(axes, panel)
    handles = [Line2D([], [], color=COLOURS[i], ls=DASHES[i % len(DASHES)], label=c) for i, c in enumerate(channels)]
    free = places[len(panels) :]
    for axes in free:
        axes.set_axis_off()
    if len(free):
        free[0].legend(handles=handles, loc="center", frameon=False, fontsize=10)
    else:
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=9)
    return figure


def draw_lines(axes: Axes, panel: Lines) -> None:
    marker = "." if len(panel.at) <= DOTTED else ""
    for i, row in enumerate(panel.values.T):
        axes.plot(panel.at, row, marker=marker, ms=4, lw=1.3, color=COLOURS[i], ls=DASHES[i % len(DASHES)])
    axes.set_xlabel("time (s)", fontsize=9)
    few_ticks(axes, "xy", 4)


def draw_bars(axes: Axes, panel: Bars) -> None:
    """Groups are told apart by lines between them, and named below."""
    ends = np.cumsum([0, *panel.groups.values()])
    if ends[-1] != len(panel.numbers):
        raise ValueError(f"{panel.title} has {len(panel.numbers)} numbers, and groups of {ends[-1]}; name all of them.")
    axes.bar(np.arange(len(panel.numbers)) + 0.5, panel.numbers, width=0.8, color=COLOURS[0])
    for end in ends[1:-1]:
        axes.axvline(end, color=GREY, lw=0.8, ls=(0, (2, 2)))
    axes.set_xticks(0.5 * (ends[1:] + ends[:-1]), list(panel.groups), fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlim(0, ends[-1])
    few_ticks(axes, "y", 4)
    sizes = np.abs(panel.numbers[panel.numbers != 0])
    if len(sizes) and sizes.max() >= 10**DECADES * np.median(sizes):
        axes.set_yscale("symlog", linthresh=float(10 ** np.round(np.log10(np.median(sizes)))))
