"""plausim finds the simulators that plausibly produced a motion."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plausim import fuse

__version__ = "0.1.0.dev0"
__all__ = ["__version__", "fuse"]


def __getattr__(name: str) -> ModuleType:
    """Import a public part when it is first used: JAX takes a second, `plausim --help` should not."""
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
