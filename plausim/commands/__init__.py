"""The commands of `plausim`. What is heavy is imported when a command runs, so that help answers at once."""

from collections.abc import Callable

from .answers import models, show
from .compare import compare
from .robots import parameters, simulate
from .runs import init, resume, run
from .studies import study

COMMANDS: dict[str, Callable[..., None]] = {
    "parameters": parameters,
    "simulate": simulate,
    "init": init,
    "run": run,
    "resume": resume,
    "show": show,
    "models": models,
    "compare": compare,
    "study": study,
}

__all__ = ["COMMANDS"]
