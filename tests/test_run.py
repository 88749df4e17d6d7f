"""The one loop: stopped anywhere and gone on with, it comes to the very numbers of a run that was not."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim import checkpoints, results, run
from plausim.run import Interrupted, Progress, infer
from plausim.samplers import SAMPLERS, bayessim, cem, csvgd, emcee, nuts, sgld, svgd
from plausim.target import Evaluation, Simulator, density

SIZE: dict[str, Any] = {"particles": 12, "iterations": 90, "seed": 4}


def bowl():
    return density(lambda x: -0.5 * jnp.sum(((x - 0.4) / 0.1) ** 2), [0.0] * 3, [1.0] * 3)


def tied():
    """With a constraint, and with starts that are lost."""

    def evaluate(x):
        number = -0.5 * jnp.sum(((x - 0.4) / 0.1) ** 2)
        return Evaluation(jnp.where(x[0] > 0.9, jnp.nan, number), jnp.sum(x, keepdims=True) - 1.3)

    def simulate(key, x):
        seen = jnp.append(x, jnp.sum(x) - 1.3) + 0.1 * jax.random.normal(key, (4,))
        return jnp.where(x[0] > 0.9, jnp.nan, seen)[None, None]

    simulator = Simulator(simulate, np.array([[[0.4, 0.4, 0.4, 0.0]]]))
    return replace(bowl(), evaluate=evaluate, simulator=simulator, stiffness=100.0)


EVERY = [
    svgd(), csvgd(), emcee(), cem(kernels=1, elite=0.5), sgld(), nuts(chains=2, doublings=3),
    bayessim(simulations=64, batch=16),
]  # fmt: skip


def numbers(posterior) -> dict[str, bytes]:
    found = {"values": posterior.values, "density": posterior.logdensity, "trail": posterior.trail, **posterior.history}
    return {name: np.asarray(array).tobytes() for name, array in found.items()}


def stopping(at: int):
    """What is told of progress: from this iteration on, ctrl-C is pressed, once."""
    pressed = []

    def hear(now: Progress) -> None:
        if now.iteration >= at and not pressed:
            pressed.append(now.iteration)
            os.kill(os.getpid(), signal.SIGINT)

    return hear


def test_every_method_is_stopped_below() -> None:
    assert [method.name for method in EVERY] == list(SAMPLERS)


@pytest.mark.parametrize(
    "method", [pytest.param(m, id=m.name, marks=pytest.mark.slow if m.name == "nuts" else ()) for m in EVERY]
)
@pytest.mark.parametrize("stops", [(0, 37), pytest.param((1, 80), marks=pytest.mark.slow)])
def test_stopped_and_resumed_anywhere_it_is_the_same_to_the_bit(method, stops, tmp_path: Path, monkeypatch) -> None:
    whole, before = numbers(infer(tied(), method, **SIZE)), signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(run, "BREATH", 0.0)  # chunks of one iteration, after the first few
    assert numbers(infer(tied(), method, **SIZE, directory=tmp_path / "by one")) == whole
    for at in stops:
        with pytest.raises(Interrupted, match=rf"stopped at iteration \d+ of 90; `plausim resume {tmp_path}/{at}`"):
            infer(tied(), method, **SIZE, directory=tmp_path / str(at), progress=stopping(at))
        assert not (tmp_path / str(at) / run.FILE).exists()
        told: list[int] = []
        resumed = infer(
            tied(), method, **SIZE, directory=tmp_path / str(at), progress=lambda now, t=told: t.append(now.iteration)
        )
        assert at <= told[0] <= at + 3 and numbers(resumed) == whole
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_that_ended_ends_again_at_once(tmp_path: Path) -> None:
    first, told = infer(bowl(), svgd(), **SIZE, directory=tmp_path), []
    again = infer(bowl(), svgd(), **SIZE, directory=tmp_path, progress=lambda now: told.append(now.iteration))
    assert told == [90] and numbers(again) == numbers(first) and again.attributes == first.attributes


def test_without_a_directory_ctrl_c_says_that_nothing_is_kept() -> None:
    with pytest.raises(Interrupted, match=r"stopped at iteration .* without a directory nothing is kept"):
        infer(bowl(), svgd(), **SIZE, progress=stopping(1))


def test_progress_and_history(tmp_path: Path) -> None:
    told: list[Progress] = []
    posterior = infer(tied(), csvgd(), **SIZE, directory=tmp_path, progress=told.append)
    assert told[0].iteration == 0 and told[0].saved == 0 and not told[0].info
    assert told[-1].iteration == told[-1].iterations == told[-1].saved == 90
    assert {"logdensity", "gap", "outside", "bandwidth", "lost"} <= told[-1].info.keys()
    assert {len(column) for column in posterior.history.values()} == {90}
    assert posterior.history["lost"][0] > 0
    assert posterior.stages[0] == 0 and posterior.stages[-1] == 90 and len(posterior.stages) == 41
    np.testing.assert_allclose(posterior.trail[0], tied().starts(12))
    np.testing.assert_allclose(posterior.trail[-1], posterior.values)
    assert posterior.attributes["method"] == "csvgd" and posterior.attributes["settings"] == csvgd().settings


def test_draws_may_be_more_or_fewer_than_particles() -> None:
    for draws in (1, 5, 40):
        assert infer(bowl(), svgd(), **SIZE, draws=draws).values.shape == (draws, 3)


# ---- what goes wrong


@pytest.mark.parametrize("name", ["particles", "iterations", "draws"])
def test_numbers_that_are_none(name: str) -> None:
    none: dict[str, Any] = {name: 0}
    with pytest.raises(ValueError, match=f"{name} is 0; give at least 1"):
        infer(bowl(), svgd(), **none)


@pytest.mark.parametrize("method", [svgd(), csvgd()], ids=lambda method: method.name)
def test_no_start_has_a_density(method, tmp_path: Path) -> None:
    target = replace(bowl(), evaluate=lambda x: Evaluation(jnp.nan * x[0], x[:0]))
    with pytest.raises(
        ValueError, match=r"is not finite at any of the 12 starts, such as x0 = 0.5, x1 = 0.5, x2 = 0.5; "
    ):
        infer(target, method, **SIZE, directory=tmp_path)


CHANGES = {
    "seed": ({"seed": 5}, "seed was 4, is 5"),
    "particles": ({"particles": 13}, "particles was 12, is 13"),
    "iterations": ({"iterations": 91}, "iterations was 90, is 91"),
    "what else": ({"fingerprint": {"recording": "b"}}, "recording was a, is b"),
}


@pytest.mark.parametrize("change, said", CHANGES.values(), ids=CHANGES.keys())
def test_the_checkpoint_of_another_run(change, said: str, tmp_path: Path) -> None:
    infer(bowl(), svgd(), **SIZE, directory=tmp_path, fingerprint={"recording": "a"})
    with pytest.raises(ValueError, match=f"is of another run: {said}. Set that back to go on, or name an empty"):
        infer(bowl(), svgd(), **{**SIZE, "directory": tmp_path, "fingerprint": {"recording": "a"}, **change})


@pytest.mark.parametrize("other", ["method", "settings", "dimensions", "version"])
def test_the_checkpoint_of_another_sampler_target_or_version(other: str, tmp_path: Path, monkeypatch) -> None:
    infer(bowl(), svgd(), **SIZE, directory=tmp_path)
    target, method = bowl(), svgd()
    if other == "method":
        method = csvgd()
    elif other == "settings":
        method = svgd(rate=0.1)
    elif other == "dimensions":
        target = density(lambda x: -x @ x, [0.0] * 2, [1.0] * 2)
    else:
        monkeypatch.setattr(run, "__version__", "9")
    with pytest.raises(ValueError, match="is of another run: "):
        infer(target, method, **SIZE, directory=tmp_path)


def test_a_full_disk_costs_a_checkpoint_only(tmp_path: Path, monkeypatch) -> None:
    """It is said, tried again, and the last whole one stays."""
    whole, real = numbers(infer(bowl(), svgd(), **SIZE)), checkpoints.save

    def failing(checkpoint, prints, folder) -> None:
        if checkpoint.iteration in (20, 45):
            raise OSError(28, "No space left on device")
        real(checkpoint, prints, folder)

    monkeypatch.setattr(checkpoints, "save", failing)
    monkeypatch.setattr(run, "SAVE_EVERY", -1.0)
    saved: list[int | None] = []
    with pytest.warns(
        UserWarning, match=r"no checkpoint could be written to .* \(No space left on device\); the run goes on"
    ):
        posterior = infer(bowl(), svgd(), **SIZE, directory=tmp_path, progress=lambda now: saved.append(now.saved))
    assert numbers(posterior) == whole == numbers(infer(bowl(), svgd(), **SIZE, directory=tmp_path))
    assert 18 in saved and 20 not in saved and 43 in saved and 45 not in saved and saved[-1] == 90


def test_a_result_that_finds_no_room(tmp_path: Path, monkeypatch) -> None:
    real = os.replace

    def full(source, target) -> None:
        if str(target).endswith(run.FILE):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(
        OSError, match=r"could not be written to .* \(No space left on device\); the last checkpoint there"
    ):
        infer(bowl(), svgd(), **SIZE, directory=tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [checkpoints.FILE]  # no half of a file is left
    monkeypatch.undo()
    infer(bowl(), svgd(), **SIZE, directory=tmp_path)
    assert results.read(tmp_path / run.FILE).values.shape == (12, 3)


def test_a_place_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError):
        infer(bowl(), svgd(), **SIZE, directory=tmp_path / "taken")
