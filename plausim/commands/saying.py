"""What the commands share: how they speak, what they say of mistakes, and how they read what was given."""

import atexit
import math
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

STOPPED = 130  # how a shell calls a command that ctrl-C ended
console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)  # a pipe takes whole lines


def double_precision() -> None:
    """One motion alone takes no time; its numbers should be right."""
    import jax

    jax.config.update("jax_enable_x64", True)


def say(line: str) -> None:
    """A line that is not the answer."""
    print(f"plausim: {line}", file=sys.stderr, flush=True)


@contextmanager
def told(ignorable: bool = False) -> Iterator[None]:
    """What the user got wrong is said in a line, and ends the command; so does ctrl-C."""
    try:
        yield
    except (ValueError, OSError, ModuleNotFoundError) as error:
        flag = "\nOn the command line: --ignore GROUP, once for each." if ignorable and "ignore=[" in str(error) else ""
        say(f"{_in_words(error)}{flag}")
        raise typer.Exit(2) from None
    except KeyboardInterrupt as stopped:
        say(str(stopped) or "stopped.")
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # pressed again, it would interrupt the leaving
        raise typer.Exit(STOPPED) from None


def _in_words(error: Exception) -> str:
    """What the system says of a file comes with a number, and not always with the file."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)


@contextmanager
def stoppable(farewell: str) -> Iterator[None]:
    """Ctrl-C in here ends the process at once, with a line: what is on disk is whole at any moment.

    An exception would be lost where Python is called from C, as it is while JAX compiles.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        if console.is_terminal:
            os.write(1, b"\x1b[?25h\n")  # a bar hides the cursor
        os.write(2, f"plausim: {farewell}\n".encode())
        os._exit(STOPPED)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


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
