import numpy as np
import pytest
from numpy.testing import assert_allclose

from plausim.report.inputs import Bars, Lines, draw_inputs

AT = np.linspace(0.0, 1.0, 20)
SWING = Lines("raw", AT, np.stack([AT, AT**2], axis=1))
NUMBERS = Bars("summary", np.array([1.0, -2.0, 3.0]), {"mean": 1, "variance": 2})


def test_samples_are_lines_and_numbers_are_bars_in_groups() -> None:
    figure = draw_inputs([SWING, NUMBERS], ("angle", "rate"))
    figure.draw_without_rendering()
    lines, bars = figure.axes
    assert_allclose([line.get_ydata() for line in lines.lines], [AT, AT**2])  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert_allclose([bar.get_height() for bar in bars.patches], NUMBERS.numbers)  # pyright: ignore[reportAttributeAccessIssue]
    assert [text.get_text() for text in bars.get_xticklabels()] == ["mean", "variance"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["angle", "rate"]


def test_the_legend_is_where_no_panel_is() -> None:
    figure = draw_inputs([SWING] * 5, ("angle", "rate"))
    figure.draw_without_rendering()
    assert len([axes for axes in figure.axes if axes.axison]) == 5
    legend = figure.axes[5].get_legend()
    assert legend is not None and not figure.legends


def test_numbers_over_decades_are_on_a_logarithmic_axis() -> None:
    wide = Bars("signature", np.array([0.0, 1.0, -2.0, 5000.0]), {"level 1": 4})
    assert [axes.get_yscale() for axes in draw_inputs([NUMBERS, wide], ()).axes] == ["linear", "symlog"]


def test_every_number_is_of_a_group() -> None:
    with pytest.raises(ValueError, match="summary has 3 numbers, and groups of 2; name all of them"):
        draw_inputs([NUMBERS._replace(groups={"mean": 2})], ())
