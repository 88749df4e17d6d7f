import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, StepPatch
from numpy.testing import assert_allclose

from plausim.report.pairs import CROWD, Normal, draw_pairs, view

LIMITS = np.array([[0.0, 1.0], [-5.0, 5.0], [0.0, 1000.0]])
NAMES, UNITS = ["mass", "length", "count"], ["kg", "m", ""]


def samples(count: int = 50) -> np.ndarray:
    """The first fills its limits; the second and the third, little of theirs."""
    return np.random.default_rng(0).uniform([0.1, 0.0, 500.0], [0.9, 0.2, 501.0], (count, 3))


def triangle(figure: Figure) -> dict[tuple[int, int], Axes]:
    figure.draw_without_rendering()
    count = round(len(figure.axes) ** 0.5)
    return {divmod(i, count): axes for i, axes in enumerate(figure.axes) if axes.axison}


def dots(axes: Axes, marker: str = "o") -> list[np.ndarray]:
    return [line.get_xydata() for line in axes.lines if line.get_marker() == marker]  # pyright: ignore


def test_each_pair_is_where_its_names_are() -> None:
    x = samples()
    panels = triangle(draw_pairs(x, NAMES, UNITS, LIMITS))
    assert sorted(panels) == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    for row, col in [(1, 0), (2, 0), (2, 1)]:
        assert_allclose(dots(panels[row, col])[0], x[:, [col, row]])
    assert [panels[2, col].get_xlabel() for col in range(3)] == ["mass (kg)", "length (m)", "count"]
    assert [panels[row, 0].get_ylabel() for row in range(3)] == ["", "length (m)", "count"]
    assert panels[1, 0].get_xlabel() == "" and panels[2, 1].get_ylabel() == ""


def test_marginals_are_densities_of_all_samples() -> None:
    x = samples(1000)
    panels = triangle(draw_pairs(x, NAMES, UNITS))
    for i in range(3):
        (bars,) = (patch for patch in panels[i, i].patches if isinstance(patch, StepPatch))
        heights, edges, _ = bars.get_data()
        assert_allclose(np.sum(heights * np.diff(edges)), 1.0)
        assert edges[0] == x[:, i].min() and edges[-1] == x[:, i].max()


def test_views_span_the_limits_or_the_samples() -> None:
    panels = triangle(draw_pairs(samples(), NAMES, UNITS, LIMITS))
    low, high = panels[2, 0].get_xlim()
    assert low < 0.0 and high > 1.0
    low, high = panels[2, 1].get_xlim()
    assert -0.1 < low < 0.0 and 0.2 < high < 0.3
    assert panels[1, 0].get_ylim() == panels[2, 1].get_xlim() == panels[1, 1].get_xlim()
    assert (
        view(np.array([0.4, 0.5]), np.array([0.0, 1.0]), np.array([[0.9]]))[0] < 0
    )  # the truth is far: so wide a view
    assert [panels[i, i].get_title() for i in range(3)] == [
        "limits 0 to 1", "limits \N{MINUS SIGN}5 to 5", "limits 0 to 1,000"
    ]  # fmt: skip


def test_limits_truth_and_prior_are_drawn_if_given() -> None:
    truth, prior = (
        np.array([[0.5, 0.1, 500.5], [0.2, 0.0, 500.0]]),
        LIMITS[:, 0] + np.ptp(LIMITS, axis=1) * 0.5 + np.zeros((7, 3)),
    )
    axes = triangle(draw_pairs(samples(), NAMES, UNITS, LIMITS, truth, prior))[2, 0]
    assert_allclose(dots(axes, "*")[0], truth[:, [0, 2]])
    assert_allclose(dots(axes)[0], prior[:, [0, 2]])
    assert_allclose([line.get_xdata()[0] for line in axes.lines if line.get_ls() == "--"][:2], [0.0, 1.0])  # pyright: ignore
    bare = triangle(draw_pairs(samples(), NAMES, UNITS))[2, 0]
    assert len(bare.lines) == 1


def test_limits_over_decades_are_drawn_by_their_logarithm() -> None:
    """What is even on the logarithm's scale looks even, and ticks have the numbers themselves."""
    power = np.linspace(-4.0, 0.0, 401)
    x = np.stack([10.0**power, power], axis=1)
    panels = triangle(draw_pairs(x, NAMES[:2], UNITS[:2], np.array([[1e-4, 1.0], [-4.0, 0.0]])))
    assert_allclose(dots(panels[1, 0])[0], np.stack([power, power], axis=1), atol=1e-12)
    (bars,) = (patch for patch in panels[0, 0].patches if isinstance(patch, StepPatch))
    heights, _, _ = bars.get_data()
    assert_allclose(heights, 0.25, rtol=0.05)
    ticks = [text.get_text() for text in panels[1, 0].get_xticklabels()]
    assert "0.01" in ticks and "1" in ticks
    assert panels[0, 0].get_title() == "limits 0.0001 to 1"
    even = np.stack([np.linspace(0.0, 1.0, 9), np.zeros(9)], axis=1)
    plain = triangle(draw_pairs(x, NAMES[:2], UNITS[:2], np.array([[1e-4, 1.0], [-4.0, 0.0]]), prior=even))
    assert_allclose(dots(plain[1, 0])[1], x)


def test_a_normal_is_drawn_as_its_ellipses() -> None:
    """Every point of the contour is one, or two, standard deviations away."""
    mean, covariance = np.array([1.5, 2.0]), np.array([[0.04, 0.03], [0.03, 0.09]])
    x = np.random.default_rng(0).multivariate_normal(mean, covariance, 100)
    axes = triangle(draw_pairs(x, NAMES[:2], UNITS[:2], normal=Normal(mean, covariance)))[1, 0]
    contours = [patch for patch in axes.patches if isinstance(patch, Ellipse)]
    for deviations, contour in enumerate(contours, start=1):
        gaps = axes.transData.inverted().transform(contour.get_verts()) - mean
        away = np.sqrt(np.sum(gaps @ np.linalg.inv(covariance) * gaps, axis=1))
        assert_allclose(away, deviations, rtol=3e-3)
    assert len(contours) == 2


@pytest.mark.parametrize("count", [1, 2, 11])
def test_any_number_of_parameters(count: int) -> None:
    x = np.random.default_rng(0).normal(size=(100, count))
    assert len(triangle(draw_pairs(x, ["p"] * count, ["m"] * count))) == count * (count + 1) // 2


def test_many_samples_become_shades_and_equal_ones_a_bar() -> None:
    crowd = triangle(draw_pairs(samples(CROWD + 1), NAMES, UNITS))[1, 0]
    assert not crowd.lines and len(crowd.collections) == 1
    same = triangle(draw_pairs(np.ones((10, 2)), NAMES[:2], UNITS[:2]))
    assert same[0, 0].get_xlim() == pytest.approx((0.95, 1.05))
