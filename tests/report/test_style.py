import numpy as np
import pytest

from plausim.report.style import label, reach, short


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0"), (-0.0, "0"), (0.25, "0.25"), (1200.0, "1,200"), (-3.14159, "-3.142"), (2e-5, "2e-5"),
        (1.234e7, "1.23e7"), (0.0005, "0.0005"), (999999.0, "999,999"), (-1e6, "-1e6"), (0.1 + 0.2, "0.3"),
    ],
)  # fmt: skip
def test_numbers_are_short(value: float, text: str) -> None:
    assert short(value) == text.replace("-", "\N{MINUS SIGN}")


def test_units_are_in_brackets() -> None:
    assert label("elbow.damping", "N m s/rad") == "elbow.damping (N m s/rad)"
    assert label("count", "") == "count"


def test_reach_holds_all_values() -> None:
    assert reach(np.array([1.0, 3.0, 2.0]), 0.5) == (0.0, 4.0)
    assert reach(np.array([0.0]))[0] < 0.0 < reach(np.array([0.0]))[1]
    assert reach(np.array([5.0, 5.0])) == (4.75, 5.25)
