"""How a run is watched: a bar where there is a terminal, a line now and then where there is none; lines in the log."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TextColumn

from .saying import console, say

if TYPE_CHECKING:
    from plausim.run import Progress as Reached

QUIET = 10.0  # s between two lines
WIDE = 110  # columns of a terminal, from which a bar has room
NUMBERS = {  # what is shown of an iteration, where the method has it
    "logdensity": "log-likelihood {:,.1f}",
    "gap": "violation {:.1e}",
    "bandwidth": "bandwidth {:.2g}",
    "lost": "lost {:.0f}",
}

Note = Callable[[str], None]


@contextmanager
def watched(note: Note) -> Iterator[Callable[["Reached"], None]]:
    """What is called between chunks of iterations."""
    clock, lines = Clock(), Lines(note)
    if not console.is_terminal:
        yield lambda reached: lines.tell(reached, clock.left(reached), aloud=True)
        return
    shown = [TextColumn("{task.description}"), *[BarColumn(20)] * (console.width >= WIDE)]
    with Progress(*shown, TextColumn("{task.fields[said]}"), console=console) as bar:
        task = bar.add_task("compiling", said="")

        def tell(reached: "Reached") -> None:
            left = clock.left(reached)
            lines.tell(reached, left, aloud=False)
            if reached.info:
                done = f"{reached.method} {reached.iteration:,}/{reached.iterations:,}"
                room = console.width - len(done) - 1 - 21 * (console.width >= WIDE)
                said = fitting([remaining(left), *numbers(reached)], room)
                bar.update(task, description=done, total=reached.iterations, completed=reached.iteration, said=said)

        yield tell


class Clock:
    """How long the rest will take, at the pace since the first chunk: compiling says nothing about it."""

    def __init__(self) -> None:
        self.first: tuple[int, float] | None = None

    def left(self, reached: "Reached") -> float | None:
        if self.first is None and reached.info:
            self.first = reached.iteration, time.perf_counter()
        if self.first is None or reached.iteration <= self.first[0]:
            return None
        pace = (time.perf_counter() - self.first[1]) / (reached.iteration - self.first[0])
        return pace * (reached.iterations - reached.iteration)


class Lines:
    """A line at first, every few seconds, and at last."""

    def __init__(self, note: Note) -> None:
        self.note, self.last, self.begun = note, 0.0, False

    def tell(self, reached: "Reached", left: float | None, aloud: bool) -> None:
        if not self.begun and reached.iteration:
            self.say(f"goes on from iteration {reached.iteration:,} of {reached.iterations:,}", True)
        self.begun = True
        done = reached.iteration >= reached.iterations
        if reached.info and (done or time.perf_counter() - self.last > QUIET):
            self.last = time.perf_counter()
            said = "  ".join([*numbers(reached), remaining(left)]).rstrip()
            self.say(f"iteration {reached.iteration:,} of {reached.iterations:,}: {said}", aloud)

    def say(self, line: str, aloud: bool) -> None:
        self.note(line)
        if aloud:
            say(line)


def numbers(reached: "Reached") -> list[str]:
    return [text.format(reached.info[name]) for name, text in NUMBERS.items() if name in reached.info]


def fitting(parts: Sequence[str], room: int) -> str:
    """Of these as many as there is room for, the first ones first."""
    line = ""
    for part in filter(None, parts):
        longer = f"{line}  {part}" if line else part
        line = longer if len(longer) <= room else line
    return line


def remaining(seconds: float | None) -> str:
    if not seconds:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d} left" if hours else f"{minutes}:{rest:02d} left"


@contextmanager
def heard(note: Note) -> Iterator[None]:
    """Warnings are said in a line, each once, and noted."""
    said: set[str] = set()

    def show(message: Warning | str, *_: object) -> None:
        text = f"warning: {message}"
        if text not in said:
            said.add(text)
            note(text)
            say(text)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield
