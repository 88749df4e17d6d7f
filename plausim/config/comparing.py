"""Runs side by side: the same motions predicted by the draws of each, and how well.

compare(folders)              on the recordings that they were inferred from: how well they fit
compare(folders, held_out)    on other ones: how well they predict
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from plausim.parameters import from_unit
from plausim.recordings.record import units
from plausim.results import Posterior, Predictions
from plausim.scores import Heldout, Paths, Scores, judged
from plausim.shooting.noise import Noise
from plausim.target import spread

from .benches import Bench, Run, Values, benched, cuts, kept, once, opened, own, trained, trained_on

PRIOR = "prior"


class Row(NamedTuple):
    name: str
    posterior: Posterior | None  # none of the prior
    values: Values
    seen: Predictions
    scores: Scores


class Comparison(NamedTuple):
    rows: list[Row]  # the prior first
    units: tuple[str, ...]  # of the channels
    held_out: bool
    notes: list[str]  # what a reader of the numbers has to know


def compare(folders: Sequence[str | os.PathLike], held_out: Sequence[str | os.PathLike] = ()) -> Comparison:
    """How well the draws of runs predict the same motions, beside the prior of the first run.

    Args:
        folders: of runs that have ended, two or more.
        held_out: files of recordings, with the columns of those that the runs were inferred from. Without any, runs
            are judged on what they were inferred from, which must be the same.

    Example:
        found = plausim.config.comparing.compare(["runs/short", "runs/long"], ["other.csv"])
        for row in found.rows:
            print(row.name, row.scores.energy, row.scores.coverage)

    """
    runs, files = opened(once("run", folders)), once("file", held_out)
    with jax.enable_x64(True):
        benches, notes = on_files(runs, files) if files else on_their_own(runs)
        first, spreads = benches[0], spread_of(runs)
        names, values = prior(first, len(runs[0].posterior.values))
        rows = [row(PRIOR, None, first, (names, values), first.predict(values), spreads)]
        for run, one in zip(runs, benches, strict=True):
            p = run.posterior
            paths = one.predict(p.values) if files else kept(run).predicted
            rows.append(row(run.name, p, one, (p.names, p.values), paths, spreads))
    notes.append(f"{PRIOR}: {len(values)} points, evenly within the limits of {runs[0].name}.")
    return Comparison(rows, units(first.chosen.model), bool(files), notes)


def on_files(runs: Sequence[Run], files: Sequence[Path]) -> tuple[list[Bench], list[str]]:
    benches = benched(runs, files)
    names = ", ".join(benches[0].motions.recordings)
    return benches, [f"Judged on {names}.", *cuts(benches[0]), *trained_on(runs, files)]


def on_their_own(runs: Sequence[Run]) -> tuple[list[Bench], list[str]]:
    seen = own(runs)
    note = (
        f"Judged on {', '.join(seen[0].recordings)}, which the runs were inferred from: this is how well they fit, not "
        "how well they predict. For that, give --held-out FILE."
    )
    return [trained(run, one) for run, one in zip(runs, seen, strict=True)], [note]


def prior(one: Bench, count: int) -> tuple[tuple[str, ...], Values]:
    """Points spread evenly within the limits, noise levels included, and what the numbers are of."""
    parameters = len(one.chosen.names)
    unit = jnp.asarray(spread(count, parameters + len(one.noise.names)))
    inside = jax.vmap(lambda point: from_unit(one.chosen, point))(unit[:, :parameters])
    values = jnp.concatenate([inside, jax.vmap(one.noise.values)(unit[:, parameters:])], axis=1)
    return (*one.chosen.names, *one.noise.names), np.asarray(values)


def spread_of(runs: Sequence[Run]) -> Float[np.ndarray, " channels"]:
    """Of the recordings that the runs were inferred from, each counted once; 1 where nothing moved."""
    pairs = [pair for run in runs for pair in zip(kept(run).observed, kept(run).known, strict=True)]
    distinct = {(seen.tobytes(), known.tobytes()): np.where(known, seen, np.nan) for seen, known in pairs}
    rows = np.concatenate(list(distinct.values()))
    measured = ~np.all(np.isnan(rows), axis=0)
    found = np.ones(rows.shape[1])
    found[measured] = np.nanstd(rows[:, measured], axis=0)
    return np.where(found > 1e-9, found, 1.0)


def row(
    name: str,
    posterior: Posterior | None,
    one: Bench,
    drawn: tuple[Sequence[str], Values],
    paths: Paths,
    spreads: Float[np.ndarray, " channels"],
) -> Row:
    """Draws judged by their paths, and by what would be measured of them."""
    random, motions, sd = np.random.default_rng(0), one.motions, deviations(one.noise, *drawn)
    moved = paths if one.strayed is None else one.strayed(drawn[1], random)
    shape, student = moved.shape, one.noise.student
    stray = random.standard_normal(shape) if student is None else random.standard_t(student, shape)
    heldout = Heldout(motions.observed, motions.known, spreads, sd.mean(axis=0), units(one.chosen.model))
    scores = judged(paths, moved + sd[:, None, None] * stray, heldout)
    return Row(name, posterior, drawn[1], replace(motions, predicted=paths), scores)


def deviations(noise: Noise, names: Sequence[str], values: Values) -> Float[np.ndarray, "draws channels"]:
    """The sensors' noise: as it was given, or as each draw has it, where it was to be found."""
    found = np.tile(noise.given, (len(values), 1))
    found[:, list(noise.found)] = values[:, [list(names).index(name) for name in noise.names]]
    return found
