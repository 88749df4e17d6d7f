"""The commands of `plausim`. What is heavy is imported when a command runs, so that help answers at once."""

from collections.abc import Callable

from .answers import models, show
from .demo import demo
from .robots import parameters, simulate
from .runs import init, resume, run

COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo,
    "parameters": parameters,
    "simulate": simulate,
    "init": init,
    "run": run,
    "resume": resume,
    "show": show,
    "models": models,
}

__all__ = ["COMMANDS"]
