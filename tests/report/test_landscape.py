import numpy as np
from matplotlib.collections import QuadMesh
from numpy.testing import assert_allclose

from plausim.report.landscape import Landscape, draw_landscape

ACROSS, UP = np.linspace(0.5, 3.0, 30), np.linspace(1.0, 2.0, 20)
VALUES = -1e4 * ((UP[:, None] - 1.5) ** 2 + (ACROSS - 2.0) ** 2) + 12.0
TRUTH, PARTICLES = np.array([[2.0, 1.5]]), np.random.default_rng(0).normal([2.0, 1.5], 0.1, (7, 2))
NAMES = ["link1.length", "link2.length"]


def test_the_height_is_where_it_belongs() -> None:
    figure = draw_landscape([Landscape("single shooting", ACROSS, UP, VALUES)], NAMES, ["m", "m"])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    (mesh,) = (thing for thing in axes.collections if isinstance(thing, QuadMesh))
    colours = np.asarray(mesh.get_array())
    assert_allclose(1.0 - 10.0 ** (-colours), VALUES - VALUES.max(), rtol=1e-9, atol=1e-9)
    corner = np.asarray(mesh.get_coordinates())[0, 0]  # a cell is around its point
    assert_allclose(corner, [ACROSS[0] - 0.5 * (ACROSS[1] - ACROSS[0]), UP[0] - 0.5 * (UP[1] - UP[0])])
    assert (axes.get_xlim(), axes.get_ylim()) == ((0.5, 3.0), (1.0, 2.0))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("link1.length (m)", "link2.length (m)")
    assert axes.get_title() == "single shooting" and axes.get_aspect() == 1.0


def test_the_bar_reads_the_depth() -> None:
    figure = draw_landscape([Landscape("", ACROSS, UP, VALUES)], NAMES, ["m", "m"])
    figure.draw_without_rendering()
    ticks = figure.axes[1].yaxis.get_major_ticks()
    minus = "\N{MINUS SIGN}"
    assert [tick.label1.get_text() for tick in ticks] == [
        "0",
        f"{minus}10",
        f"{minus}100",
        f"{minus}1,000",
        f"{minus}10,000",
    ]
    assert_allclose(figure.axes[1].get_yticks(), [0, *(-np.log10(1 + 10.0 ** np.arange(1, 5)))])
    assert figure.axes[1].get_ylabel() == "log-likelihood, from its highest"


def test_what_lies_on_it_is_marked_and_counted() -> None:
    maxima = np.array([[1.0, 1.2], [2.0, 1.5]])
    panels = [
        Landscape("single", ACROSS, UP, VALUES, TRUTH, PARTICLES, maxima),
        Landscape("multiple", ACROSS, UP, VALUES, maxima=maxima[:1]),
    ]
    figure = draw_landscape(panels, NAMES, ["m", "kg"])
    figure.draw_without_rendering()
    one, other = figure.axes[0], figure.axes[1]
    assert [line.get_label() for line in one.lines] == ["2 local maxima", "7 particles", "truth"]
    for line, places in zip(one.lines, [maxima, PARTICLES, TRUTH], strict=True):
        assert_allclose(np.asarray(line.get_xydata()), places)
    assert [line.get_label() for line in other.lines] == ["1 local maximum"]
    assert other.get_ylabel() == "link2.length (kg)" and one.get_aspect() == "auto"


def test_a_nan_is_left_blank_and_a_plain_is_drawn() -> None:
    holes = VALUES.copy()
    holes[3, 4], holes[5, 6] = np.nan, -np.inf
    figure = draw_landscape([Landscape("", ACROSS, UP, v) for v in (holes, np.zeros_like(VALUES))], NAMES, ["m", "m"])
    figure.draw_without_rendering()
    colours = np.asarray(figure.axes[0].collections[0].get_array())
    assert np.sum(~np.isfinite(colours)) == 2
