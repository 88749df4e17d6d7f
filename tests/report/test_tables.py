"""Tables as Markdown and LaTeX: what does not exist, what is best, what has a spread."""

import numpy as np
import pytest

from plausim.report.tables import Column, Mean, Table, best, latex, markdown, mean_of, shown

TABLE = Table(
    "Methods & means",
    [Column("method"), Column("KL(a‖b)", best=-np.inf), Column("coverage, %", best=90.0), Column("log p", best=np.inf)],
    [["one_a", Mean(2.0, 0.25), 80.0, -3.0], ["two", np.nan, 97.0, np.nan], ["three", 1.5, "failed", -2.0]],
    ["A note."],
)


def test_markdown_has_a_line_for_each_row():
    lines = markdown(TABLE).splitlines()
    assert lines[0] == "### Methods & means"
    assert lines[2] == "| method | KL(a‖b) | coverage, % | log p |"
    assert lines[4] == "| one_a | 2 ± 0.2 | 80 | -3 |"
    assert lines[5] == "| two | N/A | **97** | N/A |"
    assert lines[6] == "| three | **1.5** | failed | **-2** |"
    assert lines[8] == "A note."


def test_latex_escapes_and_has_as_many_cells_in_each_row():
    text = latex(TABLE)
    assert r"one\_a & 2 $\pm$ 0.2 & 80 & -3 \\" in text
    assert r"\textbf{KL(a$\parallel$b)}" in text and r"coverage, \%" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len(rows) == 4 and {line.replace(r"\&", "").count("&") for line in rows} == {3}


@pytest.mark.parametrize(
    "cells, aim, row",
    [([3.0, 1.0, 2.0], -np.inf, 1), ([3.0, 1.0, 2.0], np.inf, 0), ([3.0, 1.0, 2.2], 2.5, 2), ([1.0, 2.0], None, None),
     ([np.nan, np.nan], -np.inf, None), ([1.0], -np.inf, None), ([np.nan, Mean(4.0, 1.0)], -np.inf, 1)],
)  # fmt: skip
def test_the_best_of_a_column(cells, aim, row):
    assert best(cells, Column("x", best=aim)) == row


def test_the_mean_over_seeds():
    assert mean_of([1.0, 3.0]) == pytest.approx((2.0, np.sqrt(2.0)))
    assert mean_of([1.0]) == (1.0, 0.0)
    assert shown(mean_of([1.0, np.nan]), ".3g") == "N/A"
    assert shown(Mean(1234.0, 56.7), ".0f") == "1234 ± 57" and shown(Mean(1.0, 9.7), ".0f") == "1 ± 10"


def test_a_bar_does_not_end_a_cell():
    lines = markdown(Table("x", [Column("m"), Column("KL(a||b)")], [["a", 1.0]])).splitlines()
    assert lines[2] == r"| m | KL(a\|\|b) |"
