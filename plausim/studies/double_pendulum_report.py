"""What the study of the real double pendulum shows: tables beside the paper's numbers, and figures.

A number is the mean over references, and its spread that of this mean over seeds. One that does not exist for one of
them does not exist.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from plausim.report.tables import Cell, Column, Mean, Table, mean_of
from plausim.scores import LEVEL, THIN, Scores

from .double_pendulum import (
    ALL_SIMULATIONS,
    BAYESSIM,
    BEGINNINGS,
    BETTER,
    HELD_OUT,
    HORIZON,
    OURS,
    POOLED,
    PRIOR,
    SAME_TIME,
    TUNING,
    Bench,
    Rival,
    variant,
)
from .double_pendulum_figures import SHORT, figures
from .outcome import Number, Outcome

LOW, HIGH = -np.inf, np.inf
NAMES = {name: SHORT[name] for name in ("emcee", "cem", "sgld", "nuts", "svgd")}  # as rows come
BASELINES = (*NAMES, "bayessim")
Three = tuple[float, float, float]  # KL(real || sim), KL(sim || real), MMD
NONE = np.nan
PAPER: dict[str, Three] = {  # `tab:system-accuracy` and `tab:ms-baselines`
    "emcee": (8542.2466, 4060.6312, 1.1365), "emcee, multiple": (8950.4574, NONE, NONE),
    "cem": (8911.1798, 8549.5927, 0.9687), "cem, multiple": (8860.5115, NONE, 0.5682),
    "sgld": (8788.0962, 7876.0310, 2.1220), "sgld, multiple": (5863.2728, 2187.2825, 0.0759),
    "nuts": (9196.7461, 6432.2131, 0.5371), "nuts, multiple": (8785.5326, 4935.8983, 1.1642),
    "svgd": (8803.5683, 10283.6659, 0.7177), OURS: (5204.5336, 2773.1751, 0.0366),
}  # fmt: skip
PAPER_BAYESSIM: dict[str, Three] = {  # `tab:likelihoodfree-results`
    variant("downsampled", "mdn"): (8817.9222, 4050.4666, 0.6748),
    variant("difference", "mdn"): (8919.2463, 4633.2637, 0.6285),
    variant("summary", "mdn"): (9092.5575, 5093.8851, 0.5664),
    variant("signature", "mdn"): (8985.8056, 4610.5438, 0.5807),
    variant("downsampled", "mdrff-rbf"): (9027.9474, 5091.5283, 0.5593),
    variant("difference", "mdrff-rbf"): (8936.3823, 4282.8599, 0.5988),
    variant("summary", "mdrff-rbf"): (9063.1753, 4884.1398, 0.5672),
    variant("signature", "mdrff-rbf"): (8980.9080, 4081.1160, 0.6016),
    variant("downsampled", "mdrff-matern"): (8818.1830, 3794.9873, 0.6110),
    variant("difference", "mdrff-matern"): (8859.2156, 4349.9971, 0.6176),
    variant("summary", "mdrff-matern"): (8962.0501, 4241.4551, 0.5999),
    variant("signature", "mdrff-matern"): (9036.9626, 4620.9517, 0.5715),
}
PAPER[variant(*BAYESSIM)] = PAPER_BAYESSIM[variant(*BAYESSIM)]  # both tables have it

Take = Callable[[Scores], float]
SCORES: dict[Column, Take] = {
    Column("energy score", LOW): lambda s: s.energy,
    Column(f"coverage of {LEVEL:.0%}", LEVEL, ".2f"): lambda s: s.coverage,
    Column("rms, mrad", LOW, ",.0f"): lambda s: 1e3 * s.rms["rad"],
    Column("log p", HIGH, ",.0f"): lambda s: s.log_likelihood,
}
TOGETHER: dict[Column, Take] = {
    Column("KL(real‖sim)", LOW, ".0f"): lambda s: s.kl_real_sim,
    Column("KL(sim‖real)", LOW, ".0f"): lambda s: s.kl_sim_real,
    Column("MMD", LOW): lambda s: s.mmd,
}
SPENT = (Column("simulations", digits=",.0f"), Column("s", digits=".1f"))
HELD = (
    f"On {len(BEGINNINGS) * len(HELD_OUT)} motions of {HORIZON} frames out of runs {', '.join(map(str, HELD_OUT))}, "
    f"which no method saw. Settings were chosen on runs {', '.join(map(str, TUNING))}. Numbers are means over "
    "references, ± their standard deviation over seeds."
)
SCORED = (
    "The energy score is that of whole trajectories, per number, in spreads of the reference's channels: low is good. "
    "rms: of both angles over the motion, of the median draw, from the measured start. log p: per number measured."
)
POOLS = (
    f"The paper's metrics, pooled over all motions with {POOLED} draws of each: every {THIN}th frame, "
    f"{HORIZON // THIN * 4} numbers. Compare orders and ratios with the paper's, not values: its states, scales and "
    "starts are not known. KL(sim‖real) rewards width: see the prior's row."
)


def outcome(rivals: Sequence[Rival], benches: Sequence[Bench]) -> Outcome:
    """Everything that is kept of a study."""
    tables = {
        "scores": scores_table(rivals),
        "system-accuracy": accuracy_table(rivals),
        "multiple-shooting": shooting_table(rivals),
        "bayessim": bayessim_table(rivals),
        "same-time": time_table(rivals),
    }
    tables = {name: table for name, table in tables.items() if len(table.rows) > 1}
    return Outcome("double-pendulum", numbers(rivals), figures(rivals, benches), tables)


# ---- means


def mean(rivals: Sequence[Rival], label: str, take: Take) -> Mean:
    """Over references, then over seeds."""
    own = [r for r in rivals if r.label == label]
    seeds = dict.fromkeys(r.seed for r in own)
    each = [[NONE if r.scores is None else take(r.scores) for r in own if r.seed == seed] for seed in seeds]
    return mean_of([float(np.mean(values)) for values in each]) if each else Mean(NONE, 0.0)


def costs(rivals: Sequence[Rival], label: str) -> list[Cell]:
    """Simulations and seconds of a run with the first seed: later ones may have run beside something else."""
    own = [r.posterior for r in rivals if r.label == label and r.posterior is not None and r.seed == rivals[0].seed]
    if not own:
        return [""] * len(SPENT)
    return [
        float(np.mean([posterior.history["simulations"].sum() for posterior in own])),
        float(np.mean([posterior.attributes["seconds"] for posterior in own])),
    ]


def row(rivals: Sequence[Rival], label: str, columns: dict[Column, Take]) -> list[Cell]:
    failed = [r for r in rivals if r.label == label and r.failure]
    if failed:
        return [f"failed on run {failed[0].reference}: {failed[0].failure}", *[""] * (len(columns) - 1)]
    return [mean(rivals, label, take) for take in columns.values()]


def labels(rivals: Sequence[Rival]) -> list[str]:
    return list(dict.fromkeys(r.label for r in rivals))


def titled(label: str) -> str:
    """A row's name, as a reader knows it."""
    plain = label.removesuffix(SAME_TIME)
    name, _, shooting = plain.partition(", ")
    if plain == "svgd, multiple":
        return "SVGD, multiple shooting, soft gaps"
    if name == OURS:
        return "CSVGD" + (f", {shooting}" if shooting else "")
    if name == "bayessim":
        return f"BayesSim, {shooting}"
    if plain.startswith("bayessim "):
        summary, model = plain.split()[1:]
        return f"BayesSim, {summary}, {model.upper().replace('-MATERN', ' (Matérn)').replace('-RBF', ' (RBF)')}"
    return "prior" if plain == PRIOR else NAMES[name] + (", multiple shooting" if shooting else ", single shooting")


