"""How numbers change over a run: a panel for each number, a line for each method (`fig:exp-param-noise-metrics`)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausim.report.style import COLOURS, DASHES, calm, few_ticks

DECADES = 1.5  # from which on an axis is logarithmic


class Series(NamedTuple):
    """One number of one method. With several rows, one for each seed, their mean and range are drawn. NaN is a gap."""

    method: str
    number: str
    at: Float[np.ndarray, " times"]  # iterations, seconds or simulations
    values: Float[np.ndarray, "*seeds times"]


def draw_convergence(
    series: Sequence[Series], along: str = "iteration", linear: Mapping[str, float] = MappingProxyType({})
) -> Figure:
    """Panels and methods come in the order in which they are first named.

    Numbers that `linear` names have an axis that is linear up to so much, and logarithmic beyond: where most methods
    are near 0 and one is far. The axes of others are chosen by what they span.
    """
    methods = list(dict.fromkeys(s.method for s in series))
    numbers = list(dict.fromkeys(s.number for s in series))
    columns = len(numbers) if len(numbers) <= 4 else 3 if len(numbers) <= 6 else 4
    rows = -(-len(numbers) // columns)
    figure = Figure(figsize=(max(3.4 * columns, 5.0), 2.5 * rows + 0.5 * (len(methods) > 1)), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for number, axes in zip(numbers, panels, strict=False):
        shown = [s for s in series if s.number == number]
        for one in shown:
            draw_series(axes, one, methods.index(one.method))
        axes.set_title(number, fontsize=10, loc="left")
        axes.set_xlabel(along)
        choose_scales(axes, shown, linear.get(number))
    for axes in panels[len(numbers) :]:
        axes.set_axis_off()
    lines = {str(line.get_label()): line for axes in panels for line in axes.lines}
    handles = [lines[method] for method in methods]
    if len(methods) > 1:
        figure.legend(
            handles=handles, loc="outside upper center", ncols=abreast(methods, figure), frameon=False, fontsize=9
        )
    return figure


def abreast(methods: Sequence[str], figure: Figure) -> int:
    """How many of a legend's names stand side by side: a letter takes 0.08 inches, a line with its air 0.6."""
    return min(len(methods), 8, max(1, int(figure.get_figwidth() / (0.6 + 0.08 * max(map(len, methods))))))


def draw_series(axes: Axes, series: Series, place: int) -> None:
    """The line that stands for the method has its name; a number that never exists says so in the panel."""
    colour, dash = COLOURS[place % len(COLOURS)], DASHES[place % len(DASHES)]
    rows = np.atleast_2d(np.where(np.isfinite(series.values), series.values, np.nan))
    there = np.isfinite(rows).all(axis=0)  # a mean over some seeds only would jump
    mean = np.where(there, np.mean(np.where(there, rows, 0.0), axis=0), np.nan)
    axes.plot(series.at, mean, color=colour, ls=dash, lw=1.6, label=series.method)
    beside = np.pad(there, 1)
    alone = there & ~(beside[:-2] | beside[2:])
    if alone.any():  # a number between gaps is no line
        axes.plot(series.at[alone], mean[alone], ".", color=colour)
    if len(rows) > 1:
        low, high = np.min(rows, axis=0), np.max(rows, axis=0)
        axes.fill_between(series.at, low, high, where=there, color=colour, alpha=0.18, lw=0)
    if not there.any():
        height = 0.95 - 0.09 * sum("N/A" in text.get_text() for text in axes.texts)
        text = f"{series.method}: N/A"
        axes.text(0.97, height, text, color=colour, ha="right", va="top", fontsize=8, transform=axes.transAxes)


def choose_scales(axes: Axes, shown: Sequence[Series], linear: float | None = None) -> None:
    values = np.concatenate([s.values.ravel() for s in shown])
    values = values[np.isfinite(values) & (values != 0)]
    scale, settings = scale_of(values) if linear is None else ("symlog", {"linthresh": linear})
    few_ticks(axes, "xy", 5)
    if scale != "linear":
        axes.set_yscale(scale, **settings)
    at = np.concatenate([s.at for s in shown])
    if scale_of(at)[0] == "log":
        axes.set_xscale("log")
    axes.tick_params(labelsize=8)
    calm(axes)


def scale_of(values: Float[np.ndarray, " values"]) -> tuple[str, dict[str, float]]:
    """Logarithmic where numbers of one sign span decades; where both signs come, only if few are far from most."""
    sizes = np.abs(values)
    if not len(sizes) or not sizes.min() > 0:
        return "linear", {}
    if values.min() > 0:
        return ("log", {}) if sizes.max() >= 10**DECADES * sizes.min() else ("linear", {})
    mixed = values.max() > 0
    typical = float(np.median(sizes) if mixed else sizes.min())
    if sizes.max() < 10 ** (DECADES + mixed) * typical:
        return "linear", {}
    power = np.log10(typical)
    return "symlog", {"linthresh": float(10 ** (np.ceil(power) if mixed else np.floor(power)))}
