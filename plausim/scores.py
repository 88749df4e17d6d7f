"""How well draws of a posterior predict motion that they have not seen: arrays in, numbers out.

    paths      what each draw's simulator does from the measured start of each motion
    predicted  the same from starts within their noise, with the noise of the sensors: what would be measured

A motion is a start with the samples after it. Scores of one motion at a time come first: they are well defined. The
paper pools the trajectories of all motions before it compares them (`sec:metrics`), which rewards width: see
docs/metrics.md. Draws whose simulation fails are left out, and counted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from plausim import metrics

LEVEL = 0.9
NEIGHBOURS = 3  # of `eq:knn-kl`: k and l
THIN = 5  # measured samples of which one is looked at where all pairs of trajectories are
CALM = 1e6  # spreads: a simulation that strays further has failed, whatever number it ends with

Paths = Float[np.ndarray, "draws motions steps channels"]


class Heldout(NamedTuple):
    """Motions to be predicted."""

    observed: Float[np.ndarray, "motions steps channels"]
    known: Bool[np.ndarray, "motions steps channels"]
    spread: Float[np.ndarray, " channels"]  # what all distances are in units of
    sigma: Float[np.ndarray, " channels"]  # of the likelihood
    units: Sequence[str]  # of the channels
    pooled: int | None = None  # how many draws stand for all where motions are pooled: all, if not said


class Scores(NamedTuple):
    """NaN where a number does not exist."""

    energy: float  # mean over motions of the energy score of a whole trajectory, per number, in spreads
    coverage: float  # share of what was measured within the central 90 %
    rms: dict[str, float]  # by unit: how far a path is from its motion, median over draws and motions
    log_likelihood: float  # of the motions under the mixture of all draws, for each number measured
    kl_real_sim: float  # of paths, pooled over motions, as are the next two
    kl_sim_real: float
    mmd: float
    failed: int  # draws with a simulation that failed


def judged(paths: Paths, predicted: Paths, heldout: Heldout) -> Scores:
    """All scores of one posterior."""
    whole = lasting(paths, heldout) & lasting(predicted, heldout)
    paths, predicted, failed = paths[whole], predicted[whole], int(np.sum(~whole))
    if not len(paths):
        none = dict.fromkeys(heldout.units, np.nan)
        return Scores(np.nan, np.nan, none, np.nan, np.nan, np.nan, np.nan, failed)
    some = slice(None, None, max(1, len(paths) // (heldout.pooled or len(paths))))
    pooled, truth = few(paths[some], heldout), few(heldout.observed, heldout)
    together, width = pooled.reshape(-1, pooled.shape[-1]), metrics.median_distance(truth)
    return Scores(
        energy=mean_energy(predicted, heldout),
        coverage=coverage(predicted, heldout),
        rms=strays(paths, heldout),
        log_likelihood=likelihood(paths, heldout),
        kl_real_sim=metrics.knn_kl(truth, together, NEIGHBOURS, NEIGHBOURS),
        kl_sim_real=metrics.knn_kl(together, truth, NEIGHBOURS, NEIGHBOURS),
        mmd=metrics.mmd(together, truth, width, unbiased=False) if width > 0 else np.nan,
        failed=failed,
    )


def lasting(paths: Paths, heldout: Heldout) -> Bool[np.ndarray, " draws"]:
    """Draws that simulate every motion to its end."""
    with np.errstate(invalid="ignore"):
        return np.all(np.abs(paths) < CALM * heldout.spread, axis=(1, 2, 3))


def flat(
    paths: Float[np.ndarray, "*draws motions steps channels"], heldout: Heldout
) -> Float[np.ndarray, "*draws motions numbers"]:
    """Trajectories as points, in spreads; what was not measured is the same in all."""
    scaled = np.where(heldout.known, paths / heldout.spread, 0.0)
    return scaled.reshape(*scaled.shape[:-2], -1)


def few(
    paths: Float[np.ndarray, "*draws motions steps channels"], heldout: Heldout
) -> Float[np.ndarray, "*draws motions numbers"]:
    """The same of every few samples that were measured; what no motion has is no dimension of theirs."""
    rows = np.flatnonzero(heldout.known.any(axis=(0, 2)))[::THIN]
    thin = heldout._replace(known=heldout.known[:, rows])
    return flat(paths[..., rows, :], thin)[..., thin.known.any(axis=0).ravel()]


def mean_energy(predicted: Paths, heldout: Heldout) -> float:
    """Over motions, of draws that all last."""
    real, simulated = flat(heldout.observed, heldout), flat(predicted, heldout)
    return float(np.mean([energy(simulated[:, i], real[i], heldout.known[i]) for i in range(len(real))]))


def energy(
    simulated: Float[np.ndarray, "draws numbers"],
    real: Float[np.ndarray, " numbers"],
    known: Bool[np.ndarray, "steps channels"],
) -> float:
    """Of a whole trajectory as one point; divided so that it does not grow with the number of samples."""
    return float(metrics.energy_score(simulated, real)) / np.sqrt(np.sum(known))


def coverage(predicted: Paths, heldout: Heldout) -> float:
    """Over all numbers measured, each by itself."""
    truth = heldout.observed[heldout.known]
    return metrics.coverage(predicted[:, heldout.known], truth, LEVEL)


def strays(paths: Paths, heldout: Heldout) -> dict[str, float]:
    """How far a path is from its motion, rms over its samples and over channels of one unit: the median one."""
    squares = np.where(heldout.known, paths - heldout.observed, np.nan) ** 2
    found = {}
    for unit in dict.fromkeys(heldout.units):
        own = squares[..., [u == unit for u in heldout.units]]
        seen = ~np.all(np.isnan(own), axis=(0, 2, 3))  # motions in which one of them was measured
        found[unit] = float(np.median(np.sqrt(np.nanmean(own[:, seen], axis=(2, 3))))) if seen.any() else np.nan
    return found


def over_time(paths: Paths, heldout: Heldout) -> dict[str, Float[np.ndarray, " steps"]]:
    """The same against horizon: after so many samples, not over them."""
    steps = heldout.observed.shape[1]
    whole = paths[lasting(paths, heldout)]
    if not len(whole):
        return dict.fromkeys(heldout.units, np.full(steps, np.nan))
    squares = np.where(heldout.known, whole - heldout.observed, np.nan) ** 2
    own = {unit: squares[..., [u == unit for u in heldout.units]] for unit in dict.fromkeys(heldout.units)}
    return {unit: np.nanmedian(np.sqrt(np.nanmean(each, axis=3)), axis=(0, 1)) for unit, each in own.items()}


def likelihood(paths: Paths, heldout: Heldout) -> float:
    """log p_obs: each motion under the mean of the draws' densities, then the mean over numbers."""
    motions = range(len(heldout.observed))
    each = [
        metrics.log_mean_exp(metrics.log_likelihood(heldout.observed[i], paths[:, i], heldout.sigma, heldout.known[i]))
        for i in motions
    ]
    return float(np.sum(each) / np.sum(heldout.known))
