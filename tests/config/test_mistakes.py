"""What is wrong with a config or its files is said before anything runs: which key, which value, what is allowed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from plausim import config

from . import swings


def said(place: Path, changes: dict[str, str]) -> str:
    """The error of a config with other text in it."""
    file = swings.config(place, changes)
    with pytest.raises((ValueError, OSError)) as error:
        config.load(file)
    return str(error.value)


def test_the_config_itself_is_right(place: Path) -> None:
    setup = config.load(place / "swing.toml")
    assert setup.target.names[:3] == ("rod.mass", "pivot.damping", "swing.csv@1.pivot.position")
    assert (setup.particles, setup.iterations, setup.directory) == (8, 30, place / "runs" / "swing")


TEXT = {
    "not TOML": ({"windows = 4": "windows = "}, ["is not TOML: Invalid value "]),
    "a key": ({"windows = 4": "window = 4"}, ["likelihood.window: there is no such key; did you mean windows?"]),
    "a setting": ({"particles": "rat = 1.0\nparticles"}, ["sampler.rat: there is no such key; did you mean rate?"]),
    "a method": ({"particles": 'method = "svdg"\nparticles'}, ['sampler.method = "svdg": may be "svgd" or "csvgd" or']),
    "a summary": (
        {"particles": 'method = "bayessim"\nsummary = "raw"\nparticles'},
        ["sampler", "summary 'raw', model"],
    ),
    "a type": ({"windows = 4": 'windows = "4"'}, ['likelihood.windows = "4": should be an integer']),
    "a bool": ({"iterations": "rate = true\niterations"}, ["sampler.rate = true: should be a number"]),
    "limits": ({"[0.5, 2.0]": "[2.0, 0.5]"}, ['parameters."rod.mass"', "goes from 2 to 0.5; low must be below high"]),
    "one limit": ({"[0.5, 2.0]": "[0.5]"}, ['parameters."rod.mass"']),
    "not finite": ({"[0.5, 2.0]": "[0.5, inf]"}, ['parameters."rod.mass".high = inf: should be a finite number']),
    "a logarithm": ({"low = 0.005": "low = 0.0"}, ["is on a logarithmic scale from 0; low must be above 0"]),
    "no noise": ({"angle = 0.01": "angle = 0.0"}, ["noise.angle = 0.0: should be greater than 0"]),
    "two clocks": ({'"swing.csv"': '"swing.csv"\ntime = "t"\nrate = 9.0'}, ["has both time and rate"]),
    "single": ({"windows = 4": 'windows = 4\nshooting = "single"'}, ["has windows, which single shooting knows not"]),
    "twice": (
        {"[noise]": '[parameters."rod.mass"]\nlow = 1.0\n[noise]', "rod.mass": '"rod.mass"'},
        ["is not TOML"],
    ),
    "several at once": (
        {
            "windows = 4": "window = 4",
            "[0.5, 2.0]": "[2.0, 0.5]",
            "angle = 0.01": "angle = -1",
            "iterations = 30": "seed = -1",
        },
        [
            "has 4 errors:",
            "  - likelihood.window: ",
            '  - parameters."rod.mass" = ',
            "  - noise.angle = -1: ",
            "  - sampler.seed = -1: ",
        ],
    ),
}


@pytest.mark.parametrize(("changes", "says"), TEXT.values(), ids=TEXT.keys())
def test_the_text(place: Path, changes: dict[str, str], says: list[str]) -> None:
    error = said(place, changes)
    assert error.startswith(str(place / "swing.toml"))
    for part in says:
        assert part in error


MODEL = {
    "no model": ({"rod.xml": "rood.xml"}, "model.file: there is no file {place}/rood.xml; models that come along are"),
    "no recording": ({"swing.csv": "sing.csv"}, "recording 1.file: there is no file {place}/sing.csv"),
    "a path": ({"rod.mass": "rod.mas"}, 'parameters."rod.mas": the model has no number rod.mas; did you mean rod.mass'),
    "a channel": ({"rate = 0.05": "rat = 0.05"}, "noise.rat: the model has no such channel; did you mean rate?"),
    "no noise": ({"rate = 0.05": ""}, "noise: there is none for rate; give each channel its standard deviation"),
    "an actuator": ({"motor": "moter"}, "columns.controls.moter: the model has no such actuator; did you mean motor?"),
    "no actuator": ({"motor = 0.0": ""}, 'not "motor" for columns.controls.motor: write the name of its column'),
    "a column": (
        {"[columns.controls]": '[columns.sensors]\nrate = "speed"\n[columns.controls]'},
        'recording 1: swing.csv has the columns time, angle, rate; not "speed" for columns.sensors.rate',
    ),
    "below 0": ({"[0.5, 2.0]": "[-0.5, 2.0]"}, "rod.mass = -0.5 is within the limits, but it cannot be below 0"),
    "impossible": (
        {'model = "rod.xml"': 'model = { file = "rod.xml", set = { "pivot.armature" = -1.0 } }'},
        "model.set: such a robot cannot exist: pivot.armature: -1 is below 0",
    ),
    "windows": (
        {"windows = 4": "windows = 7"},
        "likelihood.windows = 7: 40 steps do not divide into that many; take one of 4, 5, 8, or write steps = [0, 35]",
    ),
    "many windows": ({"windows = 4": "windows = 99"}, "do not divide into that many; take one of 10, 20, 40"),
    "too long": ({'"swing.csv"': '"swing.csv"\nsteps = [0, 41]'}, "has the samples 0 to 40; there is no motion from 0"),
    "too late": ({'"swing.csv"': '"swing.csv"\nseconds = [1, 2]'}, "goes from 0 to 0.4 s; no row is between 1 and 2"),
    "lengths": (
        {"[columns.controls]": '[[recording]]\nfile = "swing.csv"\nsteps = [0, 20]\n[columns.controls]'},
        "differ in length (steps of swing.csv: 40, swing.csv (2): 20); write steps = [0, 20] below each [[recording]]",
    ),
    "a method": (
        {
            "[columns.controls]": '[[recording]]\nfile = "swing.csv"\n[columns.controls]',
            "windows = 4": 'combine = "sum"',
            "particles": 'method = "bayessim"\nparticles',
        },
        "sampler.method: bayessim learns from simulations with noise, and this target has no simulator",
    ),
}


@pytest.mark.parametrize(("changes", "says"), MODEL.values(), ids=MODEL.keys())
def test_what_does_not_fit_the_model_or_the_recording(place: Path, changes: dict[str, str], says: str) -> None:
    assert says.format(place=place) in said(place, changes)


def test_all_that_does_not_fit_is_said_at_once(place: Path) -> None:
    error = said(place, {"rod.mass": "rod.mas", "rate = 0.05": "rat = 0.05", "windows = 4": "windows = 7"})
    assert "has 4 errors" in error
    for part in ("rod.mas", "noise.rat", "noise: there is none for rate", "likelihood.windows = 7"):
        assert f"  - {part}" in error or part in error


Rows = np.ndarray


def spoilt(row: int, column: int, value: float) -> Callable[[Rows], Rows]:
    """With another number in the table."""

    def change(rows: Rows) -> Rows:
        rows[row, column] = value
        return rows

    return change


DATA = {
    "missing": (
        spoilt(17, 1, np.nan),
        'row 18 (line 19), column angle: the number is missing; correct the file, or write missing = "mask"',
    ),
    "infinite": (
        spoilt(3, 2, np.inf),
        "swing.csv, row 4 (line 5), column rate: the number is infinite; correct the file",
    ),
    "huge": (
        spoilt(3, 2, -1e300),
        "swing.csv, row 4 (line 5), column rate: the number is beyond 1e+100; correct the file",
    ),
    "no time": (spoilt(5, 0, np.nan), "swing.csv, row 6 (line 7), column time: the number is missing"),
    "back": (spoilt(5, 0, 0.005), "the time goes back from 0.04 s in row 5 to 0.005 s in row 6"),
    "one row": (lambda rows: rows[:1], "swing.csv has 1 row; a motion takes two at the least"),
    "no row": (lambda rows: rows[:0], "swing.csv has no rows of numbers"),
    "length": (
        lambda rows: rows[:38],
        "37 steps do not divide into that many; take one of 1, 37, or write steps = [0, 36]",
    ),
    "rate": (
        lambda rows: rows * [1e-6, 1, 1],
        "lasts 4e-07 s with its 41 rows, less than one step of the model, 0.01 s",
    ),
}


@pytest.mark.parametrize(("change", "says"), DATA.values(), ids=DATA.keys())
def test_what_is_wrong_with_the_data(place: Path, change: Callable[[Rows], Rows], says: str) -> None:
    swings.write_csv(place / "swing.csv", change(swings.read_csv(place / "swing.csv")))
    assert says in said(place, {})


def test_a_recording_that_is_slower_than_the_model_is_a_warning(place: Path) -> None:
    swings.write_csv(place / "swing.csv", swings.read_csv(place / "swing.csv") * [40, 1, 1])
    with pytest.warns(UserWarning, match=r"a row every 0.4 s, the model a step every 0.01 s: only one step in 40"):
        config.load(place / "swing.toml")


def test_warnings_advise_what_to_write_into_the_config(place: Path) -> None:
    swung = swings.read_csv(place / "swing.csv")
    swings.write_csv(place / "swing.csv", swung + np.outer(np.arange(len(swung)) > 20, [0, 2 * np.pi, 0]))
    with pytest.warns(UserWarning, match=r'recorded, write unwrap = \["angle"\] below \[columns\]\.'):
        config.load(place / "swing.toml")


def test_missing_numbers_may_be_masked(place: Path) -> None:
    swings.write_csv(place / "swing.csv", spoilt(17, 1, np.nan)(swings.read_csv(place / "swing.csv")))
    file = swings.config(place, {"[columns.controls]": '[columns]\nmissing = "mask"\n[columns.controls]'})
    motion = config.load(file).target.motion
    assert motion is not None
    assert np.argwhere(~motion.known).tolist() == [[0, 16, 0]]


def test_no_config(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"there is no config .*nope.toml; `plausim init MODEL DATA` writes one"
    ):
        config.load(tmp_path / "nope.toml")
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="not a text file in UTF-8"):
        config.load(tmp_path / "binary.toml")
