"""Tables of numbers: Markdown to read, LaTeX to print. What does not exist is N/A; the best of a column is bold.

A cell is a text, a number, or a `Mean` with its spread over seeds.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

MISSING = "N/A"
BAR = r"\|"  # else it would end a cell
ESCAPES = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "‖": r"$\parallel$", "²": r"$^2$", "±": r"$\pm$"}


class Mean(NamedTuple):
    """Of several seeds."""

    mean: float
    spread: float  # their standard deviation


class Column(NamedTuple):
    name: str
    best: float | None = None  # what the best cell is nearest to: -inf where low is good, inf where high is
    digits: str = ".3g"  # of its numbers


Cell = str | float | Mean


class Table(NamedTuple):
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]  # a cell for each column
    notes: Sequence[str] = ()


def mean_of(values: Sequence[float]) -> Mean:
    """Over seeds; where one of them has no number, the mean has none."""
    numbers = np.asarray(values, float)
    return Mean(float(np.mean(numbers)), float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0)


def markdown(table: Table) -> str:
    """With the notes below.

    Example:
        >>> from plausim.report.tables import Column, Table, markdown
        >>> print(markdown(Table("Scores", [Column("method"), Column("error", best=-float("inf"))],
        ...                      [["one", 0.25], ["two", float("nan")]])))
        ### Scores
        <BLANKLINE>
        | method | error |
        |---|---|
        | one | **0.25** |
        | two | N/A |
        <BLANKLINE>

    """
    head = [line(c.name for c in table.columns), "|---" * len(table.columns) + "|"]
    body = [line(cells) for cells in written(table, "**{}**")]
    notes = [part for note in table.notes for part in ("", note)]
    return "\n".join([f"### {table.title}", "", *head, *body, *notes, ""])


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def latex(table: Table) -> str:
    """A `tabular` with the rules of booktabs."""
    ends = r" \\"
    head = " & ".join(rf"\textbf{{{escaped(c.name)}}}" for c in table.columns) + ends
    body = [" & ".join(map(escaped, cells)) + ends for cells in written(table, r"\textbf{{{}}}")]
    lines = [rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}", r"\toprule", head, r"\midrule", *body]
    notes = [f"% {note}" for note in table.notes]
    return "\n".join([f"% {table.title}", *notes, *lines, r"\bottomrule", r"\end{tabular}", ""])


def written(table: Table, bold: str) -> list[list[str]]:
    """The cells of each row, the best of a column in bold."""
    columns = [
        [shown(cell, column.digits) for cell in cells]
        for column, cells in zip(table.columns, zip(*table.rows, strict=True), strict=True)
    ]
    for texts, column, cells in zip(columns, table.columns, zip(*table.rows, strict=True), strict=True):
        found = best(cells, column)
        if found is not None:
            texts[found] = bold.format(texts[found])
    return [list(row) for row in zip(*columns, strict=True)]


def best(cells: Sequence[Cell], column: Column) -> int | None:
    """The row whose number is nearest to what is best; none, where nothing is, or there is only one."""
    numbers = np.array([number_of(cell) for cell in cells])
    if column.best is None or len(cells) < 2 or not np.isfinite(numbers).any():
        return None
    away = np.sign(-column.best) * numbers if np.isinf(column.best) else np.abs(numbers - column.best)
    return int(np.nanargmin(away))


def number_of(cell: Cell) -> float:
    return np.nan if isinstance(cell, str) else cell.mean if isinstance(cell, Mean) else float(cell)


def shown(cell: Cell, digits: str) -> str:
    if isinstance(cell, str):
        return cell
    if not np.isfinite(number_of(cell)):
        return MISSING
    if isinstance(cell, Mean):
        spread = f"{cell.spread:.0f}" if cell.spread >= 9.5 else f"{cell.spread:.1g}"
        return f"{cell.mean:{digits}} ± {spread}" if cell.spread else f"{cell.mean:{digits}}"
    return f"{cell:{digits}}"


def escaped(text: str) -> str:
    for plain, code in ESCAPES.items():
        text = text.replace(plain, code)
    return text