# ---- tables


def scores_table(rivals: Sequence[Rival]) -> Table:
    """All methods with the same number of simulations, one motion at a time."""
    shown = [label for label in labels(rivals) if not label.endswith(SAME_TIME) and not is_variant(label)]
    return spending("Held-out motion, by method, at equal simulations", rivals, shown, [HELD, SCORED])


def time_table(rivals: Sequence[Rival]) -> Table:
    shown = [label for label in labels(rivals) if label.endswith(SAME_TIME)]
    note = "Each method once more, with as many iterations as it had time for in CSVGD's; first seed only."
    return spending("The same in CSVGD's time", rivals, [*shown, *[OURS] * bool(shown)], [note, SCORED])


def spending(title: str, rivals: Sequence[Rival], shown: Sequence[str], notes: Sequence[str]) -> Table:
    columns = [Column("method"), *SCORES, *SPENT]
    rows = [[titled(label), *row(rivals, label, SCORES), *costs(rivals, label)] for label in shown]
    return Table(title, columns, rows, notes)


def accuracy_table(rivals: Sequence[Rival]) -> Table:
    """`tab:system-accuracy`: baselines with single shooting, as there."""
    wanted = [PRIOR, "emcee", "cem", "sgld", "nuts", "svgd", variant(*BAYESSIM), OURS]
    return beside("The paper's table of accuracy, its rows of the double pendulum", rivals, wanted, PAPER)


