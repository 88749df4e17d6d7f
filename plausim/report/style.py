"""What the figures share: colours that everyone can tell apart, calm axes, labels with units, short numbers."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

# Okabe and Ito's colours: they stay apart for every kind of colour vision.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
SKY, PURPLE, BLACK, GREY = "#56B4E9", "#CC79A7", "#000000", "#8a8a8a"

# Methods are told apart by colour, and by dashes when there are more than colours or no colours at all.
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, BLACK)
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))


def label(name: str, unit: str, join: str = " ") -> str:
    """`elbow.damping (N m s/rad)`; a number without unit is its name alone."""
    return f"{name}{join}({unit})" if unit else name


def short(value: float) -> str:
    """Four digits at most: 0.25, 1,200, 2e−5."""
    value = value or 0.0  # no minus in front of 0
    size = abs(value)
    if value and not 1e-4 <= size < 1e6:
        digits, power = f"{value:.2e}".split("e")
        text = f"{float(digits):g}e{int(power)}"
    else:
        text = f"{value:,.0f}" if size >= 1000 else f"{value:.4g}"
    return text.replace("-", "\N{MINUS SIGN}")


def calm(axes: Axes, grid: bool = True) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    if grid:
        axes.grid(alpha=0.25, lw=0.6)


def few_ticks(axes: Axes, which: str, count: int = 3) -> None:
    """At most so many ticks, on round numbers, each with its whole value: no offset in a corner."""
    for axis in (axes.xaxis if letter == "x" else axes.yaxis for letter in which):
        axis.set_major_locator(MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))


def reach(values: Float[np.ndarray, " values"], pad: float = 0.06) -> tuple[float, float]:
    """From the lowest to the highest with some air, also where all are the same."""
    low, high = float(np.min(values)), float(np.max(values))
    air = pad * (high - low) if high > low else 0.05 * abs(high) or 0.5
    return low - air, high + air
