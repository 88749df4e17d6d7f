import numpy as np
import pytest
from numpy.testing import assert_allclose

from plausim.report.density import BINS, COLUMNS, draw_density, heights, shares

TIME = 0.01 * np.arange(50)
NAMES, UNITS = ["shoulder", "elbow"], ["rad", ""]


def motion(particles: int = 8) -> tuple[np.ndarray, np.ndarray]:
    recording = np.stack([np.sin(9 * TIME), 3 * np.cos(9 * TIME)], axis=1)
    return recording, recording + 0.1 * np.random.default_rng(0).normal(size=(particles, 50, 2))


def test_each_channel_is_a_row_over_time() -> None:
    recording, predicted = motion()
    figure = draw_density(TIME, {"SVGD": predicted, "CSVGD": predicted}, recording, NAMES, UNITS)
    figure.draw_without_rendering()
    panels = np.array(figure.axes[:4], object).reshape(2, 2)
    assert [axes.get_title() for axes in panels[0]] == ["SVGD", "CSVGD"]
    assert [axes.get_ylabel() for axes in panels[:, 0]] == ["shoulder\n(rad)", "elbow"]
    assert [axes.get_xlabel() for axes in panels[:, 1]] == ["", "time (s)"]
    for row in range(2):
        for axes in panels[row]:
            (line,) = axes.lines
            assert_allclose(line.get_xydata(), np.stack([TIME, recording[:, row]], axis=1))
            left, right, bottom, top = axes.images[0].get_extent()
            assert_allclose([left, right], [-0.005, 0.495])  # a column is centred on its moment
            assert (bottom, top) == axes.get_ylim()
            assert bottom < recording[:, row].min() and top > recording[:, row].max()


def test_the_shade_is_dark_where_the_trajectories_are() -> None:
    recording, predicted = motion()
    figure = draw_density(TIME, {"": predicted}, recording, NAMES, UNITS)
    shade = np.asarray(figure.axes[0].images[0].get_array())
    edges = heights(recording[:, 0])
    middles = 0.5 * (edges[1:] + edges[:-1])
    assert shade.shape == (BINS, 50)
    assert_allclose(shade.sum(axis=0), 1.0, rtol=1e-6)
    mean = np.sum(shade * middles[:, None], axis=0)
    assert_allclose(mean, predicted[..., 0].mean(axis=0), atol=0.01)


def test_shares_are_counted_by_hand() -> None:
    edges = np.linspace(0.0, 4.0, 5)
    predicted = np.array([[0.5, 1.5, 4.5], [0.5, 2.5, np.nan], [0.5, 1.5, -9.0], [3.5, 1.5, 0.0]])
    shade, beyond = shares(predicted, edges)
    assert_allclose(shade, [[0.75, 0, 0, 0.25], [0, 0.75, 0.25, 0], [0.25, 0, 0, 0]])
    assert beyond == pytest.approx(3 / 12)


def test_long_recordings_share_columns() -> None:
    shade, beyond = shares(np.full((3, 10 * COLUMNS + 7), 0.5), np.linspace(0.0, 1.0, 3))
    assert shade.shape == (COLUMNS, 2) and beyond == 0.0
    assert_allclose(shade, np.tile([0.0, 1.0], (COLUMNS, 1)))


def test_what_is_beyond_the_view_is_said() -> None:
    recording, predicted = motion()
    predicted[:2] = 100.0
    predicted[2] = np.nan
    far, near = (
        draw_density(TIME, {"": predicted}, recording, NAMES, UNITS),
        draw_density(TIME, {"": motion()[1]}, recording, NAMES, UNITS),
    )
    assert [text.get_text() for text in far.axes[0].texts] == ["38 % beyond the view"]
    assert not near.axes[0].texts


def test_missing_samples_are_a_gap_in_the_line() -> None:
    recording, predicted = motion()
    known = np.ones((50, 2), bool)
    known[10:20, 0] = False
    line = draw_density(TIME, {"": predicted}, np.where(known, recording, 77.0), NAMES, UNITS, known).axes[0].lines[0]
    assert_allclose(np.isnan(np.asarray(line.get_ydata(), float)), ~known[:, 0])
    flat = draw_density(TIME, {"": predicted}, np.ones((50, 2)), NAMES, UNITS)
    assert flat.axes[0].get_ylim() == (0.0, 2.0)