def shooting_table(rivals: Sequence[Rival]) -> Table:
    """`tab:ms-baselines`: what each method gains by multiple shooting."""
    pairs = [(name, f"{name}, multiple") for name in NAMES]
    wanted = [label for pair in pairs for label in pair] + [OURS]
    table = beside("Single against multiple shooting", rivals, wanted, PAPER, dict(list(SCORES.items())[::2]))
    gains = [gained(rivals, *pair) for pair in (*pairs, ("svgd", OURS))]
    return table._replace(notes=[*table.notes, *filter(None, gains)])


def gained(rivals: Sequence[Rival], one: str, other: str) -> str:
    ratio = mean(rivals, other, lambda s: s.energy).mean / mean(rivals, one, lambda s: s.energy).mean
    return f"{titled(other)}: {ratio:.2g} of the energy score of {titled(one)}." if np.isfinite(ratio) else ""


def bayessim_table(rivals: Sequence[Rival]) -> Table:
    """`tab:likelihoodfree-results`, of the reference and the seed that all twelve learned from."""
    wanted = [*PAPER_BAYESSIM, ALL_SIMULATIONS, OURS]
    twelve = {(r.reference, r.seed) for r in rivals if is_variant(r.label)}
    own = [r for r in rivals if (r.reference, r.seed) in twelve]
    title = f"BayesSim by input and model, run {', '.join(str(reference) for reference, _ in sorted(twelve))}"
    return beside(title, own, wanted, PAPER_BAYESSIM | {OURS: PAPER[OURS]}, SCORES)


def beside(
    title: str,
    rivals: Sequence[Rival],
    wanted: Sequence[str],
    paper: dict[str, Three],
    more: Mapping[Column, Take] = MappingProxyType({}),
) -> Table:
    """Our pooled metrics, the paper's own, and what else is asked for."""
    columns = {**TOGETHER, **more}
    theirs = [c._replace(name=f"paper's {c.name}", best=None) for c in TOGETHER]
    shown = [label for label in wanted if label in labels(rivals)]
    rows = [[titled(label), *row(rivals, label, columns), *paper.get(label, ("",) * 3)] for label in shown]
    return Table(title, [Column("method"), *columns, *theirs], rows, [POOLS, HELD])


def is_variant(label: str) -> bool:
    """One of BayesSim's that have a table of their own."""
    return label.startswith("bayessim ") and label not in (variant(*BAYESSIM), variant(*BETTER))


# ---- numbers


def numbers(rivals: Sequence[Rival]) -> list[Number]:
    """Those that the study promises; each where the methods that it is about took part."""
    energy, single = {label: mean(rivals, label, lambda s: s.energy) for label in labels(rivals)}, [*BASELINES]
    if OURS not in energy:
        return []
    ours, own = energy[OURS], lambda take: mean(rivals, OURS, take).mean
    found = [
        Number("CSVGD: rms of held-out angles, median draw", own(lambda s: 1e3 * s.rms["rad"]), "mrad", high=60.0),
        Number("CSVGD: coverage of the 90 % interval", own(lambda s: s.coverage), "", 0.85, 0.95),
    ]
    if "svgd" in energy:
        found.append(Number("energy score, CSVGD over SVGD's single", ours.mean / energy["svgd"].mean, high=0.15))
    others = {
        label: e.mean
        for label, e in energy.items()
        if label.partition(", ")[0] not in (OURS, PRIOR) and SAME_TIME not in label
    }
    if others:
        best = min(others, key=lambda label: np.nan_to_num(others[label], nan=np.inf))
        worse = ours.mean - others[best]
        found.append(Number(f"energy score, CSVGD minus the best other ({titled(best)})", worse, high=ours.spread))
        singles = [label for label in others if label in single or label.startswith("bayessim")]
        found += pooled_numbers(rivals, singles) if singles else []
    return found


def pooled_numbers(rivals: Sequence[Rival], singles: Sequence[str]) -> list[Number]:
    """The paper's two claims, against its own baselines: single shooting, and BayesSim."""
    kl = {label: mean(rivals, label, lambda s: s.kl_real_sim).mean for label in (*singles, OURS)}
    mmd = {label: mean(rivals, label, lambda s: s.mmd).mean for label in (*singles, OURS)}
    least_kl, least_mmd = (float(np.nanmin([each[label] for label in singles])) for each in (kl, mmd))
    return [
        Number("MMD, CSVGD over the best of single shooting", mmd[OURS] / least_mmd, high=0.07),
        Number("KL(real‖sim), CSVGD minus the lowest of the paper's baselines", kl[OURS] - least_kl, high=0.0),
    ]
