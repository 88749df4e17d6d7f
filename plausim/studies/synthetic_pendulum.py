"""Ten pendulums, one density: SVGD finds the distribution that link lengths were drawn from (`sec:exp-param-noise`).

Both link lengths are normal, with a full covariance. Ten pendulums of such lengths leave a recording each; the sum of
their likelihoods (`eq:traj_likelihood`) is a density over lengths, and SVGD's particles are compared with the normal
one that the lengths came from, and with 50 more pendulums out of it.

Two choices are ours, since the paper does not say. The ten lengths are quasi-random, so that they have nearly the mean
and covariance of the density: plain random ones miss its mean by a third of a standard deviation, and no method could
know. And the likelihood's noise is wider than that of the sensors: it is the width with which each recording stands for
its neighbours, as a bandwidth does; with the sensors' own there would be ten needles.

SVGD alone takes seconds. `--methods all` compares the paper's five, see `synthetic_methods`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.stats import qmc

from plausim import metrics
from plausim.report.convergence import Series, draw_convergence
from plausim.report.density import draw_density
from plausim.report.pairs import Normal, draw_pairs
from plausim.report.sheet import draw_sheet
from plausim.results import Posterior
from plausim.run import infer
from plausim.samplers import Method, cem, emcee, nuts, sgld, svgd
from plausim.shooting import single
from plausim.target import Target

from . import two_links
from .outcome import Number, Outcome, Tell, heard

MEAN = np.array([1.5, 2.0])  # m
COVARIANCE = np.array([[0.0100, 0.0075], [0.0075, 0.0100]])  # m^2
RECORDINGS, TESTS, STEPS = 10, 50, 100
WIDTH = {"angle1": 0.2, "angle2": 0.2, "rate1": 0.5, "rate2": 0.5}  # rad, rad/s: the likelihood's noise
PARTICLES, ITERATIONS, RATE = 100, 1000, 0.02
REFERENCE = 2000  # draws of the true density, to measure divergences by
EVERY = 5  # steps between the states of a trajectory that the discrepancy looks at

Lengths = Float[np.ndarray, "_ 2"]
History = dict[str, Float[np.ndarray, " stages"]]


class Way(NamedTuple):
    """A method as this study uses it."""

    title: str
    make: Callable[[], Method]
    times: float = 1.0  # of the others' iterations


METHODS = {
    "emcee": Way("emcee", emcee),
    "cem": Way("CEM", cem),
    "sgld": Way("SGLD", sgld),
    "nuts": Way("NUTS", lambda: nuts(doublings=5), times=3.8),  # its four chains take 21 to 25 simulations an iteration
    "svgd": Way("SVGD", lambda: svgd(rate=RATE)),
}


def target(lengths: Lengths, seed: int) -> Target:
    """The sum over recordings of pendulums of these lengths."""
    recordings = two_links.recorded(list(lengths), STEPS, seed)
    return single(two_links.pendulum(), recordings, WIDTH, combine="sum")


def drawn(count: int, seed: int) -> Lengths:
    """Evenly from the true density: the first of a scrambled Sobol sequence."""
    engine = qmc.MultivariateNormalQMC(MEAN, cov=COVARIANCE, rng=np.random.default_rng(seed))
    return engine.random(1 << (count - 1).bit_length())[:count]


def run(
    seed: int = 0,
    tell: Tell = lambda line: None,
    iterations: int = ITERATIONS,
    methods: Sequence[str] = ("svgd",),
    seeds: int = 1,
    folder: Path | None = None,
) -> Outcome:
    if tuple(methods) != ("svgd",) or seeds > 1:
        from .synthetic_methods import compared  # it stands on this file

        return compared(methods, range(seed, seed + seeds), iterations, tell, folder)
    lengths = drawn(RECORDINGS, seed)
    tell(f"{RECORDINGS} recordings of {STEPS} steps; {PARTICLES} particles, {iterations:,} iterations of SVGD")
    posterior = infer(
        target(lengths, seed), METHODS["svgd"].make(), particles=PARTICLES, iterations=iterations, seed=seed,
        progress=heard(tell),
    )  # fmt: skip
    tell("measuring what the particles predict against the density and its 50 pendulums")
    return outcome(posterior, lengths, measured(posterior.trail, seed))


# ---- what is measured


def measured(sets: Float[np.ndarray, "stages particles 2"], seed: int) -> History:
    """The paper's metrics of each set of particles: of each stage of a run."""
    rng = np.random.default_rng([seed, 1])
    truth = rng.multivariate_normal(MEAN, COVARIANCE, REFERENCE)
    tests = trajectories(rng.multivariate_normal(MEAN, COVARIANCE, TESTS))
    scale = np.std(tests, axis=(0, 1))
    noisy = tests + np.array(list(two_links.NOISE.values())) * rng.standard_normal(tests.shape)
    rows: dict[str, list[float]] = {name: [] for name in METRICS}
    together = trajectories(sets.reshape(-1, 2))  # of all stages at once: each call compiles
    for particles, moved in zip(sets, together.reshape(*sets.shape[:2], STEPS, 4), strict=True):
        rows["KL(truth || particles), nats"].append(metrics.knn_kl(truth, particles))
        rows["KL(particles || truth), nats"].append(metrics.knn_kl(particles, truth))
        rows["MMD of trajectories"].append(metrics.mmd(_flat(moved / scale), _flat(tests / scale)))
        rows["log-likelihood of test recordings"].append(_held_out(noisy, moved))
    return {name: np.array(row) for name, row in rows.items()}


