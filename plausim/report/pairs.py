"""Which parameters go together: every pair of them as a panel, and each by itself on the diagonal."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from matplotlib.ticker import FuncFormatter

from plausim.report.style import BLUE, GREY, ORANGE, calm, few_ticks, label, reach, short

DECADES = 1.5  # between limits, from which on an axis is logarithmic
FEW = 3  # truths that are lines across a marginal
CROWD = 3000  # samples from which dots would hide each other
WIDE_VIEW = 0.2  # of the limits: where samples fill less of them, the view is theirs
STAR: dict[str, Any] = {
    "ls": "",
    "marker": "*",
    "ms": 11,
    "mfc": "none",
    "mec": ORANGE,
    "mew": 1.5,
}  # samples show in it

Points = Float[np.ndarray, "_ parameters"]


class Normal(NamedTuple):
    """A known density, drawn as its contours at one and two standard deviations."""

    mean: Float[np.ndarray, " parameters"]
    covariance: Float[np.ndarray, "parameters parameters"]

    def reach(self) -> Points:
        """Where its outer contour ends, each way."""
        deviation = np.sqrt(np.diag(self.covariance))
        return np.stack([self.mean - 2 * deviation, self.mean + 2 * deviation])


def draw_pairs(
    samples: Points,
    names: Sequence[str],
    units: Sequence[str],
    limits: Float[np.ndarray, "parameters 2"] | None = None,
    truth: Points | None = None,
    prior: Points | None = None,
    normal: Normal | None = None,
    title: str = "",
) -> Figure:
    """A triangle of panels (`fig:exp-param-noise-posterior`). `truth` is one point or several.

    Views span the limits, or the samples alone where they fill little of them; the limits are written above. Where
    these span decades, all is drawn by its logarithm: a prior that is even there looks even, too.
    """
    count = samples.shape[1]
    size = 9.0 if count <= 5 else 7.0
    figure, panels = triangle(count)
    logs = np.zeros(count, bool)
    if limits is not None:
        title_limits(panels, limits, size)
        logs = over_decades(limits, prior) & (normal is None)
        limits = logarithms(limits.T, logs).T
    samples, truth, prior = logarithms(samples, logs), logarithms(truth, logs), logarithms(prior, logs)
    bounds = [None] * count if limits is None else list(limits)
    known = [points for points in (truth, normal and normal.reach()) if points is not None]
    aims = np.concatenate(known) if known else None
    views = [view(samples[:, i], bounds[i], pick(aims, [i])) for i in range(count)]
    for i in range(count):
        draw_marginal(panels[i, i], samples[:, i], views[i], *(pick(x, [i]) for x in (truth, prior)))
        if normal is not None:
            draw_curve(panels[i, i], views[i], normal.mean[i], np.sqrt(normal.covariance[i, i]))
        mark_limits(panels[i, i], bounds[i], None)
        for j in range(i):
            axes = panels[i, j]
            draw_pair(axes, samples[:, [j, i]], *(pick(x, [j, i]) for x in (truth, prior)))
            if normal is not None:
                draw_normal(axes, normal.mean[[j, i]], normal.covariance[np.ix_([j, i], [j, i])])
            mark_limits(axes, bounds[j], bounds[i])
            axes.set_xlim(views[j])
            axes.set_ylim(views[i])
    name_edges(
        panels, [label(*pair, " " if count < 4 else "\n") for pair in zip(names, units, strict=True)], logs, size
    )
    low, high = np.array(views).T
    inside = limits is not None and bool(np.any(np.clip(limits.T, low, high) == limits.T))
    explain(figure, count, truth, prior, normal, inside)
    if title:
        figure.suptitle(title, fontsize=size + 2, x=0.02, ha="left")
    return figure


def triangle(count: int) -> tuple[Figure, np.ndarray]:
    side = max(1.15, min(2.4, 9.0 / count))
    figure = Figure(figsize=(side * count + 1.0, side * count + 0.9), layout="constrained")
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(w_pad=0.05, h_pad=0.02, wspace=0.0, hspace=0.0)  # pyright: ignore[reportCallIssue]
    panels = figure.subplots(count, count, squeeze=False)
    for axes in panels[np.triu_indices(count, 1)]:
        axes.set_axis_off()
    return figure, panels


def over_decades(limits: Float[np.ndarray, "parameters 2"], prior: Points | None) -> Bool[np.ndarray, " parameters"]:
    """Where limits span decades, and a prior that is given has about as much in each of them."""
    low, high = limits.T
    wide = (low > 0) & (high >= 10**DECADES * low)
    if prior is None:
        return wide
    return wide & (np.median(prior, axis=0) < 0.5 * (np.sqrt(np.abs(low * high)) + 0.5 * (low + high)))


def logarithms(points: Points | None, logs: Bool[np.ndarray, " parameters"]) -> Any:
    """Of those columns; what is not above 0 is not shown."""
    if points is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(logs, np.log10(points), points)


def pick(points: Points | None, columns: list[int]) -> Float[np.ndarray, "_ _"] | None:
    return None if points is None else points[:, columns]


def view(
    samples: Float[np.ndarray, " samples"],
    limits: Float[np.ndarray, "2"] | None,
    truth: Float[np.ndarray, "_ 1"] | None,
) -> tuple[float, float]:
    """What an axis shows: the limits, or samples and truth where these fill little of them."""
    low, high = reach(np.concatenate([samples, [] if truth is None else truth[:, 0]]), 0.12)
    if limits is None or high - low < WIDE_VIEW * (limits[1] - limits[0]):
        return low, high
    return reach(np.concatenate([limits, samples]))


def draw_marginal(
    axes: Axes,
    samples: Float[np.ndarray, " samples"],
    shown: tuple[float, float],
    truth: Float[np.ndarray, "_ 1"] | None,
    prior: Float[np.ndarray, "_ 1"] | None,
) -> None:
    """How often each value comes, as densities of all samples, in view or not, so that prior and posterior compare."""
    if prior is not None:
        axes.stairs(*density(prior[:, 0], np.linspace(*shown, 16)), color=GREY, lw=1.0)
    bins = min(len(np.histogram_bin_edges(samples, "auto")) - 1, 60)
    low, high = reach(samples, 0.0) if np.ptp(samples) else reach(np.array(shown), -0.48)  # all the same: a thin bar
    axes.stairs(*density(samples, np.linspace(low, high, bins + 1)), color=BLUE, alpha=0.75, fill=True)
    values = np.zeros(0) if truth is None else truth[:, 0]
    height = 1.0 if len(values) <= FEW else 0.12  # many lines across the panel would hide it
    axes.vlines(values, 0.0, height, color=ORANGE, lw=1.6, transform=axes.get_xaxis_transform())
    axes.set_xlim(shown)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def draw_curve(axes: Axes, shown: tuple[float, float], mean: float, sd: float) -> None:
    at = np.linspace(*shown, 200)
    axes.plot(at, np.exp(-0.5 * ((at - mean) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi)), color=ORANGE, lw=1.3)


def density(
    samples: Float[np.ndarray, " samples"], edges: Float[np.ndarray, " edges"]
) -> tuple[Float[np.ndarray, " bins"], Float[np.ndarray, " edges"]]:
    return np.histogram(samples, edges)[0] / (len(samples) * np.diff(edges)), edges


def draw_pair(
    axes: Axes,
    samples: Float[np.ndarray, "_ 2"],
    truth: Float[np.ndarray, "_ 2"] | None,
    prior: Float[np.ndarray, "_ 2"] | None,
) -> None:
    """Dots, paler the more there are; shades where they would hide each other."""
    if prior is not None:
        axes.plot(*prior.T, "o", ms=2.2, color=GREY, alpha=0.55, mec="none", rasterized=True)
    if len(samples) > CROWD:
        axes.hexbin(*samples.T, gridsize=30, mincnt=1, cmap="Blues", bins="log", linewidths=0.1)
    else:
        alpha = float(np.clip(8.0 / np.sqrt(len(samples)), 0.15, 0.7))
        axes.plot(*samples.T, "o", ms=3.2, color=BLUE, alpha=alpha, mec="none", rasterized=True)
    if truth is not None:
        axes.plot(*truth.T, **STAR, zorder=4)


def draw_normal(axes: Axes, mean: Float[np.ndarray, "2"], covariance: Float[np.ndarray, "2 2"]) -> None:
    """The principal axes are the eigenvectors, their lengths the roots of the eigenvalues."""
    variances, directions = np.linalg.eigh(covariance)
    angle = float(np.degrees(np.arctan2(directions[1, 1], directions[0, 1])))
    for deviations in (1, 2):
        across, along = 2 * deviations * np.sqrt(variances)
        axes.add_patch(Ellipse((mean[0], mean[1]), along, across, angle=angle, fill=False, ec=ORANGE, lw=1.3, zorder=3))


def mark_limits(axes: Axes, across: Float[np.ndarray, "2"] | None, up: Float[np.ndarray, "2"] | None) -> None:
    for value in () if across is None else across:
        axes.axvline(value, color="black", lw=0.8, ls=(0, (2, 2)))
    for value in () if up is None else up:
        axes.axhline(value, color="black", lw=0.8, ls=(0, (2, 2)))


def title_limits(panels: np.ndarray, limits: Float[np.ndarray, "parameters 2"], size: float) -> None:
    for axes, (low, high) in zip(np.diag(panels), limits, strict=True):
        axes.set_title(f"limits {short(low)} to {short(high)}", fontsize=size - 1, color="#555555", pad=3)


def name_edges(panels: np.ndarray, labels: list[str], logs: Bool[np.ndarray, " parameters"], size: float) -> None:
    """Numbers and names along the left and the bottom only."""
    last = len(panels) - 1
    for row, col in zip(*np.tril_indices(len(panels)), strict=True):
        axes = panels[row, col]
        calm(axes, grid=False)
        few_ticks(axes, "x" if row == col else "xy", 3)
        for axis, log in ((axes.xaxis, logs[col]), (axes.yaxis, logs[row] and row != col)):
            if log:
                axis.set_major_formatter(FuncFormatter(lambda value, _: short(float(f"{10.0**value:.2g}"))))
        axes.tick_params(labelsize=size - 1, length=2.5, pad=2, labelbottom=row == last, labelleft=col == 0 and row > 0)
        axes.tick_params("x", labelrotation=45 if last > 3 else 0)
        if row == last:
            axes.set_xlabel(labels[col], fontsize=size)
        if col == 0 and row > 0:
            axes.set_ylabel(labels[row], fontsize=size)


def explain(
    figure: Figure,
    count: int,
    truth: Points | None,
    prior: Points | None,
    normal: Normal | None,
    limits: bool,
) -> None:
    """The legend, in the corner where there are no panels."""
    handles = [Line2D([], [], ls="", marker="o", ms=5, color=BLUE, label="posterior")]
    if prior is not None:
        handles.append(Line2D([], [], ls="", marker="o", ms=3, color=GREY, label="prior"))
    if truth is not None:
        handles.append(Line2D([], [], **STAR, label="truth"))
    if normal is not None:
        handles.append(Line2D([], [], color=ORANGE, label="true density, 1 and 2 sd"))
    if limits:
        handles.append(Line2D([], [], color="black", lw=0.8, ls=(0, (2, 2)), label="limits"))
    place = "upper right" if count > 1 else "outside lower center"
    figure.legend(handles=handles, loc=place, frameon=False, fontsize=9 if count < 4 else 10)
