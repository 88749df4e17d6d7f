"""What a study is asked for, and what it says to what it cannot do."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

from plausim import studies
from plausim.cli import app
from plausim.report.tables import Column, Table
from plausim.studies.outcome import Number, Outcome


@pytest.fixture
def asked(monkeypatch) -> list[dict[str, Any]]:
    """What a study of no content, `made-up`, has been run with."""
    calls: list[dict[str, Any]] = []

    def run(seed, tell, methods=("one",), data=None, limits="paper", references=(0,), *, folder=None) -> Outcome:
        calls.append({"seed": seed, "methods": methods, "data": data, "limits": limits, "references": references})
        calls[-1]["folder"] = folder
        table = Table("Scores", [Column("method"), Column("error")], [[m, 0.5] for m in methods])
        return Outcome("made-up", [Number("a", np.nan)], {"empty": Figure()}, {"scores": table})

    module = ModuleType("plausim.studies.made_up", "A study of nothing.")
    module.__dict__.update(run=run, METHODS={"one": 1, "two": 2, "three": 3})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(studies, "STUDIES", (*studies.STUDIES, "made-up"))
    return calls


def said(*arguments: str, code: int = 0) -> str:
    result = CliRunner(env={"COLUMNS": "1000"}).invoke(app, ["study", *arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


def test_options_come_to_the_study_and_others_are_left_to_it(asked, tmp_path: Path) -> None:
    said("made-up", "--methods", "three, one", "--data", "here", "--references", "0,2,5", "--out", str(tmp_path))
    said("made-up", "--methods", "all", "--limits", "wide", "--seed", "3", "--out", str(tmp_path))
    first, second = asked
    assert first == {
        "seed": 0, "methods": ("one", "three"), "data": Path("here"), "limits": "paper", "references": (0, 2, 5),
        "folder": tmp_path,
    }  # fmt: skip
    assert (second["seed"], second["methods"], second["limits"]) == (3, ("one", "two", "three"), "wide")


def test_tables_are_printed_and_kept(asked, tmp_path: Path) -> None:
    output = said("made-up", "--out", str(tmp_path))
    assert "### Scores\n\n| method | error |\n|---|---|\n| one | 0.5 |\n" in output
    assert (tmp_path / "scores.md").read_text() in output
    assert r"\begin{tabular}" in (tmp_path / "scores.tex").read_text()


MISTAKES = {
    "not its option": (["made-up", "--seeds", "3"], "made-up has no --seeds; it takes --methods, --data, --limits, --"),
    "no options": (["landscape", "--limits", "wide"], "landscape has no --limits; it takes no options but --seed and"),
    "method": (["made-up", "--methods", "one,four"], "no method 'four' here; there are one, two, three, or all of"),
    "no method": (["made-up", "--methods", ""], "there is no method '' here"),
    "limits": (["made-up", "--limits", "narrow"], "there are no limits narrow; there are paper, wide."),
    "references": (["made-up", "--references", "1,b"], "--references 1,b is not a list of whole numbers; write"),
    "seeds": (["made-up", "--seeds", "0"], "greater than or equal to 1"),
}


@pytest.mark.parametrize("arguments, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_said_before_anything_is_made(asked, tmp_path: Path, arguments: list[str], says: str) -> None:
    folder = tmp_path / "new"
    assert says in said(*arguments, "--out", str(folder), code=2)
    assert not asked and not folder.exists()
