"""What `plausim init` writes: it loads, says what it guessed, and runs where the columns match."""

import errno
import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from plausim import config, mechanics, recordings, results
from plausim.cli import app
from plausim.config import guessing
from plausim.config.reading import parse

from . import swings


def init(place: Path, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["init", *arguments, "--out", str(place / "new.toml")])
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def started(place: Path, header: str, rows: np.ndarray) -> config.Setup:
    swings.write_csv(place / "swing.csv", rows, header)
    init(place, str(place / "rod.xml"), str(place / "swing.csv"))
    return config.load(place / "new.toml")


@pytest.mark.parametrize("name", ["pendulum", "double-pendulum", "cartpole"])
def test_it_runs_as_it_is_where_all_columns_match(tmp_path: Path, name: str) -> None:
    """Columns of the channels' and actuators' own names."""
    robot = mechanics.robot(name)
    motors = robot.actuators.name
    start = mechanics.start(robot) + 0.3
    swing = recordings.simulated(robot, start, np.zeros((100, len(motors))), noise=0.01)
    time = swing.timestep * np.arange(101)
    columns = np.column_stack([time, swing.observed, np.zeros((101, len(motors)))])
    swings.write_csv(tmp_path / "log.csv", columns, ",".join(["time", *swing.channels, *motors]))
    output = init(tmp_path, name, str(tmp_path / "log.csv"))
    assert output == f"wrote {tmp_path / 'new.toml'}\nnext: look it over, and `plausim run {tmp_path / 'new.toml'}`\n"
    setup = config.load(tmp_path / "new.toml")
    written = tomllib.loads((tmp_path / "new.toml").read_text())
    assert written["recording"][0]["file"] == "log.csv"  # relative to the config
    assert setup.config.likelihood.windows == 10 and setup.target.motion is not None
    assert setup.target.motion.time.shape == (100,)
    assert all(path.endswith((".mass", ".damping", ".frictionloss")) for path in setup.config.parameters)
    for level in setup.config.noise.values():
        assert level.sd is not None and 0.004 < level.sd < 0.03


