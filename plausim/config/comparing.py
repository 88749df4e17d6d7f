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
from plausim.scores import Heldout, Scores, judged
from plausim.shooting.noise import Noise
from plausim.target import spread

from .benches import Bench, Run, Values, benched, cuts, once, opened, own, trained, trained_on

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
        rows = [row(PRIOR, None, first, names, values, spreads)]
        for run, one in zip(runs, benches, strict=True):
            p = run.posterior
            rows.append(row(run.name, p, one, p.names, p.values, spreads))
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
    seen = [run.posterior.predictions for run in runs]
    distinct = {(o.tobytes(), k.tobytes()): np.where(k, o, np.nan)
                for one in seen if one is not None for o, k in zip(one.observed, one.known, strict=True)}  # fmt: skip
    rows = np.concatenate(list(distinct.values()))
    known = ~np.all(np.isnan(rows), axis=0)
    found = np.ones(rows.shape[1])
    found[known] = np.nanstd(rows[:, known], axis=0)
    return np.where(found > 1e-9, found, 1.0)


def row(
    name: str,
    posterior: Posterior | None,
    one: Bench,
    names: Sequence[str],
    values: Values,
    spreads: Float[np.ndarray, " channels"],
) -> Row:
    """Draws judged by their paths, and by what would be measured of them."""
    random, motions = np.random.default_rng(0), one.motions
    seen = replace(motions, predicted=one.predict(values))
    sd = deviations(one.noise, names, values)
    moved, student = one.strayed(values, random), one.noise.student
    stray = random.standard_normal(moved.shape) if student is None else random.standard_t(student, moved.shape)
    heldout = Heldout(motions.observed, motions.known, spreads, sd.mean(axis=0), units(one.chosen.model))
    scores = judged(seen.predicted, moved + sd[:, None, None] * stray, heldout)
    return Row(name, posterior, values, seen, scores)


def deviations(noise: Noise, names: Sequence[str], values: Values) -> Float[np.ndarray, "draws channels"]:
    """The sensors' noise: as it was given, or as each draw has it, where it was to be found."""
    found = np.tile(noise.given, (len(values), 1))
    found[:, list(noise.found)] = values[:, [list(names).index(name) for name in noise.names]]
    return found
