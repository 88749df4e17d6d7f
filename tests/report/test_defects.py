import numpy as np
from matplotlib.collections import LineCollection
from numpy.testing import assert_allclose

from plausim.report.defects import draw_defects, draw_windows

ITERATIONS = np.arange(0.0, 100.0, 10.0)


def test_quantiles_of_all_gaps_over_the_iterations() -> None:
    gaps = np.random.default_rng(0).normal(size=(10, 20, 9)) * np.exp(-ITERATIONS / 20)[:, None, None]
    figure = draw_defects(ITERATIONS, gaps, goal=1e-3)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    median, largest, goal = axes.lines
    assert_allclose(np.asarray(median.get_ydata()), np.median(np.abs(gaps), axis=(1, 2)))
    assert_allclose(np.asarray(largest.get_ydata()), np.max(np.abs(gaps), axis=(1, 2)))
    assert_allclose(np.asarray(goal.get_ydata()), 1e-3)
    outline = np.asarray(axes.collections[0].get_paths()[0].vertices)
    assert_allclose(outline[:, 1].max(), np.quantile(np.abs(gaps[0]), 0.95))
    assert axes.get_yscale() == "log"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("iteration", "gap between windows\n(spread of the states)")


def test_lost_particles_and_closed_gaps_are_drawn() -> None:
    gaps = np.ones((10, 3))
    gaps[2], gaps[4, 1] = np.nan, np.inf
    figure = draw_defects(ITERATIONS, gaps)
    figure.draw_without_rendering()
    assert_allclose(np.asarray(figure.axes[0].lines[0].get_xdata()), np.delete(ITERATIONS, 2))
    closed = draw_defects(ITERATIONS, np.zeros((10, 3)))
    closed.draw_without_rendering()
    assert closed.axes[0].get_yscale() == "linear"


def test_windows_and_the_gaps_between_them() -> None:
    time = 0.1 * np.arange(9)
    recording = np.stack([time, -time], axis=1)
    window_time = time[np.array([[0, 1, 2, 3, 4], [4, 5, 6, 7, 8]])]
    windows = np.random.default_rng(0).normal(size=(2, 5, 2))
    known = np.ones((9, 2), bool)
    known[3, 1] = False
    figure = draw_windows(time, recording, window_time, windows, ["a", "b"], ["rad", "rad/s"], known)
    figure.draw_without_rendering()
    assert [axes.get_ylabel() for axes in figure.axes] == ["a\n(rad)", "b\n(rad/s)"]
    assert figure.axes[1].get_xlabel() == "time (s)" and figure.axes[1].get_xlim() == (0.0, 0.8)
    for channel, axes in enumerate(figure.axes):
        measured, first, second, starts = axes.lines
        assert_allclose(np.asarray(measured.get_ydata()), np.where(known, recording, np.nan)[:, channel])
        for i, line in enumerate([first, second]):
            assert_allclose(np.asarray(line.get_xydata()), np.stack([window_time[i], windows[i, :, channel]], axis=1))
        assert first.get_color() != second.get_color()
        assert_allclose(np.asarray(starts.get_ydata()), windows[:, 0, channel])
        (gaps,) = (thing for thing in axes.collections if isinstance(thing, LineCollection))
        ends = sorted([windows[0, -1, channel], windows[1, 0, channel]])
        assert_allclose(gaps.get_segments()[0], [[0.4, ends[0]], [0.4, ends[1]]])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "recording", "shooting windows", "starts", "defects",
    ]  # fmt: skip
