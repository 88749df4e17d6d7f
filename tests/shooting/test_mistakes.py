"""What cannot be compared is said when the target is made: what, with the numbers, and what to do."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from plausim.recordings import Recording, cut
from plausim.shooting import Range, multiple, single
from plausim.studies import two_links
from plausim.target import density

SYSTEM, NOISE = two_links.pendulum(), two_links.NOISE


def swing(steps: int = 12) -> Recording:
    states = np.linspace(0.0, 1.0, 4 * (steps + 1)).reshape(-1, 4)
    known, controls = np.ones(states.shape, bool), np.zeros((steps, 0))
    return Recording("swing", tuple(NOISE), states, known, controls, states, two_links.TIMESTEP)


def unseen(recording: Recording) -> Recording:
    known = np.zeros_like(recording.known)
    known[0] = True
    return replace(recording, known=known)


RECORDINGS: dict[str, tuple[Callable[[], list[Recording]], int, str]] = {
    "windows": (
        lambda: [swing()], 5,
        "swing has 12 steps, which do not divide into 5 windows; trim it to 10 steps, or pick a divisor of 12.",
    ),
    "more windows than steps": (
        lambda: [swing()], 13, "swing has 12 steps, which do not divide into 13 windows; pick a divisor of 12.",
    ),
    "no windows": (lambda: [swing()], 0, "0 windows were asked for; ask for at least 1."),
    "channels": (
        lambda: [replace(swing(), channels=("angle1", "angle2", "rate1", "tip"))], 4,
        "swing has the channels angle1, angle2, rate1, tip; the model has angle1, angle2, rate1, rate2.",
    ),
    "rate": (
        lambda: [replace(swing(), timestep=0.02)], 4,
        "swing has a sample every 0.02 s, the model a step every 0.01 s; make the recording for this model, or",
    ),
    "controls": (
        lambda: [replace(swing(), controls=np.zeros((12, 1)))], 4,
        "swing has controls of 1 numbers, the model's have 0; make it for this model.",
    ),
    "states": (
        lambda: [replace(swing(), states=np.zeros((13, 2)))], 4, "swing has states of 2 numbers, the model's have 4",
    ),
    "lengths": (
        lambda: [swing(), replace(cut(swing(), 0, 8), name="short")], 4,
        "the recordings differ in length (steps of swing: 12, short: 8); cut them all to 8 steps.",
    ),
    "one name": (
        lambda: [swing(), cut(swing(), 0, 12)], 4, "2 recordings are called swing; give each a name of its own.",
    ),
    "nothing seen": (
        lambda: [unseen(swing())], 4,
        "swing has no measured sample after its first; there is nothing to compare with.",
    ),
    "NaN": (
        lambda: [replace(swing(), observed=np.where(np.arange(13)[:, None] == 7, np.nan, 1.0) * np.ones((1, 4)))], 4,
        "swing has nan in sample 7 of angle1, which counts as measured; mark it as not known.",
    ),
    "a start": (
        lambda: [replace(swing(), states=np.where(np.arange(13)[:, None] == 3, np.inf, 1.0) * np.ones((1, 4)))], 4,
        "swing has inf in row 3 of its states; fill it in.",
    ),
    "none": (lambda: [], 4, "there is no recording; give at least one."),
}  # fmt: skip


@pytest.mark.parametrize("made, windows, said", RECORDINGS.values(), ids=RECORDINGS.keys())
def test_recordings_that_do_not_fit(made: Callable[[], list[Recording]], windows: int, said: str) -> None:
    with pytest.raises(ValueError) as error:
        multiple(SYSTEM, made(), NOISE, windows=windows)
    assert said in str(error.value)


LEVELS = {
    "unknown": ({**NOISE, "rate3": 0.1}, "noise is given for rate3, which no recording has; there are rate2, rate1"),
    "missing": ({"angle1": 0.1, "rate1": 0.1}, "no noise is given for angle2, rate2; give each channel its standard"),
    "zero": ({**NOISE, "rate1": 0.0}, "the noise of rate1 is 0.0; give a number above 0, or Range(low, high)."),
    "NaN": ({**NOISE, "rate1": float("nan")}, "the noise of rate1 is nan; give a number above 0"),
    "range": ({**NOISE, "rate1": Range(0.2, 0.1)}, "the noise of rate1 is Range(low=0.2, high=0.1); give a number"),
    "from zero": ({**NOISE, "rate1": Range(0.0, 0.1)}, "the noise of rate1 is Range(low=0.0, high=0.1); give a number"),
    "endless": ({**NOISE, "rate1": Range(0.1, float("inf"))}, "the noise of rate1 is Range(low=0.1, high=inf)"),
}


@pytest.mark.parametrize("levels, said", LEVELS.values(), ids=LEVELS.keys())
def test_noise_that_cannot_be(levels: dict[str, float | Range], said: str) -> None:
    with pytest.raises(ValueError) as error:
        single(SYSTEM, [swing()], levels)
    assert said in str(error.value)


SETTINGS = {
    "combine": ({"combine": "mean"}, "combine is 'mean'; it may be 'product' or 'sum'."),
    "defect": ({"defect": "norm"}, "defect is 'norm'; it may be 'gap' or 'squared'."),
    "defect_sigma": ({"defect": "squared", "defect_sigma": 0.0}, "defect_sigma is 0; give a number above 0"),
    "first": ({"first": "found"}, "first is 'found'; it may be 'given' or 'inferred'."),
    "student": ({"student": 0.0}, "a Student density of 0 degrees of freedom; give a number above 0, such as 4."),
}


@pytest.mark.parametrize("settings, said", SETTINGS.values(), ids=SETTINGS.keys())
def test_settings_that_do_not_exist(settings: dict, said: str) -> None:
    with pytest.raises(ValueError) as error:
        multiple(SYSTEM, [swing()], NOISE, windows=4, **settings)
    assert said in str(error.value)


def test_a_box_without_an_inside() -> None:
    with pytest.raises(ValueError, match="are no box; each lower"):
        density(lambda x: x @ x, [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="0 points were asked for"):
        density(lambda x: x @ x, [0.0], [1.0]).starts(0)
    with pytest.raises(ValueError, match="2 names for 1 coordinates"):
        density(lambda x: x @ x, [0.0], [1.0], names=("a", "b"))
