"""`plausim study`: an experiment of the paper, from its own data to its figures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .saying import console, double_precision, say, stoppable, told

if TYPE_CHECKING:
    from plausim.studies import Outcome

SOME = "Some studies only: "


def study(
    name: Annotated[str, typer.Argument(help="Which one; left out, all are listed.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder for figures and numbers; runs/NAME, if not said.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all that is random.")] = 0,
    methods: Annotated[
        str | None, typer.Option(metavar="NAME,...", help=f"{SOME}which methods to compare, or all.")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help=f"{SOME}where the recordings are.")] = None,
    limits: Annotated[
        str | None, typer.Option(metavar="paper|wide", help=f"{SOME}how far what is in doubt may go.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help=f"{SOME}how many seeds, from --seed on.")] = None,
    references: Annotated[
        str | None, typer.Option(metavar="N,...", help=f"{SOME}which recordings, by their number.")
    ] = None,
) -> None:
    """Repeat an experiment of the paper: its data is made, or read, and its figures are drawn."""
    from plausim import studies

    if not name:
        for known in studies.STUDIES:
            console.print(f"{known:20s} {studies.about(known)}", soft_wrap=True)
        return
    with told():
        if name not in studies.STUDIES:
            raise ValueError(f"there is no study {name}; there are {', '.join(studies.STUDIES)}.")
        asked = {
            "methods": None if methods is None else _listed("--methods", methods, str),
            "data": data,
            "limits": limits,
            "seeds": seeds,
            "references": None if references is None else _listed("--references", references, int),
        }
        given = studies.settled(name, asked)
        folder = writable(out or Path("runs") / name)
        double_precision()
        outcome = _ran(name, seed, folder, given)
        files = studies.keep(outcome, folder)
    _show(outcome, files)


def _listed(option: str, text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    """What stands between commas."""
    try:
        return tuple(kind(part.strip()) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{option} {text} is not a list of whole numbers; write {option} 0,2,5") from None


def _ran(name: str, seed: int, folder: Path, given: dict[str, Any]) -> "Outcome":
    """The study. Ctrl-C ends it with words that are true of a study: `plausim resume` is not for its runs."""
    from plausim import studies
    from plausim.run import Interrupted

    kept = f"the same command goes on with what is in {folder}" if studies.resumes(name) else "nothing is kept"
    farewell = f"stopped; {kept}."
    with stoppable(farewell):
        try:
            return studies.run(name, seed, say, folder, **given)
        except Interrupted:
            raise KeyboardInterrupt(farewell) from None


def _show(outcome: "Outcome", files: list[Path]) -> None:
    from rich.table import Table

    from plausim.report.tables import markdown

    for numbers in outcome.tables.values():
        console.print(markdown(numbers), markup=False, soft_wrap=True)
    table = Table(title=outcome.title, title_justify="left")
    for column in ("", "found", "wanted", ""):
        table.add_column(column, justify="right" if column == "found" else "left")
    for number in outcome.numbers:
        verdict = "" if not number.wanted else "holds" if number.holds else "missed"
        table.add_row(number.name, f"{number.value:.4g} {number.unit}".rstrip(), number.wanted, verdict)
    console.print(table)
    console.print(f"figures: {files[0]}", soft_wrap=True)


def writable(folder: Path) -> Path:
    """The folder, made if missing; if nothing can be written there, stop before any work is done."""
    probe = folder / ".plausim-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OSError(
            f"cannot write to {folder} ({error.strerror}); name a folder that you may write to with --out."
        ) from None
    return folder
