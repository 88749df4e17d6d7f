"""The promises of the studies, over several seeds; in the fast suite, small variants of them."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from plausim import studies
from plausim.studies import combination, landscape, synthetic_pendulum, two_links
from plausim.studies.outcome import Number, Outcome

SEEDS = [0, 1, 2]


def missed(outcome: Outcome) -> list[Number]:
    """Numbers that are not where they should be; there are some that should be somewhere."""
    assert any(number.wanted for number in outcome.numbers)
    return [number for number in outcome.numbers if not number.holds]


def value(outcome: Outcome, name: str) -> float:
    (found,) = (number.value for number in outcome.numbers if number.name == name)
    return found


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS])
def test_synthetic_pendulum(seed: int) -> None:
    """The mean within 5 cm, the axes within 15 degrees, a tenth of the divergences of the start."""
    outcome = synthetic_pendulum.run(seed)
    assert not missed(outcome)
    wanted = {number.name: number.wanted for number in outcome.numbers}
    assert wanted["mean of length 1"] == "1.45 to 1.55" and wanted["mean of length 2"] == "1.95 to 2.05"
    assert wanted["principal axis off by"] == "at most 15"
    assert wanted["KL(truth || particles), of the start's"] == "at most 0.1"


def test_synthetic_pendulum_in_small(monkeypatch) -> None:
    for name, number in {"PARTICLES": 50, "REFERENCE": 400, "TESTS": 10}.items():
        monkeypatch.setattr(synthetic_pendulum, name, number)
    outcome = synthetic_pendulum.run(iterations=300)
    assert not missed(outcome)
    assert value(outcome, "MMD of trajectories, of the start's") < 0.5
    assert outcome.figures.keys() == {"figures", "posterior", "metrics", "trajectories"}


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS])
def test_combination(seed: int) -> None:
    """The sum has 40 % of the particles within 10 cm of each truth; the product lies between."""
    outcome = combination.run(seed)
    assert not missed(outcome)
    near = [number for number in outcome.numbers if number.name.startswith("sum")]
    assert len(near) == 2 and all(number.low == 0.4 for number in near)


@pytest.mark.parametrize("grid", [pytest.param(100, marks=pytest.mark.slow), 25])
def test_landscape(grid: int) -> None:
    """Multiple shooting has at most a tenth of the local maxima."""
    outcome = landscape.run(grid=grid)
    few, many = (value(outcome, f"local maxima, {name} shooting") for name in ("multiple", "single"))
    assert 1 <= few <= many / 10
    assert grid < 100 or not missed(outcome)


def test_summits_of_a_known_surface() -> None:
    heights = np.zeros((7, 8))
    heights[2, 3], heights[4, 6], heights[0, 0], heights[4, 1:3] = 2.0, 1.0, 9.0, 3.0  # an edge, and a ridge
    assert np.argwhere(landscape.summits(heights)).tolist() == [[2, 3], [4, 6]]


def test_the_angle_of_axes() -> None:
    covariance = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert synthetic_pendulum.axes_of(covariance) == pytest.approx(45.0)
    assert synthetic_pendulum.turned(179.0, 1.0) == pytest.approx(2.0)
    assert synthetic_pendulum.turned(10.0, 100.0) == pytest.approx(90.0)


def test_the_ten_lengths_are_of_their_density() -> None:
    """Quasi-random ones have nearly its mean and covariance."""
    for seed in SEEDS:
        lengths = synthetic_pendulum.drawn(1024, seed)
        np.testing.assert_allclose(lengths.mean(0), synthetic_pendulum.MEAN, atol=1e-3)
        np.testing.assert_allclose(np.cov(lengths.T), synthetic_pendulum.COVARIANCE, atol=3e-4)


def test_between_the_truths() -> None:
    along, aside = combination.between(np.array([[1.75, 1.75], [1.85, 1.85]]))
    assert along == pytest.approx(0.5) and aside == pytest.approx(0.05 * np.sqrt(2))


def test_a_pendulum_of_two_masses_keeps_its_energy() -> None:
    """Out of its own formula, which knows nothing of our mechanics."""
    lengths = np.array([[1.5, 2.0], [2.2, 0.8]])
    states = two_links.moved(lengths, 200)
    (a, b), (p, q) = np.moveaxis(states[..., :2], -1, 0), np.moveaxis(states[..., 2:], -1, 0)
    one, other = lengths[:, :1], lengths[:, 1:]
    speed = (one * p) ** 2 + 0.5 * (other * (p + q)) ** 2 + one * other * p * (p + q) * np.cos(b)
    energy = speed + 0.5 * 0.001 * (p**2 + (p + q) ** 2) - 9.81 * (2 * one * np.cos(a) + other * np.cos(a + b))
    assert np.abs(energy).max() < 0.05 * np.abs(speed).max()  # it starts with none; Euler's steps sway about it


def test_outcomes_are_kept(tmp_path: Path) -> None:
    outcome = Outcome("x", [Number("a", 1.0, "m", low=0.5), Number("b", 2.0, high=1.0), Number("c", 0.0)], {})
    assert [n.holds for n in outcome.numbers] == [True, False, True]
    assert [n.wanted for n in outcome.numbers] == ["at least 0.5", "at most 1", ""]
    (file,) = studies.keep(outcome, tmp_path / "new")
    assert json.loads(file.read_text())["numbers"][0] == {
        "name": "a",
        "value": 1.0,
        "unit": "m",
        "wanted": "at least 0.5",
    }


def test_every_study_is_listed_with_what_it_is_about() -> None:
    assert all(len(studies.about(name)) > 40 for name in studies.STUDIES)
    assert jax.config.read("jax_enable_x64")
