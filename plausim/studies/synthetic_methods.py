"""The paper's five methods on the ten pendulums, at equal simulations (`fig:exp-param-noise-posterior`, `-metrics`).

They are measured against the density that the lengths came from. What they are asked for is another one: the posterior
of ten recordings. So two more samples are measured with theirs: one of the exact posterior, by a grid, which is what a
perfect method returns, and one of the true density itself, which is as well as these metrics can come out.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from plausim.report.convergence import Series, draw_convergence
from plausim.report.pairs import Normal
from plausim.report.posteriors import draw_posteriors
from plausim.report.sheet import draw_sheet
from plausim.report.tables import Cell, Column, Mean, Table, mean_of, shown
from plausim.run import infer
from plausim.samplers import Method
from plausim.target import Target

from . import synthetic_pendulum as study
from . import two_links
from .landscape import Heights, surface
from .outcome import Number, Outcome, Tell
from .synthetic_pendulum import COVARIANCE, MEAN, METHODS, METRICS, Lengths

GRID = 500  # cells each way, 5 mm wide
SETS = 20  # of exact draws are measured: one alone is as much luck as a run
EXACT, TRUE = "exact posterior", "true density"
LIKELY, FIT, AXIS = METRICS[3], "mean log-density", "principal axis off by, degrees"
BEST = dict.fromkeys(METRICS[:3], 0.0) | {LIKELY: np.inf, FIT: np.inf, AXIS: 0.0}
LINEAR: dict[str, float] = dict(zip(METRICS, (0.3, 1.0, 0.1), strict=False))  # of axes: CEM is far from all others
DIGITS = {LIKELY: ".4g", FIT: ".4g"}
NOTES = (
    f"{FIT}: of the posterior, at the particles; its normaliser is not known.",
    f"Estimates of divergences and of MMD can be below 0, and are no better than as far above. The last rows are means "
    f"over {SETS} sets of independent draws.",
)


class Tried(NamedTuple):
    """What one method found from one seed."""

    values: Lengths
    scores: dict[str, float]  # at the end
    history: study.History
    at: Float[np.ndarray, " stages"]  # simulations


Found = dict[str, list[Tried | str]]  # by title, one for each seed; or why it failed


def compared(methods: Sequence[str], seeds: range, iterations: int, tell: Tell, folder: Path | None) -> Outcome:
    made = {name: METHODS[name].make() for name in methods}  # what one of them lacks is said before anything runs
    found: Found = {METHODS[name].title: [] for name in methods}
    perfect: dict[str, list[Tried]] = {EXACT: [], TRUE: []}
    for seed in seeds:
        target = study.target(study.drawn(study.RECORDINGS, seed), seed)
        for name, method in made.items():
            title, many = METHODS[name].title, round(METHODS[name].times * iterations)
            tell(f"seed {seed}: {title}, {many:,} iterations")
            kept = None if folder is None else folder / "runs" / f"{name}-{seed}"
            found[title].append(tried(target, method, many, seed, kept))
        tell(f"seed {seed}: the exact posterior, on {GRID} x {GRID} lengths")
        for name, drawn in drawn_exactly(surface(target, GRID), seed).items():
            perfect[name].append(drawn)
    return outcome(found, perfect, seeds, iterations)


# ---- what is measured


def tried(target: Target, method: Method, iterations: int, seed: int, kept: Path | None) -> Tried | str:
    """The metrics of one run; a method that fails is a line in the table, and does not stop the others."""
    try:
        posterior = infer(
            target, method, particles=study.PARTICLES, iterations=iterations, seed=seed, directory=kept,
            fingerprint={"study": [study.STEPS, study.RECORDINGS, *study.WIDTH.values()]},
        )  # fmt: skip
    except Exception as error:
        return f"failed: {error}"
    used = np.concatenate([[0.0], np.cumsum(posterior.history["simulations"])])
    history = study.measured(posterior.trail, seed)
    scores = {name: float(row[-1]) for name, row in history.items()}
    scores |= {FIT: float(np.mean(posterior.logdensity)), AXIS: axis_off(posterior.values)}
    return Tried(posterior.values, scores, history, used[list(posterior.stages)])


def drawn_exactly(heights: Heights, seed: int) -> dict[str, Tried]:
    """Independent draws of the posterior and of the true density, as many at a time as there are particles."""
    low, high = two_links.LIMITS
    width = (high - low) / len(heights)
    middle = low + width * (np.arange(len(heights)) + 0.5)
    cells = np.stack(np.meshgrid(middle, middle), -1).reshape(-1, 2)
    away = np.linalg.solve(np.linalg.cholesky(COVARIANCE), (cells - MEAN).T)
    densities = {EXACT: heights.ravel(), TRUE: -0.5 * np.sum(away**2, axis=0)}
    rng, found = np.random.default_rng([seed, 2]), {}
    for name, logdensity in densities.items():
        weights = np.exp(logdensity - np.max(logdensity))
        weights /= weights.sum()
        chosen = cells[rng.choice(len(cells), (SETS, study.PARTICLES), p=weights)]
        sets = chosen + (rng.random(chosen.shape) - 0.5) * width
        scores = {name: float(np.mean(row)) for name, row in study.measured(sets, seed).items()}
        scores |= {FIT: float(weights @ heights.ravel()), AXIS: float(np.mean([axis_off(values) for values in sets]))}
        found[name] = Tried(sets[0], scores, {}, np.zeros(0))
    return found


def axis_off(values: Lengths) -> float:
    """Degrees between the principal axes of particles and of the true density."""
    return study.turned(study.axes_of(np.cov(values.T)), study.axes_of(COVARIANCE))


# ---- what is shown


def outcome(found: Found, perfect: dict[str, list[Tried]], seeds: range, iterations: int) -> Outcome:
    whole = {title: each for title, runs in found.items() if (each := [run for run in runs if isinstance(run, Tried)])}
    most = max((run.at[-1] for runs in whole.values() for run in runs), default=0.0)
    numbers = [*places(whole), Number("most simulations of a method", float(most), high=study.PARTICLES * iterations)]
    pages = {"posteriors": posteriors(whole, perfect)}
    if whole:
        pages["metrics"] = convergence(whole, perfect)
    sheet = draw_sheet(list(pages.values()), ["Link lengths", "Metrics over the runs"][: len(pages)])
    return Outcome(
        "synthetic-pendulum", numbers, {"figures": sheet, **pages}, {"methods": table(found, perfect, seeds)}
    )


def places(whole: dict[str, list[Tried]]) -> list[Number]:
    """SVGD's place among the methods: in the paper it is the first by all but the likelihood."""
    if "SVGD" not in whole or len(whole) == 1:
        return []
    found = []
    for name in METRICS:
        away = {title: distance(name, mean(runs, name).mean) for title, runs in whole.items()}
        place = sorted(away, key=lambda title: away[title]).index("SVGD") + 1
        found.append(Number(f"SVGD's place, {name}", place, f"of {len(away)}", high=np.inf if name == LIKELY else 1))
    return found


