"""The study of the real double pendulum: what it infers, what it refuses, what its tables say, and a small run."""

import os
from pathlib import Path

import numpy as np
import pytest

from plausim.report.tables import markdown
from plausim.scores import Scores
from plausim.studies import double_pendulum as study
from plausim.studies.double_pendulum_figures import MEASURED, ratios
from plausim.studies.double_pendulum_report import numbers, scores_table, shooting_table, titled
from plausim.studies.outcome import Outcome

DATA = Path(os.environ.get("PLAUSIM_DATA", Path(__file__).parents[3] / "shared" / "data")) / "ibm-double-pendulum"
published = pytest.mark.skipif(
    not (DATA / "0.csv").is_file(),
    reason=f"IBM's double-pendulum-chaotic is not in {DATA}; PLAUSIM_DATA may name the folder that it is in",
)


def test_what_is_reported_on_was_not_tuned_on() -> None:
    parts = [study.TUNING, study.REFERENCES, study.HELD_OUT]
    assert sorted(run for part in parts for run in part) == list(range(15))


def test_without_recordings_it_says_where_they_come_from() -> None:
    with pytest.raises(ValueError, match=r"--data FOLDER.*Asseman.*CDLA-Sharing-1\.0.*0\.csv"):
        study.run()
    with pytest.raises(FileNotFoundError, match=r"there is no folder nowhere.*six integers a row"):
        study.run(data=Path("nowhere"), methods=("svgd",), references=(2,))
    with pytest.raises(ValueError, match=r"runs 1, 7 are held out or were used to choose settings; take .* 0, 2, 5"):
        study.run(data=DATA, references=(1, 2, 7))


def test_the_eleven_parameters_have_the_papers_limits_if_asked_for() -> None:
    """`tab:params-ibm-pendulum`."""
    chosen = {p.name: (p.low, p.high) for p in study.doubted("paper").parameters.chosen}
    assert len(chosen) == 11
    assert chosen["link1.mass"] == chosen["link2.mass"] == (0.05, 0.5)
    assert chosen["link1.inertia.xx"] == chosen["link2.inertia.xx"] == (0.002, 1.0)
    assert chosen["link2.com.y"] == chosen["link1.com.z"] == (-0.2, 0.2)
    assert chosen["elbow.damping"] == (0.0, 0.5) and chosen["link2.pos.z"] == (-0.3, -0.08)
    wide = study.doubted("wide").parameters
    assert wide.names == tuple(chosen) and [p.name for p in wide.chosen if p.log] == [
        "link1.inertia.xx", "link2.inertia.xx"
    ]  # fmt: skip


def test_what_the_motion_tells_is_the_same_for_all_pendulums_that_move_alike() -> None:
    """Heavier by half, or turned about the elbow's line: the ratios stay."""
    one = np.array([[0.3, 5e-4, 0.0, -0.04, 1e-4, -0.091, 0.1, 1e-4, 0.0, -0.035, 1e-5]])
    heavy = one * np.array([1.5, 1.5, 1, 1, 1.5, 1, 1.5, 1.5, 1, 1, 1.5])
    np.testing.assert_allclose(ratios(heavy), ratios(one))
    turned = one.copy()
    turned[0, 8:10] = 0.035 * np.sin(0.3), -0.035 * np.cos(0.3)
    np.testing.assert_allclose(ratios(turned), ratios(one))
    c, e = 0.1 * 0.091 * 0.035, 0.1 * 0.035
    by_hand = [(5e-4 + 0.3 * 0.04**2 + 0.1 * 0.091**2) / c, (1e-4 + 0.1 * 0.035**2) / c, (0.3 * 0.04 + 0.1 * 0.091) / e]
    np.testing.assert_allclose(ratios(one)[0], by_hand)
    assert MEASURED.shape == (1, 3)


def rival(label: str, reference: int, seed: int, energy: float, failure: str = "") -> study.Rival:
    found = Scores(energy, 0.9, {"rad": 0.05, "rad/s": 1.0}, -10.0, -3000.0, 3000.0, energy / 10, 0)
    return study.Rival(label, reference, seed, None, None if failure else found, failure)


def test_a_row_is_the_mean_over_references_and_its_spread_is_that_over_seeds() -> None:
    energies = {("csvgd", 0): (0.1, 0.3), ("csvgd", 1): (0.2, 0.4), ("svgd", 0): (2.0, 4.0), ("svgd", 1): (2.0, 4.0)}
    rivals = [
        rival(label, reference, seed, each)
        for (label, seed), values in energies.items()
        for reference, each in zip((0, 2), values, strict=True)
    ]
    text = markdown(scores_table(rivals))
    assert "| CSVGD | **0.25 ± 0.07** | **0.90** | **50** |" in text and "| SVGD, single shooting | 3 |" in text
    found = {number.name: number for number in numbers(rivals)}
    assert found["energy score, CSVGD over SVGD's single"].value == pytest.approx(0.25 / 3)
    assert all(number.holds for number in found.values() if number.wanted) is False  # the same KL is not lower
    assert found["MMD, CSVGD over the best of single shooting"].value == pytest.approx(0.25 / 3)
    assert "0.083 of the energy score of SVGD, single shooting" in markdown(shooting_table(rivals))


def test_a_method_that_failed_says_so_in_its_row() -> None:
    rivals = [rival("nuts", 0, 0, 1.0), rival("nuts", 2, 0, 1.0, "no way through"), rival("csvgd", 0, 0, 0.1)]
    assert "| NUTS, single shooting | failed on run 2: no way through |" in markdown(scores_table(rivals))


def test_every_entry_has_a_name_that_reads() -> None:
    labels = [entry.label for entries in study.METHODS.values() for entry in entries]
    assert len(set(labels)) == len(labels) == 24
    names = {titled(label) for label in labels}
    assert len(names) == 24 and {"CSVGD", "emcee, multiple shooting", "BayesSim, signature, MDRFF (Matérn)"} <= names


def test_bayessim_learns_twelve_times_once_only() -> None:
    """Elsewhere the one of the paper's table, the better one, and then the one with all simulations."""
    few = [entry.label for entry in study.entries(("bayessim", "csvgd"), learners=3)]
    assert few == [
        "bayessim downsampled mdn", "bayessim downsampled mdrff-matern", "bayessim, all simulations", "csvgd"
    ]  # fmt: skip
    assert len(study.entries(("bayessim",))) == 13 and len(study.entries(("bayessim",), learners=2)) == 2


@published
@pytest.mark.parametrize(
    "methods, rows", [(("csvgd",), 2), pytest.param(("emcee", "cem", "csvgd"), 6, marks=pytest.mark.slow)]
)
def test_a_small_run(methods: tuple[str, ...], rows: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a fortieth of the simulations; and again, out of what is kept."""
    monkeypatch.setattr(study, "BUDGET", 5000)
    said: list[str] = []

    def go() -> Outcome:
        return study.run(0, said.append, data=DATA, methods=methods, references=(2,), folder=tmp_path)

    outcome = go()
    table = outcome.tables["scores"].rows
    assert len(table) == rows and table[-1][0] == "CSVGD" and table[-1][5] == 5000.0
    assert {"trajectories", "trajectories-multiple", "parameters", "combinations", "horizon", "progress"} <= (
        outcome.figures.keys()
    )
    said.clear()
    again = go()
    assert not said and markdown(again.tables["scores"]) == markdown(outcome.tables["scores"])


def test_the_pendulum_is_measured_whole() -> None:
    """Noise of starts and of samples is one and the same, channel by channel."""
    assert study.doubted("wide").channels == tuple(study.NOISE)
