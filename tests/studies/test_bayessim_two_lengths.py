"""BayesSim finds two link lengths from simulations alone."""

from pathlib import Path

import numpy as np
import pytest

from plausim.studies import bayessim_two_lengths as study
from plausim.studies.outcome import Outcome


def missed(outcome: Outcome) -> list[str]:
    assert outcome.numbers
    return [number.name for number in outcome.numbers if not number.holds]


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 2)])
def test_two_lengths(seed: int) -> None:
    """The mean within 10 cm of the truth, where lengths may be 0.5 to 5 m."""
    assert not missed(study.run(seed))


def test_two_lengths_in_small(monkeypatch, tmp_path: Path) -> None:
    for name, number in {"SIMULATIONS": 400, "STEPS": 60, "DRAWS": 50, "ROLLED": 20, "NEAR": 1.0}.items():
        monkeypatch.setattr(study, name, number)
    outcome = study.run(iterations=40, methods=("mdn-downsampled",), folder=tmp_path)
    assert not missed(outcome)
    assert outcome.figures.keys() == {"figures", "posterior", "trajectories", "inputs"}
    (row,) = outcome.tables["networks"].rows
    assert row[:2] == ["mdn", "downsampled"] and len(row) == len(outcome.tables["networks"].columns)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mdn-downsampled-0"]


def test_how_far_motions_are_off() -> None:
    assert study.misfit(np.tile(study.TRUTH, (3, 1))) == pytest.approx(0.0, abs=1e-9)
    near, far = (study.misfit(study.TRUTH[None] + away) for away in (0.01, 0.1))
    assert 0 < near < 0.2 * far