HEADERS = {
    "own names": "time,angle,rate",
    "other letters": "Time_s,ANGLE,Rate",
    "of joints": "time,pivot.position,pivot.velocity",
    "short": "t,pivot,pivot_vel",
    "states": "timestamp,q_pivot,dq_pivot",
    "more of them": "time,angle,rate,temperature",
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_columns_are_found_by_name(place: Path, header: str) -> None:
    rows = swings.read_csv(place / "swing.csv")
    more = [rows[:, :1]] * (len(header.split(",")) - 3)
    setup = started(place, header, np.column_stack([rows, *more]))
    assert list(setup.config.columns.sensors.values()) == header.split(",")[1:3]
    assert setup.target.motion is not None
    np.testing.assert_allclose(setup.target.motion.observed[0], rows[1:, 1:], rtol=1e-9)


def test_a_column_that_two_channels_might_mean_is_left_to_the_user() -> None:
    wanted = {"a": ["a", "joint"], "b": ["b", "joint"]}
    assert guessing.matched(wanted, ["joint", "B"]) == {"a": "joint", "b": "B"}
    assert guessing.matched({"a": ["a"]}, ["A", "a."]) == {}


def test_velocities_without_a_column_are_made(place: Path) -> None:
    setup = started(place, "time,angle", swings.read_csv(place / "swing.csv")[:, :2])
    assert setup.config.columns.velocities == "savgol"


def test_what_is_not_there_is_said(place: Path) -> None:
    swings.write_csv(place / "swing.csv", swings.read_csv(place / "swing.csv"), "time,angle,temperature")
    output = init(place, str(place / "rod.xml"), str(place / "swing.csv"))
    assert "columns.controls: swing.csv has no columns for motor; taken as 0" in output
    swings.write_csv(place / "swing.csv", swings.read_csv(place / "swing.csv"), "time,temperature,humidity")
    (place / "new.toml").unlink()
    output = init(place, str(place / "rod.xml"), str(place / "swing.csv"))
    assert "columns.sensors: swing.csv has no columns for angle, rate; taken as not measured" in output
    text = (place / "new.toml").read_text()
    assert re.search(r"^angle = false +# FILL IN", text, re.MULTILINE)
    parse(tomllib.loads(text), "new.toml")


def test_a_file_without_times(place: Path) -> None:
    swings.write_csv(place / "swing.csv", swings.read_csv(place / "swing.csv")[:, 1:], "angle,rate")
    assert "recording.rate: swing.csv has no column of the time; it is taken as 100" in init(
        place, str(place / "rod.xml"), str(place / "swing.csv")
    )
    assert config.load(place / "new.toml").config.recording[0].rate == 100.0


def test_holes_and_full_turns(place: Path) -> None:
    rows = swings.read_csv(place / "swing.csv")
    rows[7, 2] = np.nan
    rows[:, 1] = np.where(rows[:, 1] < 0.8, rows[:, 1] + 2 * np.pi, rows[:, 1])
    setup = started(place, "time,angle,rate", rows)
    assert (setup.config.columns.missing, setup.config.columns.unwrap) == ("mask", ("angle",))


def test_all_that_is_commented_out_may_be_taken_in(place: Path) -> None:
    found = config.starting(str(place / "rod.xml"), [place / "swing.csv"], place / "new.toml")
    text = re.sub(r"^# (?=\S+ = )", "", found.text, flags=re.MULTILINE).replace('"savgol"', '"given"')
    assert len(re.findall(r"^# ", found.text, re.MULTILINE)) > 25
    everything = parse(tomllib.loads(text), "new.toml")
    assert "gravity.z" in everything.parameters and everything.likelihood.student == 4.0


def test_nothing_is_written_over(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = str(place / "rod.xml"), str(place / "swing.csv")
    init(place, *arguments)
    (place / "new.toml").write_text("mine")
    assert "is there already; name another file with --out, or write over it" in init(place, *arguments, code=2)
    assert (place / "new.toml").read_text() == "mine"
    with monkeypatch.context() as patch:
        patch.setattr(results.os, "fsync", full)
        error = init(place, *arguments, "--force", code=2)
    assert f"cannot write {place / 'new.toml'} (No space left on device); name another file" in error
    assert (place / "new.toml").read_text() == "mine" and not list(place.glob(".*"))
    init(place, *arguments, "--force")
    assert config.load(place / "new.toml")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_no_config_can_be_made_of(place: Path) -> None:
    data = str(place / "swing.csv")
    assert "there is no recording nope.csv" in init(place, str(place / "rod.xml"), "nope.csv", code=2)
    assert "there is no file nope.xml; models that come along are" in init(place, "nope.xml", data, code=2)
    assert "has no sensors" in init(place, "hopper", data, code=2)
    assert "ends in .toml; recordings are" in init(place, "pendulum", str(place / "swing.toml"), code=2)
    assert not (place / "new.toml").exists()


@pytest.mark.parametrize(
    ("steps", "windows", "kept"), [(400, 10, 400), (40, 8, 40), (401, 10, 400), (202, 10, 200), (7, 1, 7), (96, 8, 96)]
)
def test_windows_divide_what_is_kept(steps: int, windows: int, kept: int) -> None:
    found = guessing.windows(steps)
    assert found == (windows, kept) and kept % windows == 0


@pytest.mark.parametrize("sd", [0.003, 0.03, 0.3])
def test_the_noise_of_a_smooth_motion_is_seen(sd: float) -> None:
    time = np.linspace(0, 4, 800)
    swing = 0.1 * np.sin(5.0 * time) + sd * np.random.default_rng(0).standard_normal(800)
    np.testing.assert_allclose(guessing.jitter(swing, np.ones(800, bool)), sd, rtol=0.1)
