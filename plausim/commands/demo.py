"""`plausim demo`: a first look, without files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from .saying import console

if TYPE_CHECKING:
    from plausim.studies.link_lengths import Study


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure; made if missing.")] = Path("plausim-demo"),
    particles: Annotated[int, typer.Option(min=2, max=10_000, help="Starts to fit from.")] = 64,
    steps: Annotated[int, typer.Option(min=20, max=1000, help="Steps of 0.01 s to record.")] = 400,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the recording's noise.")] = 0,
) -> None:
    """Make a recording of a double pendulum, and find its two link lengths again from many starts at once."""
    figure = writable(out) / "link-lengths.png"
    from plausim.studies import link_lengths

    with console.status(f"fitting from {particles} starts"):
        study = link_lengths.run(particles, steps, seed)
        link_lengths.draw(study, figure)
    console.print(summary(study, link_lengths.TRUTH, particles * link_lengths.ITERATIONS))
    console.print("This is a fit from many starts: the best lengths, not yet a posterior over all plausible ones.")
    console.print(f"figure: {figure}", soft_wrap=True)


def writable(folder: Path) -> Path:
    """The folder, made if missing; if nothing can be written there, stop before any work is done."""
    probe = folder / ".plausim-probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write to {folder} ({error.strerror}); name a folder that you may write to.", param_hint="--out"
        ) from None
    return folder


def summary(study: "Study", truth: tuple[float, float], rollouts: int) -> Table:
    """The answer beside the truth, how many starts found it, and how long it took."""
    first, second = study.path[-1, study.best]
    table = Table(title="Double pendulum: link lengths from its motion", title_justify="left")
    for column in ("", "link 1", "link 2"):
        table.add_column(column, justify="left" if not column else "right")
    table.add_row("best fit", f"{first:.3f} m", f"{second:.3f} m")
    table.add_row("truth", f"{truth[0]:.3f} m", f"{truth[1]:.3f} m", end_section=True)
    table.add_row("starts that reached it", f"{study.found.sum()} of {len(study.found)}")
    table.add_row("time to compile", f"{study.compile_seconds:.2f} s")
    table.add_row("time to fit", f"{study.fit_seconds:.2f} s")
    table.add_row("rollouts with gradient", f"{rollouts / study.fit_seconds:,.0f} /s")
    return table
