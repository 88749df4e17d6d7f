"""`plausim study`: an experiment of the paper, from its own data to its figures."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from .saying import console, double_precision, say, told


def study(
    name: Annotated[str, typer.Argument(help="Which one; left out, all are listed.")] = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder for figures and numbers; runs/NAME, if not said.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of all that is random.")] = 0,
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
        folder = writable(out or Path("runs") / name)
        double_precision()
        outcome = studies.run(name, seed, say)
        files = studies.keep(outcome, folder)
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
