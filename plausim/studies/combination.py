"""Two recordings of two pendulums: the product of likelihoods averages them, the sum keeps both (`fig:combination`).

Both start at rest, link 1 sideways and link 2 straight on. CSVGD with multiple shooting, as in the paper.

How many particles end at each is not a matter of the posterior's mass: the sum is so sharp that the pendulum with the
luckier noise would have all of it, and an exact sampler would end there. It is a matter of which one a particle meets
first: 4 windows share them evenly, 5 up to 2 to 1, and 10 to 3 to 1.
"""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from plausim.report.pairs import draw_pairs
from plausim.report.sheet import draw_sheet
from plausim.results import Posterior
from plausim.run import infer
from plausim.samplers import csvgd
from plausim.shooting import multiple

from . import two_links
from .outcome import Number, Outcome, Tell, heard

TRUTHS = np.array([[1.5, 2.0], [2.0, 1.5]])  # m
STEPS, WINDOWS = 300, 4
NOISE = {"angle1": 0.05, "angle2": 0.05, "rate1": 0.25, "rate2": 0.25}  # rad, rad/s: of the likelihood
PARTICLES, ITERATIONS = 100, 1000
NEAR = 0.1  # m
COMBINE = ("product", "sum")


def run(seed: int = 0, tell: Tell = lambda line: None, iterations: int = ITERATIONS) -> Outcome:
    recordings = two_links.recorded(list(TRUTHS), STEPS, seed)
    found: dict[str, Posterior] = {}
    for combine in COMBINE:
        tell(f"{combine} of the likelihoods: {PARTICLES} particles, {WINDOWS} windows, {iterations:,} iterations")
        target = multiple(two_links.pendulum(), recordings, NOISE, windows=WINDOWS, combine=combine)
        found[combine] = infer(
            target, csvgd(), particles=PARTICLES, iterations=iterations, seed=seed, progress=heard(tell)
        )
    near = {combine: [share(posterior.values, truth) for truth in TRUTHS] for combine, posterior in found.items()}
    along, aside = between(found["product"].values)
    numbers = [
        *(Number(f"sum: particles within {NEAR} m of {shown(truth)}", part, "", low=0.4)
          for truth, part in zip(TRUTHS, near["sum"], strict=True)),
        *(Number(f"product: particles within {NEAR} m of {shown(truth)}", part, "", high=0.1)
          for truth, part in zip(TRUTHS, near["product"], strict=True)),
        Number("product: mean, on the way from one truth to the other", along, "", 0.2, 0.8),
        Number("product: mean, aside of that way", aside, "m"),
    ]  # fmt: skip
    pages = {name: picture(posterior, name) for name, posterior in found.items()}
    return Outcome("combination", numbers, {"figures": draw_sheet(list(pages.values())), **pages})


def share(values: Float[np.ndarray, "_ 2"], truth: Float[np.ndarray, "2"]) -> float:
    return float(np.mean(np.linalg.norm(values - truth, axis=1) < NEAR))


def between(values: Float[np.ndarray, "_ 2"]) -> tuple[float, float]:
    """How far the mean has come from the first truth to the second, and how far it is from that line."""
    way, come = TRUTHS[1] - TRUTHS[0], values.mean(0) - TRUTHS[0]
    part = float(way @ come / (way @ way))
    return part, float(np.linalg.norm(come - part * way))


def shown(truth: Float[np.ndarray, "2"]) -> str:
    return f"({truth[0]:g}, {truth[1]:g}) m"


def picture(posterior: Posterior, combine: str) -> Figure:
    return draw_pairs(
        posterior.values, posterior.names, posterior.units, limits=posterior.limits, truth=TRUTHS,
        prior=posterior.trail[0], title=f"{combine} of the likelihoods",
    )  # fmt: skip
