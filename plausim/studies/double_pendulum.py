"""The real double pendulum: who predicts it best, CSVGD or one of seven others (`sec:ibm-pendulum`).

Eleven parameters are inferred from 400 frames of one of IBM's recordings, and judged on ten motions of other recordings
that they have not seen: how far and how honestly the posterior predicts them. All methods get the same number of
simulations. The paper's own metrics stand beside (`tab:system-accuracy`, `tab:ms-baselines`,
`tab:likelihoodfree-results`), with the prior's, since one of them cannot tell a posterior from a prior.

Settings were chosen on the recordings `TUNING`, which take no part in what is reported: neither as references nor held
out. What is held out is never a reference.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from plausim import mechanics
from plausim.parameters import choose, parameter
from plausim.recordings import Recording, cut, double_pendulum
from plausim.recordings.pendulum import ORIGIN, marker_noise
from plausim.results import Posterior
from plausim.rollout import fused
from plausim.samplers import bayessim, cem, csvgd, emcee, nuts, sgld, svgd
from plausim.samplers.networks import MODELS
from plausim.samplers.summaries import SUMMARIES
from plausim.scores import Heldout, Paths, Scores, judged
from plausim.shooting import multiple, single
from plausim.systems import System, system
from plausim.target import Target

from .contests import Entry, Failed, entered, scattered
from .outcome import Outcome, Tell

TUNING = (1, 3, 4, 6)
REFERENCES = (0, 2, 5, 8, 11, 13)
HELD_OUT = (7, 9, 10, 12, 14)
FRAMES = (20, 420)  # of a reference
BEGINNINGS, HORIZON = range(20, 4020, 400), 200  # frames at which held-out motions begin, and how many each has
POOLED = 20  # draws of each motion, where trajectories are pooled: a thousand in all
RATE = 500.0  # frames a second: what the physics says, see plausim.recordings.pendulum
NOISE = {"angle1": 0.01, "angle2": 0.01, "rate1": 0.3, "rate2": 0.3}  # rad, rad/s: of the likelihood
UNITS = ("rad", "rad", "rad/s", "rad/s")
WINDOWS, PARTICLES, ITERATIONS = 10, 100, 2000
BUDGET = PARTICLES * ITERATIONS  # simulations of each method
NUTS = partial(nuts, doublings=6)  # its iterations cost about as many simulations as the others have, on TUNING
PENALTY, ANNEAL = (1e-5, 0.1, 0.1), 0.5  # soft: no two rigid links join all windows of this motion exactly
SIMULATED, EPOCHS = 10_000, 3000  # BayesSim's, as in the paper
CENTRE, MASS = (-0.2, 0.2), (0.05, 0.5)  # m, kg: in both boxes
LENGTH = (-0.3, -0.08)  # m: the elbow hangs below the shoulder


class Box(NamedTuple):
    """What limits differ in: inertias about the centres of mass, kg m^2, and friction, N m s."""

    link1: tuple[float, float]
    link2: tuple[float, float]
    friction: tuple[float, float]
    log: bool = False  # whether inertias are in doubt by orders of magnitude


LIMITS = {
    "wide": Box((1e-5, 1e-2), (1e-6, 1e-2), (0.0, 1e-2), log=True),
    "paper": Box((2e-3, 1.0), (2e-3, 1.0), (0.0, 0.5)),  # `tab:params-ibm-pendulum`; the true pendulum is not in it
}

PRIOR, OURS, SAME_TIME = "prior", "csvgd", ", same time"
BAYESSIM = ("downsampled", "mdrff-matern")  # the one that the paper takes into its table of all methods
ALL_SIMULATIONS, BETTER = "bayessim, all simulations", ("downsampled", "mdn")  # as many as the others have

Values = Float[np.ndarray, "draws parameters"]
States = Float[np.ndarray, "draws motions state"]
Predict = Callable[[Values, States], Paths]


def variant(summary: str, model: str) -> str:
    return f"bayessim {summary} {model}"


OWN = Entry(OURS, partial(csvgd, penalty=PENALTY, anneal=ANNEAL), "multiple")


METHODS: dict[str, list[Entry]] = {
    "emcee": [Entry("emcee", emcee), Entry("emcee, multiple", emcee, "multiple", 102)],  # two walkers a coordinate
    "cem": [Entry("cem", cem, "single", 500), Entry("cem, multiple", cem, "multiple", 500)],
    "sgld": [Entry("sgld", sgld), Entry("sgld, multiple", sgld, "multiple")],
    "nuts": [Entry("nuts", NUTS, iterations=4400), Entry("nuts, multiple", NUTS, "multiple", iterations=870)],
    "svgd": [Entry("svgd", svgd), Entry("svgd, multiple", svgd, "multiple")],
    "bayessim": [
        *(Entry(variant(summary, model), partial(bayessim, summary, model), iterations=EPOCHS)
          for model in MODELS for summary in SUMMARIES),
        Entry(ALL_SIMULATIONS, partial(bayessim, *BETTER, BUDGET), iterations=EPOCHS * SIMULATED // BUDGET),
    ],
    OURS: [OWN],
}  # fmt: skip


class Bench(NamedTuple):
    """One reference: what is inferred from, and what posteriors are judged on."""

    reference: int
    targets: dict[str, Target]  # by shooting
    predict: Predict
    starts: Float[np.ndarray, "motions state"]
    noise: Float[np.ndarray, " state"]  # of starts and of samples: all of the state is measured
    heldout: Heldout


class Rival(NamedTuple):
    """An entry on one reference and with one seed, and what came of it."""

    label: str
    reference: int
    seed: int
    posterior: Posterior | None  # none of the prior
    scores: Scores | None
    failure: str = ""


def run(
    seed: int = 0,
    tell: Tell = lambda line: None,
    folder: Path = Path("runs/double-pendulum"),
    data: Path | None = None,
    methods: Collection[str] = tuple(METHODS),
    limits: str = "wide",
    seeds: int = 1,
    references: Sequence[int] = REFERENCES,
) -> Outcome:
    from .double_pendulum_report import outcome

    if data is None:
        raise ValueError(f"the recordings are wanted: --data FOLDER. {ORIGIN}")
    check(references)
    for entry in entries(methods):
        entry.method()  # what one of them lacks is said before anything runs
    rivals: list[Rival] = []
    benches = benched(data, references, limits)
    others = benched(data, references, "wide") if limits == "paper" and OURS in methods else []  # what the limits cost
    for now in range(seed, seed + seeds):
        for one in benches:
            chosen = entries(methods, learners=2 if now > seed else 13 if one is benches[0] else 3)
            rivals += raced(one, chosen, now, now == seed, place(folder, limits, now, one), tell)
        for one in others:
            found = tried(one, OWN, now, place(folder, "wide", now, one), tell)
            rivals.append(found._replace(label=f"{OURS}, wide limits"))
    return outcome(rivals, benches)


def place(folder: Path, limits: str, seed: int, one: Bench) -> Path:
    return folder / "runs" / limits / f"seed{seed}" / f"run{one.reference}"


def benched(data: Path, references: Sequence[int], limits: str) -> list[Bench]:
    pendulum = doubted(limits)
    predict = predictor(pendulum)
    return [bench(data, reference, pendulum, predict) for reference in references]


def check(references: Sequence[int]) -> None:
    taken = sorted(set(references) & {*HELD_OUT, *TUNING})
    if taken:
        raise ValueError(
            f"runs {', '.join(map(str, taken))} are held out or were used to choose settings; take references from "
            f"{', '.join(map(str, REFERENCES))}."
        )


def doubted(limits: str) -> System:
    """The pendulum with its eleven parameters (`tab:params-ibm-pendulum`), as they lie in the plane of its motion."""
    box = LIMITS[limits]
    model = replace(mechanics.robot("double-pendulum"), timestep=np.asarray(1.0 / RATE), integrator="rk4")
    inertias = [parameter(f"{link}.inertia.xx", *getattr(box, link), log=box.log) for link in ("link1", "link2")]
    doubts = [
        parameter("link1.mass", *MASS), inertias[0],
        parameter("link1.com.y", *CENTRE), parameter("link1.com.z", *CENTRE),
        parameter("shoulder.damping", *box.friction),
        parameter("link2.pos.z", *LENGTH), parameter("link2.mass", *MASS), inertias[1],
        parameter("link2.com.y", *CENTRE), parameter("link2.com.z", *CENTRE),
        parameter("elbow.damping", *box.friction),
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*outside its limits")  # the file's numbers are no one's guess
        return system(choose(model, doubts))


def bench(data: Path, reference: int, pendulum: System, predict: Predict) -> Bench:
    recording = double_pendulum(data, reference, FRAMES, RATE)
    motions = held_out(data)
    observed = np.array([motion.observed[1:] for motion in motions])
    spread, sigma = np.std(recording.observed, axis=0), np.array(list(NOISE.values()))
    return Bench(
        reference,
        {"single": single(pendulum, [recording], NOISE, first="inferred"),
         "multiple": multiple(pendulum, [recording], NOISE, windows=WINDOWS, first="inferred")},
        predict, np.array([motion.states[0] for motion in motions]),
        np.array(list(marker_noise(data, reference, FRAMES, RATE).values())),
        Heldout(observed, np.ones(observed.shape, bool), spread, sigma, UNITS, POOLED),
    )  # fmt: skip


def held_out(data: Path) -> list[Recording]:
    whole = [double_pendulum(data, run, None, RATE) for run in HELD_OUT]
    return [cut(recording, first, first + HORIZON) for first in BEGINNINGS for recording in whole]


def predictor(pendulum: System) -> Predict:
    """What each draw's pendulum does from each of its starts."""
    rollout, idle = fused(pendulum.step), jnp.zeros((HORIZON, 0))
    each = jax.jit(jax.vmap(jax.vmap(lambda values, start: rollout(values, start, idle), (None, 0))))
    return lambda values, starts: np.asarray(each(jnp.asarray(values), jnp.asarray(starts)))


