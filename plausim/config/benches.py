"""Runs that have ended, and benches: their simulators, and the motions that they are put to.

Runs can be compared on the same motions only. What stands in the way is said before anything is simulated.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from plausim import fuse, recordings
from plausim.parameters import Parameters
from plausim.recordings import Recording
from plausim.results import Posterior, Predictions
from plausim.scores import Paths
from plausim.shooting.noise import Noise, noise_levels
from plausim.shooting.simulators import predicted
from plausim.shooting.stacks import stacked
from plausim.systems import System, system

from . import schema
from .building import digest, levels, read_recording
from .columns import as_written
from .folders import _parameters, _read, open_run
from .problems import Problems, raised
from .reading import parse

OTHER_MOTION = "--held-out FILE judges them on other motion"
Values = Float[np.ndarray, "draws numbers"]  # parameters, then noise levels that were to be found


class Run(NamedTuple):
    name: str
    folder: Path
    config: schema.Config
    files: frozenset[str]  # SHA-256 of the recordings that it was inferred from
    posterior: Posterior


class Bench(NamedTuple):
    """Motions as a run's config reads them, and its simulator."""

    chosen: Parameters
    noise: Noise
    motions: Predictions  # by no draws yet
    lengths: dict[str, int]  # steps of each, before all were cut to the shortest
    predict: Callable[[Values], Paths]  # from the measured first states
    strayed: Callable[[Values, np.random.Generator], Paths] | None  # from first states that the config has inferred


# ---- the runs


def once(what: str, given: Sequence[str | os.PathLike]) -> list[Path]:
    """The paths, none of them twice."""
    paths = [Path(path) for path in given]
    for path in paths:
        if [p.resolve() for p in paths].count(path.resolve()) > 1:
            raise ValueError(f"the {what} {path} is given twice; give it once.")
    return paths


def called(paths: Sequence[Path]) -> list[str]:
    """By their last names; whole, where these are the same."""
    names = [path.resolve().name for path in paths]
    return [str(path) if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]


def opened(folders: Sequence[Path]) -> list[Run]:
    if len(folders) < 2:
        raise ValueError(f"{len(folders)} run cannot be compared; name the folders of two or more.")
    found = []
    for name, folder in zip(called(folders), folders, strict=True):
        posterior = open_run(folder)
        written, hashes, _ = _read(folder)
        config = parse({part: given for part, given in written.items() if part != "sampler"}, str(folder))
        files = frozenset(sha for what, sha in hashes.items() if what != "model")
        found.append(Run(name, folder, config, files, posterior))
    return found


def own(runs: Sequence[Run]) -> list[Predictions]:
    """What each predicts of the recordings that all were inferred from."""
    return alike(runs, [kept(run) for run in runs], "they were inferred from", f"; {OTHER_MOTION}")


def kept(run: Run) -> Predictions:
    """What a run predicts of its own recordings, which is in the file of its result."""
    assert run.posterior.predictions is not None  # a config is of recordings
    return run.posterior.predictions


def alike(runs: Sequence[Run], seen: list[Predictions], what: str, advice: str = "") -> list[Predictions]:
    """The same, if all are of the same motions."""
    for run, one in zip(runs[1:], seen[1:], strict=True):
        found = differing(seen[0], one)
        if found:
            raise ValueError(f"{runs[0].name} and {run.name} cannot be compared, since {what} {found}{advice}.")
    return seen


def differing(one: Predictions, other: Predictions) -> str:
    """In what two sets of motions differ, if they do."""
    listed = lambda names: ", ".join(names)  # noqa: E731
    length = lambda seen: f"{len(seen.time)} steps of {seen.time[0]:g} s"  # noqa: E731
    for what, a, b in (
        ("channels", listed(one.channels), listed(other.channels)),
        ("recordings", listed(one.recordings), listed(other.recordings)),
        ("lengths", length(one), length(other)),
    ):
        if a != b:
            return f"different {what}: {a} and {b}"
    known = int(np.sum(one.known != other.known))
    if known:
        return f"different samples: {known} of {one.known.size} were measured in one of the two only"
    away = np.where(one.known, np.abs(one.observed - other.observed), 0.0)
    if np.any(away > 1e-9 * (1.0 + np.abs(one.observed))):
        where = np.unravel_index(np.argmax(away), away.shape)
        return f"different numbers: {one.channels[where[2]]} of {one.recordings[where[0]]} by up to {away[where]:.3g}"
    return ""


