"""Runs at the command line: begun, stopped, resumed, shown; and what became of their folders in between."""

import errno
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import mujoco
import numpy as np
import pytest
from typer.testing import CliRunner

from plausim import checkpoints, config, results
from plausim import run as running
from plausim.cli import app
from plausim.commands import watching

from . import swings


def plausim(*arguments: object, code: int = 0) -> str:
    """What a command says, on either stream. It has JAX's own rules of promotion, as in a process of its own."""
    with jax.numpy_dtype_promotion("standard"):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    assert "Traceback" not in result.output
    return result.output


@pytest.fixture(scope="module")
def finished(_swing: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    place = Path(shutil.copytree(_swing, tmp_path_factory.mktemp("ended") / "place"))
    return place, plausim("run", place / "swing.toml")


@pytest.fixture
def ended(finished: tuple[Path, str], place: Path) -> Path:
    """The folder of a run that has ended, that one may spoil, beside its own model and recording."""
    folder = Path(shutil.copytree(finished[0] / "runs" / "swing", place / "runs" / "swing"))
    change(folder, lambda resolved: json.loads(json.dumps(resolved).replace(str(finished[0]), str(place))))
    return folder


def change(folder: Path, how: Callable[[Any], Any]) -> None:
    """Another resolved.json."""
    file = folder / "resolved.json"
    file.write_text(json.dumps(how(json.loads(file.read_text()))))


def values(folder: Path) -> np.ndarray:
    return results.read(folder / "posterior.nc").values


def test_a_run_says_what_it_does_and_what_it_found(finished: tuple[Path, str]) -> None:
    place, output = finished
    folder = place / "runs" / "swing"
    assert {f.name for f in folder.iterdir()} == {
        "config.toml", "resolved.json", "log.txt", "checkpoint.npz", "posterior.nc", "figures.png"
    }  # fmt: skip
    assert "csvgd with 8 particles and 30 iterations" in output
    assert re.search(r"iteration 30 of 30: log-likelihood [\d.]+  violation [\de.-]+  bandwidth [\d.]+  lost 0", output)
    (row,) = re.findall(r"^rod\.mass +(.*) kg *$", output, re.MULTILINE)
    assert len(row.split()) == 9
    assert (folder / "config.toml").read_text() == swings.CONFIG
    assert (folder / "figures.png").stat().st_size > 20_000
    log = (folder / "log.txt").read_text()
    assert "8 particles, 30 iterations, seed 0" in log and "the result is written" in log
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d  \S", line) for line in log.splitlines())


def test_show_prints_the_same_again(finished: tuple[Path, str]) -> None:
    place, output = finished
    shown = plausim("show", place / "runs" / "swing")
    assert shown in output and "misfit of whole simulations (rms): angle 0.0" in shown


def test_a_narrow_terminal_loses_nothing(finished: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plausim.commands.answers.console.width", 60)
    place, output = finished
    shown = plausim("show", place / "runs" / "swing")
    (row,) = re.findall(r"^rod\.mass +(.*) kg *$", output, re.MULTILINE)
    assert "rod.mass: " in shown and all(number in shown for number in row.split())
    info = {"logdensity": 3916.2, "gap": 7.4e-7, "bandwidth": 0.02, "lost": 0.0}
    said = watching.numbers(running.Progress("csvgd", 1, 2, info, 0.0, None))
    assert watching.fitting(["0:12 left", *said], 41) == "0:12 left  log-likelihood 3,916.2  lost 0"
    assert watching.fitting(said, 5) == ""


def test_a_run_that_has_ended_is_not_run_again(ended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "infer", lambda *a, **k: pytest.fail("it ran again"))
    assert "has ended already" in plausim("resume", ended)
    assert "has ended already" in plausim("run", ended.parents[1] / "swing.toml")


def test_models_are_simulators_that_mujoco_reads(ended: Path, tmp_path: Path) -> None:
    plausim("models", ended, "-n", 3, "--out", tmp_path / "out")
    files = sorted((tmp_path / "out").iterdir())
    assert [f.name for f in files] == ["model0.xml", "model1.xml", "model2.xml"]
    masses = [mujoco.MjModel.from_xml_path(str(f)).body_mass[1] for f in files]
    assert len({*masses}) == 3 and all(np.abs(values(ended)[:, 0] - m).min() < 1e-12 for m in masses)
    assert "not empty; name a new folder" in plausim("models", ended, "--out", tmp_path / "out", code=2)


def test_another_config_does_not_write_over_a_result(ended: Path) -> None:
    before, place = values(ended), ended.parents[1]
    file = swings.config(place, {"[0.5, 2.0]": "[0.6, 2.0]"})
    error = plausim("run", file, code=2)
    assert "holds another run: parameters.rod.mass.low was 0.5, is 0.6. Name another folder with --out." in error
    swings.config(place, {})
    assert "holds another run: sampler.seed was 0, is 1." in plausim("run", file, "--seed", 1, code=2)
    np.testing.assert_array_equal(values(ended), before)


def test_a_file_that_changed_since_is_refused(ended: Path) -> None:
    model = ended.parents[1] / "rod.xml"
    model.write_text(swings.MODEL.replace('mass="1"', 'mass="1.1"'))
    assert f"{model} (model) changed since this run began" in plausim("resume", ended, code=2)


def without(*names: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return spoil


def cut_to(size: int, name: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:size])

    return spoil


def another(key: str, value: Any) -> Callable[[Path], None]:
    return lambda folder: change(folder, lambda resolved: resolved | {key: value})


SPOILT = {
    "no folder": (shutil.rmtree, "show", "there is no folder {folder}; `plausim run CONFIG` makes one"),
    "no config": (
        without("posterior.nc", "resolved.json"),
        "resume",
        "it has no resolved.json. If it holds a checkpoint,",
    ),
    "format": (another("format", 0), "resume", "format 0, where this plausim has 1): it is of another version"),
    "half of resolved.json": (cut_to(1000, "resolved.json"), "resume", "resolved.json cannot be read"),
    "config of another version": (another("config", {"robot": 1}), "resume", "starts anew in another folder"),
    "half of the result": (cut_to(1000, "posterior.nc"), "show", "posterior.nc cannot be read"),
    "empty result": (cut_to(0, "posterior.nc"), "show", "posterior.nc cannot be read"),
    "no result": (
        without("posterior.nc"),
        "show",
        "has not ended, its last checkpoint is of iteration 30; `plausim resume",
    ),
    "no result, no checkpoint": (
        without("posterior.nc", "checkpoint.npz"),
        "show",
        "is of iteration 0; `plausim resume",
    ),
    "model gone": (lambda f: (f.parents[1] / "rod.xml").unlink(), "models", "model.file: there is no file"),
}


@pytest.mark.parametrize(("spoil", "command", "says"), SPOILT.values(), ids=SPOILT.keys())
def test_what_is_left_of_a_folder(ended: Path, spoil: Callable[[Path], None], command: str, says: str) -> None:
    spoil(ended)
    there = {f.name for f in ended.glob("*")}
    assert says.format(folder=ended) in plausim(command, ended, code=2)
    assert {f.name for f in ended.glob("*")} == there


def test_a_folder_with_other_things_is_left_alone(place: Path) -> None:
    (place / "thesis").mkdir()
    (place / "thesis" / "chapter.tex").write_text("...")
    error = plausim("run", place / "swing.toml", "--out", place / "thesis", code=2)
    assert f"{place / 'thesis'} is not empty, and holds no run; name a new folder" in error
    assert [f.name for f in (place / "thesis").iterdir()] == ["chapter.tex"]
    assert "is a file; name a folder" in plausim("run", place / "swing.toml", "--out", place / "rod.xml", code=2)


def test_one_at_a_time(ended: Path) -> None:
    with config.journal(ended):
        assert f"another plausim is at work in {ended}" in plausim("resume", ended, code=2)


def test_what_a_killed_process_left_behind_is_swept_away(ended: Path) -> None:
    (ended / ".checkpoint.npz.abc.tmp").write_text("half a check")
    plausim("resume", ended)
    assert not list(ended.glob(".*"))


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_costs_nothing_but_time(ended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result cannot be written, then it can: the last checkpoint is whole."""
    before = values(ended)
    (ended / "posterior.nc").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save", full)
        patch.setattr(results, "write", full)
        error = plausim("resume", ended, code=2)
    assert f"no checkpoint could be written to {ended} (No space left on device); the run goes on" in error
    assert f"the result could not be written to {ended} (No space left on device)" in error
    assert "make room, and `plausim resume" in error
    with monkeypatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", full)
        (ended / "figures.png").unlink()
        assert "the figures could not be drawn" in plausim("resume", ended)
    np.testing.assert_array_equal(values(ended), before)
    plausim("resume", ended)
    assert (ended / "figures.png").is_file()


def test_a_full_disk_at_the_start(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "write_text", full)
    error = plausim("run", place / "swing.toml", code=2)
    assert f"cannot write to {place / 'runs' / 'swing'} (No space left on device); make room, or name" in error


def test_a_checkpoint_of_another_version_is_refused(ended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ended / "posterior.nc").unlink()
    monkeypatch.setattr(running, "__version__", "9.9")
    error = plausim("resume", ended, code=2)
    assert "checkpoint.npz is of another run: plausim was" in error and ", is 9.9. Set that back to go on" in error


@pytest.mark.parametrize("size", [0, 1000], ids=["empty", "half"])
def test_half_a_checkpoint_is_refused(ended: Path, size: int) -> None:
    (ended / "posterior.nc").unlink()
    file = ended / "checkpoint.npz"
    file.write_bytes(file.read_bytes()[:size])
    assert "delete it to start this run anew" in plausim("resume", ended, code=2)


def test_ctrl_c_saves_and_says_how_to_go_on(finished: tuple[Path, str], place: Path, monkeypatch: Any) -> None:
    folder, begun = place / "runs" / "swing", []

    def interrupting(self: Any, reached: Any, left: Any, aloud: bool) -> None:
        if reached.iteration and not begun:
            begun.append(reached.iteration)
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("plausim.commands.watching.Lines.tell", interrupting)
        error = plausim("run", place / "swing.toml", code=130)
    assert re.search(rf"stopped at iteration \d+ of 30; `plausim resume {folder}` goes on from there", error)
    assert "goes on from iteration" in plausim("resume", folder)
    np.testing.assert_array_equal(values(folder), values(finished[0] / "runs" / "swing"))


def test_a_likelihood_that_is_nowhere_finite(place: Path) -> None:
    """What went nowhere does not stand in the way of the corrected config."""
    bad = {"windows = 4": 'shooting = "single"', "high = 0.5, log": "high = 1e40, log", "low = 0.005": "low = 1e30"}
    file = swings.config(place, bad)
    error = plausim("run", file, code=2)
    assert (
        "the log-likelihood is not finite at any of the 8 starts, such as rod.mass = 1.25, pivot.damping = 1e+35"
        in error
    )
    assert "narrow the limits" in error
    swings.config(place, {})
    with config.claim(config.load(file), file):
        assert not (place / "runs" / "swing" / "checkpoint.npz").exists()
