"""The experiments of the paper, each a short script with its constants on top; `STUDIES` has every one of them.

Each has `run(seed, tell, ...) -> Outcome`: numbers beside what they should be, figures and tables. Which of `OPTIONS` a
study takes is written where it is read: they are keywords of its `run`. One that compares methods has the table of
them, `METHODS`. `settled` looks at what was asked for before anything runs.
"""

from collections.abc import Collection
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from .outcome import Outcome, Tell, keep

STUDIES = ("landscape", "synthetic-pendulum", "combination", "double-pendulum", "bayessim-two-lengths")
OPTIONS = ("methods", "data", "limits", "seeds", "references")
LIMITS = ("paper", "wide")
ALL = "all"


def run(name: str, seed: int, tell: Tell, folder: Path | None = None, **given: Any) -> Outcome:
    """Let a study run; each imports what it needs only then. What is not given is left to the study."""
    study = _module(name)
    kept = {"folder": folder} if folder is not None and resumes(name) else {}
    return study.run(seed, tell, **kept, **given)


def settled(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options for `run`, without those that are None, and with the methods that `all` stands for."""
    study, given = _module(name), {option: value for option, value in given.items() if value is not None}
    taken = [option for option in OPTIONS if option in _keywords(study)]
    for option in given:
        if option not in taken:
            listed = ", ".join(f"--{other}" for other in taken) or "no options but --seed and --out"
            raise ValueError(f"the study {name} has no --{option}; it takes {listed}.")
    if given.get("limits", LIMITS[0]) not in LIMITS:
        raise ValueError(f"there are no limits {given['limits']}; there are {', '.join(LIMITS)}.")
    if "methods" in given:
        given["methods"] = chosen(given["methods"], study.METHODS)
    return given


def chosen(methods: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """Each method once, in the order of the study's table; `all` is all of them."""
    for method in methods:
        if method not in known and method != ALL:
            raise ValueError(f"there is no method {method!r} here; there are {', '.join(known)}, or {ALL} of them.")
    return tuple(method for method in known if method in methods or ALL in methods)


def resumes(name: str) -> bool:
    """Whether it keeps its runs in a folder, and goes on from there."""
    return "folder" in _keywords(_module(name))


def about(name: str) -> str:
    """The first line of what a study says of itself."""
    return str(_module(name).__doc__).splitlines()[0]


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def _keywords(study: ModuleType) -> Collection[str]:
    return signature(study.run).parameters


__all__ = ["OPTIONS", "STUDIES", "Outcome", "about", "chosen", "keep", "resumes", "run", "settled"]
