import numpy as np
from numpy.testing import assert_allclose

from plausim.report.intervals import Estimates, draw_intervals


def drawn(centre: float, width: float) -> np.ndarray:
    return centre + width * np.linspace(-1.0, 1.0, 101)


def test_a_line_for_each_run() -> None:
    wide = Estimates("kg", (0.0, 2.0), {"one": drawn(1.0, 0.5), "two": drawn(1.2, 0.1)})
    figure = draw_intervals({"rod.mass": wide})
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "rod.mass (kg)"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["one", "two"]
    ends = [np.asarray(path.vertices)[:, 0] for path in axes.collections[0].get_paths()]
    assert_allclose(ends, [[0.55, 1.45], [1.11, 1.29]])
    assert_allclose(np.asarray(axes.lines[0].get_xydata()), [[1.0, 0.0], [1.2, 1.0]])
    low, high = axes.get_xlim()
    assert low < 0.0 and high > 2.0 and axes.yaxis_inverted()


def test_short_lines_have_a_view_of_their_own_and_decades_a_logarithm() -> None:
    short = Estimates("", (0.0, 2.0), {"one": drawn(1.0, 0.01)})
    decades = Estimates("", (1e-4, 1.0), {"one": np.exp(drawn(-5.0, 3.0)), "two": np.exp(drawn(-6.0, 1.0))})
    first, second = draw_intervals({"short": short, "decades": decades}).axes
    low, high = first.get_xlim()
    assert 0.97 < low < high < 1.03
    assert (first.get_xscale(), second.get_xscale()) == ("linear", "log")


def test_parameters_in_rows() -> None:
    many = {f"number {i}": Estimates("", (0.0, 1.0), {"one": drawn(0.5, 0.4)}) for i in range(6)}
    assert sum(axes.axison for axes in draw_intervals(many).axes) == 6