def raced(one: Bench, chosen: Sequence[Entry], seed: int, again: bool, folder: Path, tell: Tell) -> Iterator[Rival]:
    """The prior, then the entries with the same simulations; then, if asked for, again in CSVGD's time."""
    prior = one.targets["single"]
    values = np.asarray(prior.values(jnp.asarray(prior.starts(PARTICLES))))
    yield Rival(PRIOR, one.reference, seed, None, scored(one, values, seed))
    done: list[tuple[Entry, Posterior]] = []
    for entry in chosen:
        found = tried(one, entry, seed, folder, tell)
        if found.posterior is not None:
            done.append((entry, found.posterior))
        yield found
    if again:
        for entry in in_time(done):
            yield tried(one, entry, seed, folder, tell)


def entries(methods: Collection[str], learners: int = 13) -> list[Entry]:
    """Of these methods; of BayesSim so many, since twelve take longer to learn than all others to run."""
    found = [entry for method in METHODS if method in methods for entry in METHODS[method]]
    kept = (variant(*BAYESSIM), variant(*BETTER), ALL_SIMULATIONS, *(entry.label for entry in METHODS["bayessim"]))
    first = list(dict.fromkeys(kept))[:learners]
    return [entry for entry in found if not entry.label.startswith("bayessim") or entry.label in first]


