import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose

from plausim.report.convergence import Series, draw_convergence, scale_of

AT = np.arange(0.0, 100.0, 10.0)


def test_a_panel_for_each_number_and_a_line_for_each_method() -> None:
    series = [Series(m, n, AT, AT + i) for i, m in enumerate(["SVGD", "NUTS"]) for n in ("MMD²", "KL", "violation")]
    figure = draw_convergence(series)
    figure.draw_without_rendering()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["MMD²", "KL", "violation"]
    for axes in figure.axes:
        assert [line.get_label() for line in axes.lines] == ["SVGD", "NUTS"]
        assert axes.get_xlabel() == "iteration"
        for i, line in enumerate(axes.lines):
            assert_allclose(np.asarray(line.get_xydata()), np.stack([AT, AT + i], axis=1))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["SVGD", "NUTS"]


def test_methods_keep_their_looks_and_differ() -> None:
    names = [f"method {i}" for i in range(10)]
    figure = draw_convergence(
        [Series(m, n, AT, AT) for n in "ab" for m in (names if n == "a" else names[::-1])], "seconds"
    )
    looks = [
        {line.get_label(): (to_hex(line.get_color()), line.get_linestyle()) for line in axes.lines}
        for axes in figure.axes
    ]
    assert looks[0] == looks[1]
    assert len(set(looks[0].values())) >= 7
    assert figure.axes[0].get_xlabel() == "seconds"


def test_seeds_are_a_mean_and_a_range() -> None:
    values = np.stack([AT, AT + 2, AT + 7])
    values[1, 3] = np.nan
    axes = draw_convergence([Series("SVGD", "KL", AT, values)]).axes[0]
    expected = np.where(np.arange(10) == 3, np.nan, AT + 3)
    assert_allclose(np.asarray(axes.lines[0].get_ydata(), float), expected)
    outline = np.concatenate([path.vertices for path in axes.collections[0].get_paths()])
    assert_allclose([outline[:, 1].min(), outline[:, 1].max()], [0.0, 97.0])


def test_a_number_between_gaps_is_a_dot() -> None:
    values = np.array([1.0, np.nan, 3.0, 4.0, np.nan, 6.0])
    axes = draw_convergence([Series("SVGD", "KL", np.arange(6.0), values)]).axes[0]
    assert_allclose(np.asarray(axes.lines[1].get_xydata()), [[0.0, 1.0], [5.0, 6.0]])


def test_what_never_exists_is_not_available() -> None:
    figure = draw_convergence([Series("CEM", "KL", AT, np.full(10, np.nan)), Series("SVGD", "KL", AT, AT)])
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[0].texts] == ["CEM: N/A"]


@pytest.mark.parametrize(
    "values, scale",
    [
        ([1.0, 2.0, 9.0], "linear"),
        ([1e-6, 1e-3, 1.0], "log"),
        ([-1e6, -1e4, -1e3], "symlog"),
        ([-900.0, -3.0, 0.5, 2500.0, 800.0], "linear"),  # a KL divergence that goes through 0
        ([-1e7, 100.0, 110.0, 120.0, 120.0], "symlog"),  # a log-likelihood that ends above 0
        ([], "linear"),
    ],
)
def test_axes_are_logarithmic_where_apt(values: list[float], scale: str) -> None:
    at = np.arange(1.0, len(values) + 1)
    axes = draw_convergence([Series("SVGD", "x", at, np.array(values, float))]).axes[0]
    assert axes.get_yscale() == scale and axes.get_xscale() == "linear"
    kind, settings = scale_of(np.array(values, float))
    assert kind == scale
    if scale == "symlog" and max(values) < 0:
        assert settings["linthresh"] <= min(np.abs(values))  # nothing is in the linear part


def test_simulations_used_are_on_a_logarithmic_axis() -> None:
    at = np.geomspace(100, 1e6, 10)
    assert draw_convergence([Series("SVGD", "KL", at, AT)], "simulations").axes[0].get_xscale() == "log"


def test_one_that_is_far_does_not_flatten_the_others() -> None:
    series = [Series("CEM", "KL", AT, np.full(10, 22.0)), Series("SVGD", "KL", AT, np.linspace(-0.1, 0.3, 10))]
    (axes,) = draw_convergence(series, linear={"KL": 1.0}).axes
    assert axes.get_yscale() == "symlog"
    near, far = np.diff(axes.transData.transform([[0.0, -0.1], [0.0, 0.3], [0.0, 22.0]])[:, 1])
    assert near > 0.15 * far
