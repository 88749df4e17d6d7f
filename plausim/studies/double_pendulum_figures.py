"""The pictures of the study of the real double pendulum: of its first reference and first seed."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from plausim.report.convergence import Series, draw_convergence
from plausim.report.density import draw_density
from plausim.report.pairs import draw_pairs
from plausim.report.sheet import draw_sheet
from plausim.scores import lasting, mean_energy, over_time

from .double_pendulum import (
    HORIZON,
    MODELS,
    OURS,
    PARTICLES,
    RATE,
    SUMMARIES,
    Bench,
    Rival,
    Values,
    predicted,
    variant,
)

MOTION = 0  # of those held out: the one that is drawn
SINGLE = ("emcee", "cem", "nuts", "sgld", "svgd", OURS)
MULTIPLE = ("emcee, multiple", "cem, multiple", "nuts, multiple", "sgld, multiple", "svgd, multiple", OURS)
PANELS = {"single shooting": SINGLE, "multiple shooting": MULTIPLE}
SHORT = {"emcee": "emcee", "cem": "CEM", "nuts": "NUTS", "sgld": "SGLD", "svgd": "SVGD", OURS: "CSVGD"}
EVERY = 4  # stages of a run, of which one is scored
ANGLES = ["angle1", "angle2"]
RATIOS = ("A / C", "B / C", "D / E")
MEASURED = np.array([[9.66, 0.735, 9.80]])  # by regression over seven whole runs: what no gauge can change


def figures(rivals: Sequence[Rival], benches: Sequence[Bench]) -> dict[str, Figure]:
    one, seed = benches[0], min(r.seed for r in rivals)
    found = {r.label: r for r in rivals if r.reference == one.reference and r.seed == seed and r.posterior is not None}
    pages = {
        "trajectories": densities(one, found, SINGLE),
        "trajectories-multiple": densities(one, found, MULTIPLE),
        **{f"trajectories-{model}": bayessim_densities(one, found, model) for model in MODELS},
        "parameters": parameters(found.get(OURS)),
        "combinations": combinations(found.get(OURS)),
        "horizon": horizon(one, found),
        "progress": progress(one, found),
    }
    return {name: figure for name, figure in pages.items() if figure is not None}


def name_of(label: str) -> str:
    return SHORT[label.partition(", ")[0]]


# ---- what is predicted


def densities(one: Bench, found: dict[str, Rival], wanted: Sequence[str], names: Sequence[str] = ()) -> Figure | None:
    """The motion that each method's draws predict (`fig:ibm-pendulum-rollouts`, `fig:sgld-ms`)."""
    titles = dict(zip(wanted, names or map(name_of, wanted), strict=True))
    shown = {titles[label]: moved(one, found[label])[:, MOTION, :, :2] for label in wanted if label in found}
    if not shown:
        return None
    time = np.arange(1, HORIZON + 1) / RATE
    return draw_density(time, shown, one.heldout.observed[MOTION, :, :2], ANGLES, ["rad", "rad"])


def bayessim_densities(one: Bench, found: dict[str, Rival], model: str) -> Figure | None:
    """Of one density network, by what it sees (`fig:ibm-pendulum-rollouts-bayessim`)."""
    return densities(one, found, [variant(summary, model) for summary in SUMMARIES], list(SUMMARIES))


def moved(one: Bench, rival: Rival) -> Float[np.ndarray, "draws motions steps channels"]:
    assert rival.posterior is not None
    return predicted(one, rival.posterior.values, rival.seed)[1]


# ---- what was found


def parameters(rival: Rival | None) -> Figure | None:
    if rival is None or rival.posterior is None:
        return None
    p = rival.posterior
    return draw_pairs(p.values, p.names, p.units, limits=p.limits)


def combinations(rival: Rival | None) -> Figure | None:
    """What the motion does tell, beside what a regression over seven whole runs found."""
    if rival is None or rival.posterior is None:
        return None
    title = "CSVGD; the star: a regression over seven whole runs"
    return draw_pairs(ratios(rival.posterior.values), RATIOS, ("",) * 3, truth=MEASURED, title=title)


def ratios(values: Values) -> Float[np.ndarray, "draws 3"]:
    """Of the five numbers that the motion of two free links depends on; masses and lengths can be traded off in each.

    A = I1 + m1 c1^2 + m2 L^2, B = I2 + m2 c2^2, C = m2 L c2, D = m1 c1 + m2 L, E = m2 c2: with c the distance of a
    centre of mass from its joint, and D the length of a vector, since the first link's centre need not be on its line.
    """
    m1, i1, y1, z1, _, down, m2, i2, y2, z2, _ = values.T
    length = -down
    c2 = np.hypot(y2, z2)
    a, b, e = i1 + m1 * (y1**2 + z1**2) + m2 * length**2, i2 + m2 * c2**2, m2 * c2
    d = np.hypot(m1 * y1, m1 * z1 - m2 * length)
    return np.stack([a / (e * length), b / (e * length), d / e], axis=1)


# ---- how it went


def horizon(one: Bench, found: dict[str, Rival]) -> Figure | None:
    """How far predictions are from the motion, the longer they run; CSVGD in every panel."""
    time = np.arange(1, HORIZON + 1) / RATE
    errors = {label: over_time(still(one, rival), one.heldout) for label, rival in found.items() if label in shown()}
    series = [
        Series(name_of(label), f"{what} ({unit}), {shooting}", time, errors[label][unit])
        for what, unit in (("angles", "rad"), ("velocities", "rad/s"))
        for shooting, labels in PANELS.items()
        for label in labels
        if label in errors
    ]
    return draw_convergence(series, along="time (s)") if series else None


def shown() -> set[str]:
    return {label for labels in PANELS.values() for label in labels}


def still(one: Bench, rival: Rival) -> Float[np.ndarray, "draws motions steps channels"]:
    assert rival.posterior is not None
    return predicted(one, rival.posterior.values, rival.seed)[0]


def progress(one: Bench, found: dict[str, Rival]) -> Figure | None:
    """The energy score on the way, against simulations and against time; CSVGD in every panel."""
    ways = {label: on_the_way(one, rival) for label, rival in found.items() if label in shown()}
    drawn = []
    for along, column in (("simulations", 1), ("seconds", 0)):
        series = [
            Series(name_of(label), f"energy score, {shooting}", ways[label][column][1:], ways[label][2][1:])
            for shooting, labels in PANELS.items()
            for label in labels
            if label in ways
        ]
        drawn += [draw_convergence(series, along=along)] if series else []
    return draw_sheet(drawn) if drawn else None


Row = Float[np.ndarray, " stages"]


def on_the_way(one: Bench, rival: Rival) -> tuple[Row, Row, Row]:
    """Seconds, simulations and energy score at some stages; iterations are taken to last alike."""
    p = rival.posterior
    assert p is not None
    stages = np.array(p.stages[::EVERY])
    used = np.concatenate([[0.0], np.cumsum(p.history["simulations"])])
    scores = [score(one, values[:PARTICLES], rival.seed) for values in p.trail[::EVERY]]
    return p.attributes["seconds"] * stages / p.attributes["iterations"], used[stages], np.array(scores)


def score(one: Bench, values: Values, seed: int) -> float:
    each = predicted(one, values, seed)[1]
    each = each[lasting(each, one.heldout)]
    return mean_energy(each, one.heldout) if len(each) else np.nan