# ---- the motions


def trained(run: Run, seen: Predictions) -> Bench:
    """The recordings that a run was inferred from, if they are still what they were."""
    found = bench(run, run.config.recording)
    changed = differing(seen, found.motions)
    if changed:
        raise ValueError(f"the recordings of {run.name} have changed since it ran: {changed}; put back what was there.")
    return found


def benched(runs: Sequence[Run], files: Sequence[Path]) -> list[Bench]:
    """Each run's simulator on the motions of other files."""
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise FileNotFoundError(f"there is no file {' and no file '.join(missing)} to be held out.")
    changes = {"seconds": None, "steps": None}
    found = []
    for run in runs:
        like = run.config.recording[0]
        found.append(bench(run, [
            like.model_copy(update={"file": str(file), "name": name, **changes})
            for file, name in zip(files, called(files), strict=True)
        ]))  # fmt: skip
    alike(runs, [b.motions for b in found], "by their configs, what is held out has")
    return found


def bench(run: Run, given: Sequence[schema.Recording]) -> Bench:
    chosen = _parameters(run.folder)
    measured, problems = [], Problems()
    for i, r in enumerate(given):
        with problems.at(f"recording {i + 1}"), as_written():
            measured.append(read_recording(r, run.config.columns, chosen.model))
    noise = levels(run.config, chosen.model, problems)
    if problems:
        raise raised(f"{run.name} takes recordings like its own", problems)
    likelihood, own = run.config.likelihood, system(chosen)
    return on(own, noise_levels(noise, own.channels, likelihood.student), measured, likelihood.first == "inferred")


def on(own: System, noise: Noise, measured: Sequence[Recording], inferred: bool) -> Bench:
    lengths = {r.name: r.steps for r in measured}
    shortest, count = min(lengths.values()), len(own.parameters.names)
    stack = stacked(own, [recordings.cut(r, 0, shortest) for r in measured], 1)
    still = jax.jit(jax.vmap(lambda values: predicted(own, stack, values, fuse.scan)))
    moved = jax.jit(jax.vmap(lambda values, steps: predicted(own, stack, values, fuse.scan, steps)))

    def predict(values: Values) -> Paths:
        return np.asarray(still(jnp.asarray(values[:, :count])))

    def strayed(values: Values, random: np.random.Generator) -> Paths:
        steps = noise.first(stack) * random.standard_normal((len(values), len(measured), stack.tangent))
        return np.asarray(moved(jnp.asarray(values[:, :count]), jnp.asarray(steps)))

    whole = (len(measured), shortest, len(stack.channels))
    time = own.timestep * np.arange(1, shortest + 1)
    observed, known = stack.observed.reshape(whole), stack.known.reshape(whole)
    motions = Predictions(stack.names, stack.channels, time, observed, known, np.empty((0, *whole)))
    return Bench(own.parameters, noise, motions, lengths, predict, strayed if inferred else None)


def cuts(one: Bench) -> list[str]:
    shortest = min(one.lengths, key=lambda name: one.lengths[name])
    if len(set(one.lengths.values())) == 1:
        return []
    return [f"All were cut to the length of the shortest, {shortest} (steps: {one.lengths[shortest]})."]


def trained_on(runs: Sequence[Run], files: Sequence[Path]) -> list[str]:
    """Files that are not held out at all."""
    found = []
    for name, file in zip(called(files), files, strict=True):
        seen = [run.name for run in runs if digest(file) in run.files]
        if seen:
            found.append(f"{name} is not held out: {', '.join(seen)} had it to infer from.")
            warnings.warn(found[-1], stacklevel=4)
    return found
