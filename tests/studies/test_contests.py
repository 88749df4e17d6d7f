"""Methods against each other: kept, read again, refused when they are others; what fails is reported."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from plausim.run import FILE
from plausim.samplers import Method, emcee, svgd
from plausim.studies.contests import Entry, Failed, ended, entered, scattered
from plausim.target import density

TARGET = density(lambda x: -0.5 * jnp.sum(((x - 0.5) / 0.1) ** 2), [0.0] * 2, [1.0] * 2)
ENTRY = Entry("svgd", svgd, particles=10)


def go(entry: Entry, folder: Path, said: list[str]):
    return entered(entry, TARGET, budget=200, draws=10, seed=3, folder=folder, tell=said.append)


def test_an_entry_has_the_iterations_that_it_can_pay_for_and_is_read_again(tmp_path: Path) -> None:
    said: list[str] = []
    found = go(ENTRY, tmp_path / "svgd", said)
    assert not isinstance(found, Failed) and found.attributes["iterations"] == 20
    assert any("10 particles, 20 iterations" in line for line in said)
    said.clear()
    again = go(ENTRY, tmp_path / "svgd", said)
    assert not isinstance(again, Failed) and not said
    np.testing.assert_array_equal(again.values, found.values)


def test_another_run_in_the_folder_is_not_taken_for_this_one(tmp_path: Path) -> None:
    go(ENTRY, tmp_path, [])
    with pytest.raises(ValueError, match=r"holds another run: settings was .*'rate': 0\.02.*is .*'rate': 0\.05"):
        ended(tmp_path, ENTRY, svgd(rate=0.05), TARGET, 3)
    with pytest.raises(ValueError, match="iterations was 20, is 30"):
        ended(tmp_path, ENTRY._replace(iterations=30), svgd(), TARGET, 3)
    assert isinstance(go(ENTRY._replace(particles=20), tmp_path, []), Failed)
    assert (tmp_path / FILE).is_file()  # what was there is there


def test_what_fails_is_reported(tmp_path: Path) -> None:
    def make(target, iterations):
        raise ZeroDivisionError("no way through")

    said: list[str] = []
    broken = Entry("broken", lambda: Method("broken", {}, make))
    assert go(broken, tmp_path / "broken", said) == Failed("no way through")
    assert said[-1] == "broken failed: no way through"
    few = Entry("emcee", partial(emcee), particles=3)
    found = go(few, tmp_path / "few", said)
    assert isinstance(found, Failed) and "too few for 2 coordinates" in found.reason


def test_starts_are_of_the_seed() -> None:
    target = replace(TARGET, parameters=1)  # the other coordinate begins as measured
    assert scattered(target, 0) is target
    one, same, other = (scattered(target, seed).starts(16) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one[:, 0], other[:, 0])
    np.testing.assert_array_equal(one[:, 1], target.starts(16)[:, 1])
    assert np.histogram(one[:, 0], 8, (0, 1))[0].tolist() == [2] * 8  # even, as Sobol's are
