"""`plausim compare`: how well runs fit, or predict, beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .saying import console, double_precision, stoppable, told
from .studies import writable
from .watching import heard

if TYPE_CHECKING:
    from plausim.config.comparing import Comparison


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="DIR", help="The folders of two runs or more.")],
    held_out: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A recording that no run has seen; once for each.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for the table and figures.", show_default=False)
    ] = None,
) -> None:
    """Score runs side by side: on held-out recordings, or on those that they were inferred from."""
    from plausim.config.comparing import compare
    from plausim.report.comparison import score_table
    from plausim.report.tables import markdown

    double_precision()
    with told(), heard(lambda line: None), stoppable("stopped; nothing was written."):
        folder = None if out is None else _free(out)
        found = compare(runs, held_out or ())
        console.print(markdown(score_table(found)), markup=False, soft_wrap=True)
        if folder is not None:
            for file in keep(found, folder):
                console.print(f"wrote {file}", soft_wrap=True)


def _free(folder: Path) -> Path:
    """A folder to write into; the figures of a run would be written over."""
    from plausim.config.folders import RESOLVED

    if (folder / RESOLVED).exists():
        raise ValueError(
            f"{folder} is the folder of a run; name another one with --out, such as {folder / 'compared'}."
        )
    return writable(folder)


def keep(found: "Comparison", folder: Path) -> list[Path]:
    """The table as Markdown, LaTeX and JSON, and the figures; what was there is replaced."""
    import json

    from plausim.report.comparison import draw_comparison, plain, score_table
    from plausim.report.tables import latex, markdown
    from plausim.writing import replacing

    table = score_table(found)
    texts = {"md": markdown(table), "tex": latex(table), "json": json.dumps(plain(found), indent=2)}
    files = [folder / f"compare.{ending}" for ending in texts]
    for file, text in zip(files, texts.values(), strict=True):
        with replacing(file) as temporary:
            temporary.write_text(text)
    figures = folder / "figures.png"
    with replacing(figures) as temporary:
        draw_comparison(found).savefig(temporary, format="png")
    return [*files, figures]
