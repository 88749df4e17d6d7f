"""The command line: `plausim`, with all commands of the folder `commands`."""

from typing import Annotated

import typer

from plausim import __version__
from plausim.commands import COMMANDS
from plausim.commands.saying import console, stoppable

app = typer.Typer(
    help="Find the simulators that plausibly produced a motion.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for name, command in COMMANDS.items():
    app.command(name)(stoppable("stopped; nothing was begun.")(command))


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
