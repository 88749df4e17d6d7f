"""The commands of `plausim`. What is heavy is imported when a command runs, so that help answers at once."""

from collections.abc import Callable

from .demo import demo
from .robots import parameters, simulate

COMMANDS: dict[str, Callable[..., None]] = {"demo": demo, "parameters": parameters, "simulate": simulate}

__all__ = ["COMMANDS"]
