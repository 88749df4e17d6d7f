"""`plausim parameters` and `plausim simulate`: what is in a model, and how it moves."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from .saying import console, double_precision, numbers, placed, told
from .watching import heard

FIGURES = (".png", ".pdf", ".svg")
TABLES = (".csv",)
Source = Annotated[str, typer.Argument(metavar="MODEL", help="An MJCF or URDF file, or a built-in model's name.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Drop what is not simulated, by group; may be repeated.")]


def unnoted(warning: str) -> None:
    """What is said and done with: there is no log."""


def parameters(
    model: Source,
    match: Annotated[str, typer.Option(help="Only paths that contain this text.")] = "",
    ignore: Ignore = None,
) -> None:
    """List every number of a model that can be inferred: path, present value, unit."""
    from plausim.paths import closest, paths
    from plausim.studies import motion

    double_precision()
    with told(ignorable=True), heard(unnoted):
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
    with told(ignorable=True), heard(unnoted):
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
