"""The command line: `plausim demo`, `parameters`, `simulate`. What a command needs is imported when it runs, so that
help answers at once.
"""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from plausim import __version__

if TYPE_CHECKING:
    from plausim.studies.link_lengths import Study

app = typer.Typer(
    help="Find the simulators that plausibly produced a motion.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(highlight=False)
FIGURES = (".png", ".pdf", ".svg")
TABLES = (".csv",)


def show_version(wanted: bool) -> bool:
    """Print the version and stop, if that is wanted."""
    if wanted:
        console.print(f"plausim {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Find the simulators that plausibly produced a motion."""


@app.command()
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


Source = Annotated[str, typer.Argument(metavar="MODEL", help="An MJCF or URDF file, or a built-in model's name.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Drop what is not simulated, by group; may be repeated.")]


@app.command()
def parameters(
    model: Source,
    match: Annotated[str, typer.Option(help="Only paths that contain this text.")] = "",
    ignore: Ignore = None,
) -> None:
    """List every number of a model that can be inferred: path, present value, unit."""
    from plausim.paths import closest, paths
    from plausim.studies import motion

    double_precision()
    with told():
        robot = motion.read(model, ignore or ())
        known = paths(robot)
        found = [path for name, path in known.items() if match in name]
        if not found:
            advice = closest(match, known, "leave out --match to see all.")
            raise ValueError(f"none of the {len(known)} paths contains {match}; {advice}")
    rows = [(path.name, f"{float(path.read(robot)):.9g}", path.unit) for path in found]
    if console.is_terminal:
        table = Table("path", "value", "unit", box=None, pad_edge=False, header_style="bold")
        table.columns[1].justify = "right"
        for row in rows:
            table.add_row(*row)
        console.print(table)
    else:
        for row in rows:
            print(*row, sep="\t")


@app.command()
def simulate(
    model: Source,
    seconds: Annotated[float, typer.Option(help="How long.")] = 2.0,
    plot: Annotated[Path | None, typer.Option(help="Draw the motion to this file (.png, .pdf, .svg).")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write time and states to this file.")] = None,
    start: Annotated[
        list[str] | None, typer.Option(metavar="JOINT=NUMBER", help="Where a joint starts; may be repeated.")
    ] = None,
    control: Annotated[
        list[str] | None, typer.Option(metavar="ACTUATOR=NUMBER", help="A constant control; may be repeated.")
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=NUMBER", help="Change a number of the model; may be repeated."),
    ] = None,
    integrator: Annotated[
        str | None, typer.Option(help="euler, damped, implicit or rk4, instead of the file's own.")
    ] = None,
    ignore: Ignore = None,
) -> None:
    """Let a robot move under constant controls, and draw what it does."""
    from plausim.studies import motion

    double_precision()
    with told():
        plot, csv = plot and placed(plot, FIGURES), csv and placed(csv, TABLES)
        starts, controls = numbers("--start", start), numbers("--control", control)
        robot = motion.prepare(motion.read(model, ignore or ()), numbers("--set", assign), integrator)
        plan = motion.plan(robot, seconds, starts, controls)
    done = motion.run(robot, plan)
    with told():
        motion.check(done, model)
        print(motion.summary(done, model))
        if csv:
            motion.write_csv(done, csv)
            print(f"states: {csv}")
        if plot:
            motion.draw(done, Path(model).name, plot)
            print(f"figure: {plot}")


def double_precision() -> None:
    """One motion alone takes no time; its numbers should be right."""
    import jax

    jax.config.update("jax_enable_x64", True)


@contextmanager
def told() -> Iterator[None]:
    """What the user got wrong is said in a line, and ends the command."""
    try:
        yield
    except (ValueError, OSError) as error:
        flag = "\nOn the command line: --ignore GROUP, once for each." if "ignore=[" in str(error) else ""
        print(f"plausim: {error}{flag}", file=sys.stderr)
        raise typer.Exit(2) from None


def numbers(option: str, given: list[str] | None) -> dict[str, float]:
    """What was given as name=number."""
    found: dict[str, float] = {}
    for text in given or ():
        name, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not name or not math.isfinite(number):
            raise ValueError(f"{option} {text} is not a name and a number; write {option} {name or 'name'}=1.5")
        if name in found:
            raise ValueError(f"{option} {name} is given as {found[name]:g} and as {number:g}; give it once.")
        found[name] = number
    return found


def placed(file: Path, endings: tuple[str, ...]) -> Path:
    """A file to write, in a folder that is there; with the first ending, if it has none."""
    if not file.parent.is_dir():
        raise ValueError(f"there is no folder {file.parent} for {file.name}; make it first: mkdir -p {file.parent}")
    if file.is_dir():
        raise ValueError(f"{file} is a folder; name a file in it, such as {file / f'motion{endings[0]}'}")
    if file.suffix and file.suffix not in endings:
        raise ValueError(f"{file} ends in {file.suffix}; let it end in {' or '.join(endings)}.")
    return file if file.suffix else file.with_suffix(endings[0])


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