def distance(name: str, score: float) -> float:
    """From what is best; a score that does not exist is the farthest."""
    away = -score if np.isinf(BEST[name]) else abs(score - BEST[name])
    return away if np.isfinite(away) else np.inf


def mean(runs: Sequence[Tried], name: str) -> Mean:
    return mean_of([run.scores[name] for run in runs])


def table(found: Found, perfect: dict[str, list[Tried]], seeds: range) -> Table:
    scores = [Column(name.replace("||", "‖"), best, DIGITS.get(name, ".2g")) for name, best in BEST.items()]
    columns = [Column("method"), *scores, Column("simulations", digits=",.0f")]
    rows: list[Sequence[Cell]] = []
    notes = [f"Means and standard deviations over {len(seeds)} seeds, from {seeds[0]} on."] if len(seeds) > 1 else []
    for title, runs in found.items():
        whole = [run for run in runs if isinstance(run, Tried)]
        failures = [(seed, run) for seed, run in zip(seeds, runs, strict=True) if isinstance(run, str)]
        if whole:
            rows.append([title, *(mean(whole, name) for name in BEST), mean_of([run.at[-1] for run in whole])])
            notes += [f"{title}, seed {seed}: {failure}." for seed, failure in failures]
        else:
            rows.append([title, failures[0][1], *[""] * len(BEST)])
    for title, sets in perfect.items():  # as texts: they are no methods, and cannot be the best of them
        texts = [shown(mean(sets, name), column.digits) for name, column in zip(BEST, scores, strict=True)]
        rows.append([f"draws of the {title}", *texts, ""])
    return Table("Methods at equal simulations", columns, rows, [*notes, *NOTES])


def posteriors(whole: dict[str, list[Tried]], perfect: dict[str, list[Tried]]) -> Figure:
    """Of the first seed."""
    sets = {title: runs[0].values for title, runs in (whole | {EXACT: perfect[EXACT]}).items()}
    return draw_posteriors(sets, two_links.LENGTHS, ("m", "m"), Normal(MEAN, COVARIANCE))


def convergence(whole: dict[str, list[Tried]], perfect: dict[str, list[Tried]]) -> Figure:
    """A perfect method has no way to its end: its line is level."""
    series, last = [], max(runs[0].at[-1] for runs in whole.values())
    for name in METRICS:
        for title, runs in whole.items():
            at = np.mean([run.at for run in runs], 0)
            series.append(Series(title, name, at, np.stack([run.history[name] for run in runs])))
        level = mean(perfect[EXACT], name).mean
        series.append(Series(f"draws of the {EXACT}", name, np.array([0.0, last]), np.full(2, level)))
    return draw_convergence(series, "simulations", LINEAR)