def in_time(done: list[tuple[Entry, Posterior]]) -> list[Entry]:
    """The same entries for as long as CSVGD took."""
    given = [posterior.attributes["seconds"] for entry, posterior in done if entry.label == OURS]
    if not given:
        return []
    pace = {e.label: p.attributes["iterations"] / p.attributes["seconds"] for e, p in done}
    return [
        e._replace(label=f"{e.label}{SAME_TIME}", iterations=max(2, round(given[0] * pace[e.label])))
        for e, _ in done if e.label != OURS and not e.label.startswith("bayessim")
    ]  # fmt: skip


def tried(one: Bench, entry: Entry, seed: int, folder: Path, tell: Tell) -> Rival:
    target = scattered(one.targets[entry.shooting], seed)
    home = folder / entry.label.replace(", ", "-").replace(" ", "-")
    found = entered(entry, target, BUDGET, PARTICLES, seed, home, tell)
    if isinstance(found, Failed):
        return Rival(entry.label, one.reference, seed, None, None, found.reason)
    light = replace(found, predictions=None)  # of hundreds of runs, what they say of their own recording is too much
    return Rival(entry.label, one.reference, seed, light, scored(one, found.values, seed))


def scored(one: Bench, values: Values, seed: int) -> Scores:
    return judged(*predicted(one, values, seed), one.heldout)


def predicted(one: Bench, values: Values, seed: int) -> tuple[Paths, Paths]:
    """Paths begin where motions were measured; predictions within the noise of that, and are measured with it."""
    rng = np.random.default_rng([seed, one.reference])
    starts = np.broadcast_to(one.starts, (len(values), *one.starts.shape))
    paths = one.predict(values, starts)
    moved = one.predict(values, starts + one.noise * rng.standard_normal(starts.shape))
    return paths, moved + one.noise * rng.standard_normal(moved.shape)
