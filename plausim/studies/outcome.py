"""What a study found: numbers, each beside what it should be, figures and tables; and how they are kept."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from matplotlib.figure import Figure

from plausim.report.tables import Table, latex, markdown
from plausim.run import Progress
from plausim.writing import replacing

Tell = Callable[[str], None]
DPI = 130


class Number(NamedTuple):
    name: str
    value: float
    unit: str = ""
    low: float = -float("inf")  # where it should lie
    high: float = float("inf")

    @property
    def holds(self) -> bool:
        return bool(self.low <= self.value <= self.high)

    @property
    def wanted(self) -> str:
        """Where it should lie, in words."""
        low, high = self.low > -float("inf"), self.high < float("inf")
        if low and high:
            return f"{self.low:.4g} to {self.high:.4g}"
        return f"at least {self.low:.4g}" if low else f"at most {self.high:.4g}" if high else ""


class Outcome(NamedTuple):
    title: str
    numbers: Sequence[Number]
    figures: dict[str, Figure]  # by the name of their file
    tables: Mapping[str, Table] = MappingProxyType({})  # the same


def heard(tell: Tell) -> Callable[[Progress], None]:
    """A line each fifth of a run."""
    said: set[int] = set()

    def hear(now: Progress) -> None:
        fifth = 5 * now.iteration // now.iterations
        if fifth and fifth not in said and now.info:  # a run that had ended before has none
            said.add(fifth)
            tell(f"iteration {now.iteration:,}: mean log-density {now.info['logdensity']:,.1f}, {now.seconds:.0f} s")

    return hear


def keep(outcome: Outcome, folder: Path) -> list[Path]:
    """Figures as PNG, tables as Markdown and LaTeX, numbers as JSON; what was there is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, figure in outcome.figures.items():
        files.append(folder / f"{name}.png")
        with replacing(files[-1]) as temporary:
            figure.savefig(temporary, dpi=DPI, format="png")
    for name, table in outcome.tables.items():
        for ending, text in (("md", markdown(table)), ("tex", latex(table))):
            files.append(folder / f"{name}.{ending}")
            with replacing(files[-1]) as temporary:
                temporary.write_text(text)
    files.append(folder / "numbers.json")
    rows = [{"name": n.name, "value": n.value, "unit": n.unit, "wanted": n.wanted} for n in outcome.numbers]
    with replacing(files[-1]) as temporary:
        temporary.write_text(json.dumps({"study": outcome.title, "numbers": rows}, indent=2))
    return files
