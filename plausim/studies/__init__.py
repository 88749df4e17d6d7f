"""The experiments of the paper, each a short script with its constants on top; `STUDIES` has every one of them.

Each has `run(seed, tell) -> Outcome`: numbers beside what they should be, and figures.
"""

from importlib import import_module

from .outcome import Outcome, Tell, keep

STUDIES = ("landscape", "synthetic-pendulum", "combination")


def run(name: str, seed: int, tell: Tell) -> Outcome:
    """Let a study run; each imports what it needs only then."""
    return import_module(f"{__name__}.{name.replace('-', '_')}").run(seed, tell)


def about(name: str) -> str:
    """The first line of what a study says of itself."""
    return str(import_module(f"{__name__}.{name.replace('-', '_')}").__doc__).splitlines()[0]


__all__ = ["STUDIES", "Outcome", "about", "keep", "run"]
