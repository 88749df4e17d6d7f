import numpy as np
from matplotlib.patches import Ellipse
from numpy.testing import assert_allclose

from plausim.report.pairs import Normal
from plausim.report.posteriors import draw_posteriors, view

MEAN, COVARIANCE = np.array([1.5, 2.0]), np.array([[0.01, 0.0075], [0.0075, 0.01]])


def samples(count: int = 100) -> np.ndarray:
    return np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, count)


def test_a_panel_for_each_method_on_the_same_axes() -> None:
    x = samples()
    figure = draw_posteriors({"emcee": x, "SVGD": x + 0.01}, ("a", "b"), ("m", ""), Normal(MEAN, COVARIANCE))
    figure.draw_without_rendering()
    one, other = figure.axes
    assert [one.get_title(), other.get_title()] == ["emcee", "SVGD"]
    assert_allclose(np.asarray(other.lines[0].get_xydata()), x + 0.01)
    assert one.get_xlim() == other.get_xlim() and one.get_ylim() == other.get_ylim()
    assert all(len([patch for patch in axes.patches if isinstance(patch, Ellipse)]) == 2 for axes in figure.axes)
    assert figure.get_supxlabel() == "a (m)" and figure.get_supylabel() == "b"


def test_what_strayed_is_counted_and_what_collapsed_is_said() -> None:
    strayed = samples()
    strayed[:1] = [9.0, 9.0]
    figure = draw_posteriors({"one": strayed, "two": np.ones((100, 2)) * MEAN}, ("a", "b"), ("m", "m"))
    assert [axes.texts[0].get_text() for axes in figure.axes] == ["1 beyond the view", "all 100 in one point"]
    (low, high), _ = view([samples()], Normal(MEAN, COVARIANCE))
    assert low < 1.3 and high > 1.7  # two standard deviations each way are in view


def test_more_methods_than_a_row_holds() -> None:
    figure = draw_posteriors({f"method {i}": samples(10) for i in range(8)}, ("a", "b"), ("m", "m"))
    figure.draw_without_rendering()
    assert len([axes for axes in figure.axes if axes.axison]) == 8