METRICS = (
    "KL(truth || particles), nats", "KL(particles || truth), nats", "MMD of trajectories",
    "log-likelihood of test recordings",
)  # fmt: skip


def trajectories(lengths: Lengths) -> Float[np.ndarray, "_ steps 4"]:
    return two_links.moved(lengths, STEPS)


def _flat(moved: Float[np.ndarray, "n steps 4"]) -> Float[np.ndarray, "n numbers"]:
    return moved[:, ::EVERY].reshape(len(moved), -1)


def _held_out(tests: Float[np.ndarray, "tests steps 4"], moved: Float[np.ndarray, "n steps 4"]) -> float:
    """Mean over test recordings of the predictive log-density for each number measured."""
    sigma = np.array(list(WIDTH.values()))
    each = [metrics.log_mean_exp(metrics.log_likelihood(test, moved, sigma)) for test in tests]
    return float(np.mean(each)) / tests[0].size


def axes_of(covariance: Float[np.ndarray, "2 2"]) -> float:
    """Degrees between the longer principal axis and the first length."""
    _, vectors = np.linalg.eigh(covariance)
    return float(np.degrees(np.arctan2(vectors[1, -1], vectors[0, -1])) % 180)


def turned(one: float, other: float) -> float:
    """Degrees between two axes: they have no direction."""
    return abs((one - other + 90) % 180 - 90)


# ---- what is shown


def outcome(posterior: Posterior, lengths: Lengths, history: History) -> Outcome:
    values = posterior.values
    forth, back, misfit, held_out = (history[name] for name in METRICS)
    numbers = [
        Number("mean of length 1", float(values[:, 0].mean()), "m", MEAN[0] - 0.05, MEAN[0] + 0.05),
        Number("mean of length 2", float(values[:, 1].mean()), "m", MEAN[1] - 0.05, MEAN[1] + 0.05),
        Number("principal axis off by", turned(axes_of(np.cov(values.T)), axes_of(COVARIANCE)), "degrees", high=15.0),
        Number("KL(truth || particles), of the start's", float(abs(forth[-1]) / forth[0]), "", high=0.1),
        Number("KL(particles || truth), of the start's", float(abs(back[-1]) / back[0]), "", high=0.1),
        Number("MMD of trajectories, of the start's", float(misfit[-1] / misfit[0]), ""),
        Number("log-likelihood of test recordings, per number", float(held_out[-1]), ""),
        Number("inference", float(posterior.attributes["seconds"]), "s"),
    ]
    pages = {
        "posterior": pair_plot(posterior, lengths),
        "trajectories": prediction(posterior, lengths),
        "metrics": draw_convergence([Series("SVGD", name, np.array(posterior.stages, float), row) for name, row in
                                     history.items()]),
    }  # fmt: skip
    sheet = draw_sheet(list(pages.values()), ["Link lengths", "Predicted motion", "Metrics over the run"])
    return Outcome("synthetic-pendulum", numbers, {"figures": sheet, **pages})


def pair_plot(posterior: Posterior, lengths: Lengths) -> Figure:
    return draw_pairs(
        posterior.values, posterior.names, posterior.units, limits=posterior.limits, truth=lengths,
        prior=posterior.trail[0], normal=Normal(MEAN, COVARIANCE),
    )  # fmt: skip


def prediction(posterior: Posterior, lengths: Lengths) -> Figure:
    """One recording's motion among those that the particles predict, before and after."""
    time = two_links.TIMESTEP * np.arange(1, STEPS + 1)
    predicted = {"before": trajectories(posterior.trail[0]), "after": trajectories(posterior.values)}
    recording = trajectories(lengths)[0]
    return draw_density(time, predicted, recording, list(two_links.NOISE), ["rad", "rad", "rad/s", "rad/s"])
