"""`plausim compare`: runs on the motion that they were inferred from, and on other; what stands in the way is said."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from plausim import mechanics, recordings, results
from plausim.cli import app
from plausim.config import benches, comparing, open_run
from plausim.config.comparing import Comparison
from plausim.mechanics.read import parse
from plausim.report.comparison import score_table
from plausim.report.tables import markdown
from plausim.scores import Heldout, judged

from . import swings

DOCS = Path(__file__).parents[2] / "docs"
NOISE = {"angle": 0.01, "rate": 0.05}
STARTS = ([-0.5, 1.0], [0.3, -2.0], [1.5, 0.0], [0.9, 3.0])
CONFIGS = {
    "one": {"particles = 8": "particles = 20"},
    "two": {
        "particles = 8": 'method = "svgd"\nparticles = 24',
        "angle = 0.01": "angle = { low = 0.003, high = 0.1 }",
        "windows = 4": 'windows = 4\nfirst = "inferred"\nstudent = 4.0',
    },
}


class Ran(NamedTuple):
    place: Path
    runs: list[Path]
    files: list[Path]  # held out: motions of 40, 45, 50 and 55 steps


def plausim(*arguments: object, code: int = 0) -> str:
    """What a command says, on either stream."""
    with jax.numpy_dtype_promotion("standard"):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result.output


def another(file: Path, start: list[float], steps: int, seed: int) -> Path:
    """The same pendulum moves otherwise."""
    swing = recordings.simulated(parse(swings.MODEL), np.array(start), steps=steps, noise=NOISE, seed=seed)
    swings.write_csv(file, np.column_stack([0.01 * np.arange(steps + 1), swing.observed]))
    return file


@pytest.fixture(scope="module")
def ran(_swing: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    place = Path(shutil.copytree(_swing, tmp_path_factory.mktemp("compared") / "place"))
    for name, changes in CONFIGS.items():
        plausim("run", swings.config(place, changes, f"{name}.toml"))
    files = [another(place / f"other{i}.csv", start, 40 + 5 * i, i + 1) for i, start in enumerate(STARTS)]
    return Ran(place, [place / "runs" / name for name in CONFIGS], files)


@pytest.fixture(scope="module")
def fitted(ran: Ran) -> Comparison:
    return comparing.compare(ran.runs)


@pytest.fixture(scope="module")
def held(ran: Ran) -> Comparison:
    return comparing.compare(ran.runs, ran.files)


# ---- numbers


def test_fits_are_those_of_what_the_runs_kept(ran: Ran, fitted: Comparison) -> None:
    """Without noise in its starts: by `judged` on the file of the result."""
    seen = results.read(ran.runs[0] / "posterior.nc").predictions
    assert seen is not None
    sigma = np.array([0.01, 0.05])
    spread = np.std(seen.observed[0], axis=0)
    measured = seen.predicted + sigma * np.random.default_rng(0).standard_normal(seen.predicted.shape)
    truth = judged(seen.predicted, measured, Heldout(seen.observed, seen.known, spread, sigma, ("rad", "rad/s")))
    own = fitted.rows[1].scores
    for ours, theirs in zip(own, truth, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6, nan_ok=True)
    assert [row.name for row in fitted.rows] == ["prior", "one", "two"]
    assert not fitted.held_out and np.isnan(own.mmd) and own.energy < fitted.rows[0].scores.energy


def test_predictions_are_those_of_the_models_drawn(ran: Ran, held: Comparison) -> None:
    """Each draw's own MJCF moves from the first row of each log as long as the shortest."""
    posterior = open_run(ran.runs[1])
    assert posterior.model is not None
    starts = [swings.read_csv(file)[0, 1:] for file in ran.files]
    for draw in (0, 23):
        model = posterior.model(jax.numpy.asarray(posterior.values[draw]))
        moved = [np.asarray(mechanics.simulate(model, start, np.zeros((40, 1)))) for start in starts]
        assert_allclose(held.rows[2].seen.predicted[draw], moved, rtol=1e-6, atol=1e-8)
    seen = held.rows[0].seen
    assert_allclose(seen.observed, [swings.read_csv(file)[1:41, 1:] for file in ran.files])
    assert held.held_out and all(np.isfinite(list(row.scores._replace(rms=0.0))).all() for row in held.rows)  # pyright: ignore
    assert held.units == ("rad", "rad/s")
    assert "All were cut to the length of the shortest, other0.csv (steps: 40)." in held.notes


def test_the_prior_fills_the_limits(fitted: Comparison) -> None:
    mass, damping = fitted.rows[0].values.T
    assert len(mass) == 20 and 0.5 < mass.min() < 0.6 and 1.9 < mass.max() < 2.0
    assert abs(np.median(np.log(damping)) - np.log(0.05)) < 0.3  # its scale is logarithmic


