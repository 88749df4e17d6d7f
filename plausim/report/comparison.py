"""Runs side by side: the table of their scores, the motions that they predict, what they say of the same parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from plausim.config.comparing import Comparison, Row
from plausim.report.density import draw_density
from plausim.report.intervals import Estimates, draw_intervals
from plausim.report.run import MOST_CHANNELS
from plausim.report.sheet import draw_sheet
from plausim.report.tables import Cell, Column, Table
from plausim.scores import LEVEL, NEIGHBOURS

LOW, HIGH = -np.inf, np.inf
MOST = 12  # parameters that are drawn
MOST_RUNS = 6  # that are drawn side by side, with the prior
SCORED = (
    "energy score: of whole trajectories, per number, in spreads of the recordings: low is good. rms: of the median "
    "draw from the measured start. log p: for each number measured."
)


def score_table(found: Comparison) -> Table:
    """A row for each run, the prior's first."""
    units = list(found.rows[0].scores.rms)
    columns = [
        Column("run"), Column("method"), Column("energy score", LOW), Column(f"coverage of {LEVEL:.0%}", LEVEL, ".2f"),
        *(Column(f"rms, {unit}" if unit else "rms", LOW) for unit in units), Column("log p", HIGH, ".4g"),
        Column("KL(real‖sim)", LOW, ".4g"), Column("KL(sim‖real)", LOW, ".4g"), Column("MMD", LOW),
        Column("failed draws", digits=",.0f"), Column("simulations", digits=",.0f"), Column("s", digits=".1f"),
    ]  # fmt: skip
    rows = [list(cells(row).values()) for row in found.rows]
    title = "Held-out motion" if found.held_out else "The motion that the runs were inferred from"
    return Table(title, columns, rows, [*found.notes, *few(found), SCORED])


def cells(row: Row) -> dict[str, Cell]:
    """One run's numbers, by what they are."""
    p, s = row.posterior, row.scores
    pooled = len(row.seen.recordings) > NEIGHBOURS
    return {
        "run": row.name,
        "method": str(p.attributes.get("method", "")) if p else "",
        "energy score": s.energy,
        "coverage": s.coverage,
        **{f"rms, {unit}" if unit else "rms": number for unit, number in s.rms.items()},
        "log p": s.log_likelihood,
        "KL(real‖sim)": s.kl_real_sim if pooled else np.nan,
        "KL(sim‖real)": s.kl_sim_real if pooled else np.nan,
        "MMD": s.mmd if pooled else np.nan,
        "failed draws": float(s.failed),
        "simulations": spent(p.history["simulations"].sum() if p and "simulations" in p.history else None, p is None),
        "seconds": spent(p.attributes.get("seconds") if p else None, p is None),
    }


def spent(number: Any, prior: bool) -> Cell:
    """The prior costs nothing; of what was not kept, there is no number."""
    return "" if prior else np.nan if number is None else float(number)


def few(found: Comparison) -> list[str]:
    count = len(found.rows[0].seen.recordings)
    if count > NEIGHBOURS:
        return ["KL and MMD are pooled over motions. KL(sim‖real) rewards width: see the prior's row."]
    return [f"KL and MMD compare motions with each other, and take {NEIGHBOURS + 1} or more; here: {count}."]


def plain(found: Comparison) -> dict[str, Any]:
    """For JSON: what does not exist is null."""
    number = lambda cell: None if isinstance(cell, float) and not np.isfinite(cell) else cell  # noqa: E731
    rows = [{name: number(cell) for name, cell in cells(row).items() if cell != ""} for row in found.rows]
    return {"held out": found.held_out, "notes": found.notes, "rows": rows}


# ---- figures


def draw_comparison(found: Comparison) -> Figure:
    """The first motion as each run predicts it, and the parameters."""
    pictures = {f"Predicted motion: {found.rows[0].seen.recordings[0]}": motion(found.rows[:MOST_RUNS], found.units)}
    shared = estimates(found.rows)
    if shared:
        pictures["Parameters: means and 90 % intervals"] = draw_intervals(shared)
    return draw_sheet(list(pictures.values()), list(pictures))


def motion(rows: Sequence[Row], units: Sequence[str]) -> Figure:
    """Channels that were measured."""
    seen = rows[0].seen
    shown = [c for c in range(len(seen.channels)) if seen.known[0, :, c].any()][:MOST_CHANNELS]
    return draw_density(
        seen.time,
        {row.name: row.seen.predicted[:, 0][..., shown] for row in rows},
        seen.observed[0][:, shown],
        [seen.channels[c] for c in shown],
        [units[c] for c in shown],
        seen.known[0][:, shown],
    )


def estimates(rows: Sequence[Row]) -> dict[str, Estimates]:
    """Of the parameters that more than one run has; limits are those of the first that has it."""
    runs = [(row.name, row.posterior) for row in rows if row.posterior is not None]
    names = dict.fromkeys(name for _, p in runs for name in p.names)
    found = {}
    for name in names:
        having = [(run, p, p.names.index(name)) for run, p in runs if name in p.names]
        if len(having) > 1:
            _, p, i = having[0]
            draws = {run: other.values[:, j] for run, other, j in having}
            found[name] = Estimates(p.units[i], (float(p.limits[i, 0]), float(p.limits[i, 1])), draws)
    return dict(list(found.items())[:MOST])
