"""The comparison of methods on ten pendulums: at equal simulations, beside what a perfect method would find."""

from pathlib import Path

import numpy as np
import pytest

from plausim.report.tables import markdown
from plausim.samplers import Method
from plausim.studies import synthetic_methods, synthetic_pendulum
from plausim.studies.outcome import Outcome
from plausim.studies.synthetic_pendulum import COVARIANCE, MEAN, METHODS, METRICS, Way


def value(outcome: Outcome, name: str) -> float:
    (found,) = (number.value for number in outcome.numbers if number.name == name)
    return found


@pytest.mark.slow
def test_svgd_among_the_five() -> None:
    """In one pass over three seeds: SVGD is the nearest by both divergences, and no method takes more simulations."""
    outcome = synthetic_pendulum.run(methods=tuple(METHODS), seeds=3)
    assert [value(outcome, f"SVGD's place, {name}") for name in METRICS[:2]] == [1, 1]
    assert value(outcome, "most simulations of a method") <= 100_000
    rows = {str(row[0]): row for row in outcome.tables["methods"].rows}
    assert len(rows) == 7 and not any("failed" in str(row[1]) for row in rows.values())


@pytest.fixture
def small(monkeypatch) -> None:
    for name, number in {"PARTICLES": 40, "REFERENCE": 300, "TESTS": 10, "RECORDINGS": 4}.items():
        monkeypatch.setattr(synthetic_pendulum, name, number)
    for name, number in {"GRID": 100, "SETS": 3}.items():
        monkeypatch.setattr(synthetic_methods, name, number)


def test_a_comparison_in_small(small, monkeypatch, tmp_path: Path) -> None:
    def broken() -> Method:
        def make(target, iterations):
            raise ValueError("it cannot move")

        return Method("broken", {}, make)

    monkeypatch.setitem(METHODS, "broken", Way("Broken", broken))
    outcome = synthetic_pendulum.run(methods=("emcee", "svgd", "broken"), iterations=120, folder=tmp_path)
    rows = {str(row[0]): row[1:] for row in outcome.tables["methods"].rows}
    assert [*rows] == ["emcee", "SVGD", "Broken", "draws of the exact posterior", "draws of the true density"]
    assert rows["Broken"][0] == "failed: it cannot move"
    assert "| Broken | failed: it cannot move |  |" in markdown(outcome.tables["methods"])
    assert value(outcome, "SVGD's place, MMD of trajectories") in (1, 2)
    assert value(outcome, "most simulations of a method") == 40 * 120
    assert outcome.figures.keys() == {"figures", "posteriors", "metrics"}
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["emcee-0", "svgd-0"]


def test_what_is_not_installed_is_said_before_anything_runs(monkeypatch) -> None:
    def lacking() -> Method:
        raise ModuleNotFoundError("lacking needs a library, which is not installed")

    monkeypatch.setitem(METHODS, "lacking", Way("Lacking", lacking))
    said: list[str] = []
    with pytest.raises(ModuleNotFoundError, match="lacking needs a library"):
        synthetic_pendulum.run(tell=said.append, methods=("svgd", "lacking"))
    assert not said


def test_draws_of_the_grid_are_of_their_densities(small, monkeypatch) -> None:
    """The true density has a mean and a covariance, and so has the posterior of a normal likelihood."""
    monkeypatch.setattr(synthetic_pendulum, "PARTICLES", 2000)
    middle = 0.5 + 2.5 * (np.arange(500) + 0.5) / 500
    first, second = np.meshgrid(middle, middle)
    heights = -0.5 * (((first - 1.0) / 0.1) ** 2 + ((second - 2.2) / 0.2) ** 2)
    drawn = synthetic_methods.drawn_exactly(heights, 0)
    true, exact = drawn[synthetic_methods.TRUE].values, drawn[synthetic_methods.EXACT].values
    np.testing.assert_allclose(true.mean(0), MEAN, atol=0.01)
    np.testing.assert_allclose(np.cov(true.T), COVARIANCE, atol=1.2e-3)
    np.testing.assert_allclose(exact.mean(0), [1.0, 2.2], atol=0.02)
    np.testing.assert_allclose(exact.std(0), [0.1, 0.2], rtol=0.05)
    assert drawn[synthetic_methods.EXACT].scores["mean log-density"] == pytest.approx(-1.0, abs=0.02)


def test_what_does_not_exist_is_the_farthest() -> None:
    kl, likely = METRICS[1], METRICS[3]
    assert synthetic_methods.distance(kl, -0.2) == 0.2 < synthetic_methods.distance(kl, 0.3)
    assert synthetic_methods.distance(likely, 0.3) < synthetic_methods.distance(likely, 0.2)
    assert synthetic_methods.distance(kl, np.nan) == np.inf == synthetic_methods.distance(likely, np.nan)