def test_noise_is_each_draws_own(ran: Ran) -> None:
    """Where it was to be found; and first states stray where the config says that they do."""
    runs = benches.opened(ran.runs)
    with jax.enable_x64(True):
        one, two = benches.benched(runs, ran.files)
        values = runs[1].posterior.values
        sd = comparing.deviations(two.noise, runs[1].posterior.names, values)
        names, prior = comparing.prior(two, 64)
        assert one.strayed is None and two.strayed is not None
        still, moved = two.predict(values), two.strayed(values, np.random.default_rng(0))
    assert runs[1].posterior.names == names == ("rod.mass", "pivot.damping", "noise.angle")
    assert_allclose(sd, np.stack([values[:, 2], np.full(24, 0.05)], axis=1))
    assert 0.003 < prior[:, 2].min() < 0.0035 and 0.09 < prior[:, 2].max() < 0.1
    away = np.std((moved - still)[:, :, 0], axis=0)  # after the first step
    assert (away[:, 0] > 1e-3).all() and (away[:, 0] < 0.2).all()


# ---- the command


def test_the_table_says_what_it_is_of(ran: Ran, fitted: Comparison) -> None:
    said = plausim("compare", *ran.runs)
    assert said.strip() == markdown(score_table(fitted)).strip()
    assert "Judged on swing.csv, which the runs were inferred from: this is how well they fit, not how well" in said
    assert "| run | method | energy score | coverage of 90% | rms, rad | rms, rad/s | log p |" in said
    assert "take 4 or more; here: 1." in said and said.count("N/A | N/A | N/A") == 3
    assert "| one | csvgd |" in said and "| two | svgd |" in said


def test_held_out_motion_in_files(ran: Ran, held: Comparison, tmp_path: Path) -> None:
    folder = tmp_path / "compared"
    given = [part for file in ran.files for part in ("--held-out", file)]
    said = plausim("compare", *ran.runs, *given, "--out", folder)
    assert said.startswith("### Held-out motion\n") and "N/A" not in said
    assert {file.name for file in folder.iterdir()} == {"compare.md", "compare.tex", "compare.json", "figures.png"}
    assert (folder / "compare.md").read_text() in said
    assert r"\toprule" in (folder / "compare.tex").read_text()
    assert (folder / "figures.png").stat().st_size > 20_000
    found = json.loads((folder / "compare.json").read_text())
    assert found["held out"] and [row["run"] for row in found["rows"]] == ["prior", "one", "two"]
    assert found["rows"][2]["energy score"] == pytest.approx(held.rows[2].scores.energy, rel=1e-9)
    assert found["rows"][2]["simulations"] == 24 * 30 and "seconds" not in found["rows"][0]


def test_what_a_run_has_seen_is_not_held_out(ran: Ran) -> None:
    said = plausim("compare", *ran.runs, "--held-out", ran.place / "swing.csv", "--held-out", ran.files[0])
    line = "swing.csv is not held out: one, two had it to infer from."
    assert f"plausim: warning: {line}" in said and f"\n{line}\n" in said


def test_runs_of_one_name_are_told_apart(ran: Ran, tmp_path: Path) -> None:
    twin = Path(shutil.copytree(ran.runs[0], tmp_path / "one"))
    assert [run.name for run in benches.opened([ran.runs[0], twin])] == [str(ran.runs[0]), str(twin)]


# ---- mistakes


@pytest.fixture
def spoilt(ran: Ran, tmp_path: Path) -> Path:
    """Another run of the same, that one may spoil."""
    return Path(shutil.copytree(ran.runs[1], tmp_path / "spoilt"))


def stopped(folder: Path) -> None:
    (folder / "posterior.nc").unlink()


def unresolved(folder: Path) -> None:
    (folder / "resolved.json").unlink()


def changed(old: str, new: str) -> Callable[[Path], None]:
    """The result of other recordings."""

    def spoil(folder: Path) -> None:
        found = results.read(folder / "posterior.nc")
        seen = found.predictions
        assert seen is not None
        if old == "numbers":
            seen.observed[0, 7, 1] += 0.25
        elif old == "known":
            seen.known[0, 7, 1] = False
        else:
            names = {old: tuple(name.replace("swing.csv", new).replace("rate", new) for name in getattr(seen, old))}
            seen = results.Predictions(**{**seen.__dict__, **names})
        results.write(results.Posterior(**{**found.__dict__, "predictions": seen}), folder / "posterior.nc")

    return spoil


