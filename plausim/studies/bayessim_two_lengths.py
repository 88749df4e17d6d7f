"""BayesSim where it works: two link lengths of a pendulum, learned from simulations alone (`fig:bayessim-twoparam`).

A density network learns from 10,000 simulated motions what lengths they come from, and is asked about one more, which
starts as all of them do. `--methods all` is every network with every input (`sec:bayessim-input`); `inputs.png` is what
each input sees of that motion (`fig:bayessim-inputs`).
"""

from collections.abc import Sequence
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from plausim import metrics
from plausim.recordings import Recording
from plausim.report.density import draw_density
from plausim.report.inputs import Bars, Lines, draw_inputs
from plausim.report.pairs import draw_pairs
from plausim.report.sheet import draw_sheet
from plausim.report.tables import Column, Mean, Table
from plausim.results import Posterior
from plausim.run import infer
from plausim.samplers import bayessim
from plausim.samplers.networks import MODELS
from plausim.samplers.summaries import LAGS, SUMMARIES
from plausim.shooting import single

from . import two_links
from .outcome import Number, Outcome, Tell, heard

TRUTH = np.array([1.5, 2.0])  # m
LIMITS = (0.5, 5.0)  # m, wider than in the other studies, as in the paper
STEPS, SIMULATIONS, ITERATIONS = 400, 10_000, 3000
STRIDE, DEPTH = 20, 3  # of the inputs
DRAWS, ROLLED = 4000, 100  # of the posterior, and of these the ones that are rolled out
NEAR = 0.1  # m, of the truth
METHODS = {f"{model}-{summary}": (model, summary) for model in MODELS for summary in SUMMARIES}
FIRST = "mdn-downsampled"  # the one that the paper draws
UNITS = ("rad", "rad", "rad/s", "rad/s")


def run(
    seed: int = 0,
    tell: Tell = lambda line: None,
    iterations: int = ITERATIONS,
    methods: Sequence[str] = (FIRST,),
    folder: Path | None = None,
) -> Outcome:
    recording = two_links.recorded([TRUTH], STEPS, seed)[0]
    target = single(two_links.pendulum(LIMITS), [recording], two_links.NOISE)
    found: dict[str, Posterior] = {}
    for name in methods:
        model, summary = METHODS[name]
        tell(f"{name}: {SIMULATIONS:,} simulations of {STEPS} steps, {iterations:,} epochs")
        method = bayessim(summary, model, SIMULATIONS, stride=STRIDE, depth=DEPTH)
        kept = None if folder is None else folder / "runs" / f"{name}-{seed}"
        found[name] = infer(
            target, method, iterations=iterations, draws=DRAWS, seed=seed, directory=kept, progress=heard(tell)
        )
    return outcome(found, recording)


def misfit(values: Float[np.ndarray, "draws 2"]) -> float:
    """How far the angles are from those of the truth, over all motions and times."""
    angles = two_links.moved(np.concatenate([TRUTH[None], values]), STEPS)[..., :2]
    return float(np.sqrt(np.mean((angles[1:] - angles[0]) ** 2)))


def outcome(found: dict[str, Posterior], recording: Recording) -> Outcome:
    off = {name: float(np.linalg.norm(each.values.mean(0) - TRUTH)) for name, each in found.items()}
    numbers = [Number(f"{name}: mean from the truth", away, "m", high=NEAR) for name, away in off.items()]
    shown = FIRST if FIRST in found else next(iter(found))
    pages = {
        "posterior": pair_plot(found[shown]),
        "trajectories": rolled_out(found[shown], recording),
        "inputs": inputs(recording),
    }
    sheet = draw_sheet(list(pages.values()), [f"Posterior, {shown}", "Motions of 100 draws", "What a network sees"])
    return Outcome("bayessim-two-lengths", numbers, {"figures": sheet, **pages}, {"networks": table(found)})


def table(found: dict[str, Posterior]) -> Table:
    lengths = [Column(f"length {i + 1}, m", digits=".3f") for i in range(2)]
    low = [Column(name, -np.inf, ".2g") for name in ("energy score, m", "angles off by, rad")]
    rows = [
        [*METHODS[name], *(Mean(float(np.mean(x)), float(np.std(x))) for x in each.values.T),
         float(metrics.energy_score(each.values, TRUTH)), misfit(each.values[:ROLLED])]
        for name, each in found.items()
    ]  # fmt: skip
    note = f"Lengths are {TRUTH[0]} and {TRUTH[1]} m; found are mean and standard deviation of {DRAWS:,} draws."
    return Table("BayesSim on two lengths", [Column("network"), Column("input"), *lengths, *low], rows, [note])


def pair_plot(posterior: Posterior) -> Figure:
    return draw_pairs(posterior.values, posterior.names, posterior.units, limits=posterior.limits, truth=TRUTH[None])


def rolled_out(posterior: Posterior, recording: Recording) -> Figure:
    time = two_links.TIMESTEP * np.arange(1, STEPS + 1)
    predicted = {f"{ROLLED} draws": two_links.moved(posterior.values[:ROLLED], STEPS)}
    return draw_density(time, predicted, recording.observed[1:], list(two_links.NOISE), UNITS)


def inputs(recording: Recording) -> Figure:
    """Of one motion: all of it, and what is left of it for a network."""
    motion = recording.observed[1:]
    seen = {name: np.asarray(see(jnp.asarray(motion), STRIDE, DEPTH)) for name, see in SUMMARIES.items()}
    count, time = motion.shape[1], two_links.TIMESTEP * np.arange(1, STEPS + 1)
    steps, rest = np.split(seen["difference"], [-2 * count])
    pairs, lags = count * (count - 1) // 2, sum(lag < STEPS for lag in LAGS)
    described = {"mean": count, "var.": count, "corr.": pairs, "autocorrelation": count * lags}
    levels = {f"level {m}": count**m for m in range(1, DEPTH + 1)}
    panels = [
        Lines("raw", time, motion),
        Lines("downsampled", time[(STEPS - 1) % STRIDE :: STRIDE], seen["downsampled"].reshape(-1, count)),
        Lines(
            f"difference, and {len(rest)} moments", time[1:][(STEPS - 2) % STRIDE :: STRIDE], steps.reshape(-1, count)
        ),
        Bars("summary", seen["summary"], described),
        Bars("signature", seen["signature"], levels),
    ]
    return draw_inputs(panels, list(two_links.NOISE))