SPOILT = {
    "gone": (shutil.rmtree, "there is no folder {folder}; `plausim run CONFIG` makes one"),
    "not ended": (stopped, "has not ended, its last checkpoint is of iteration 30; `plausim resume {folder}` goes on."),
    "no run": (unresolved, "{folder} is no run, or a part of one: it has no resolved.json"),
    "recordings": (
        changed("recordings", "b.csv"),
        "one and spoilt cannot be compared, since they were inferred from different recordings: swing.csv and b.csv; "
        "--held-out FILE judges them on other motion.",
    ),
    "channels": (changed("channels", "speed"), "different channels: angle, rate and angle, speed"),
    "numbers": (changed("numbers", ""), "different numbers: rate of swing.csv by up to 0.25"),
    "known": (changed("known", ""), "different samples: 1 of 80 were measured in one of the two only"),
}


@pytest.mark.parametrize("spoil, says", SPOILT.values(), ids=SPOILT.keys())
def test_runs_that_cannot_be_compared(
    ran: Ran, spoilt: Path, spoil: Callable[[Path], None], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benches, "predicted", lambda *_: pytest.fail("it simulates"))
    spoil(spoilt)
    assert says.format(folder=spoilt) in plausim("compare", ran.runs[0], spoilt, code=2)


def test_robots_with_other_sensors(ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = swings.folder(tmp_path / "place")
    (place / "rod.xml").write_text(swings.MODEL.replace('name="rate"', 'name="speed"'))
    columns = '[columns.sensors]\nspeed = "rate"\n[columns.controls]'
    changes = {"rate = 0.05": "speed = 0.05", "[columns.controls]": columns, "iterations = 30": "iterations = 2"}
    file = swings.config(place, changes)
    plausim("run", file)
    monkeypatch.setattr(benches, "predicted", lambda *_: pytest.fail("it simulates"))
    error = plausim("compare", ran.runs[0], place / "runs" / "swing", "--held-out", ran.files[0], code=2)
    assert "by their configs, what is held out has different channels: angle, rate and angle, speed." in error


MISTAKES = {
    "one run": (["{run}"], "1 run cannot be compared; name the folders of two or more."),
    "twice": (["{run}", "{run}"], "the run {run} is given twice; give it once."),
    "no file": (["{run}", "{two}", "--held-out", "nope.csv"], "there is no file nope.csv to be held out."),
    "no column": (
        ["{run}", "{two}", "--held-out", "{bad}"],
        "one takes recordings like its own: recording 1: bad.csv has the columns time, angle;",
    ),
    "onto a run": (["{run}", "{two}", "--out", "{run}"], "{run} is the folder of a run; name another one with --out"),
}


@pytest.mark.parametrize("arguments, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_said_before_anything_is_simulated(
    ran: Ran, tmp_path: Path, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benches, "predicted", lambda *_: pytest.fail("it simulates"))
    swings.write_csv(tmp_path / "bad.csv", swings.rows()[:, :2], "time,angle")
    words = {"run": ran.runs[0], "two": ran.runs[1], "bad": tmp_path / "bad.csv"}
    error = plausim("compare", *(a.format(**words) for a in arguments), code=2)
    assert says.format(**words) in error
    assert (ran.runs[0] / "figures.png").is_file()


def test_recordings_that_changed_since(ran: Ran, tmp_path: Path) -> None:
    place = Path(shutil.copytree(ran.place, tmp_path / "place"))
    for name in CONFIGS:
        file = place / "runs" / name / "resolved.json"
        file.write_text(file.read_text().replace(str(ran.place), str(place)))
    rows = swings.rows()
    rows[7, 1] += 0.5
    swings.write_csv(place / "swing.csv", rows)
    error = plausim("compare", place / "runs" / "one", place / "runs" / "two", code=2)
    assert (
        "the recordings of one have changed since it ran: different numbers: angle of swing.csv by up to 0.5" in error
    )


# ---- the page


@pytest.mark.slow
def test_the_page_as_it_is_typed(tmp_path: Path) -> None:
    """Blocks run in their order; the table is of what the first comparison says, to about a quarter."""
    page = (DOCS / "comparing.md").read_text()
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    said = []
    for language, block in re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL):
        program = ["bash", "-euc"] if language == "sh" else [sys.executable, "-c"]
        run = subprocess.run([*program, block], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, (block, run.stdout, run.stderr)
        said.append(run.stdout)
    first, second = (rows_of(text) for text in said if text.startswith("###"))
    promised = rows_of(page[: page.index("## The columns")])
    assert list(promised) == list(first) == ["run", "prior", "both", "mass"]
    assert first["run"][:7] == promised["run"]
    for name in ("prior", "both", "mass"):
        for ours, theirs in zip(promised[name][2:], first[name][2:], strict=False):
            assert float(ours) == pytest.approx(float(theirs), rel=0.25), name
    assert second["mass"][7] == "N/A"
    assert len(said[-1].splitlines()) == 3 and (tmp_path / "compared" / "figures.png").is_file()


def rows_of(text: str) -> dict[str, list[str]]:
    """A table's cells, by the first one."""
    rows = [line.replace("*", "").strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    return {row[0].strip(): [cell.strip() for cell in row] for row in rows}
