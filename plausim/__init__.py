"""plausim finds the simulators that plausibly produced a motion."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plausim import fuse, mechanics
    from plausim.mechanics import load, robot, save, simulate
    from plausim.parameters import Parameter, choose, parameter

__version__ = "0.1.0.dev0"
__all__ = [
    "Parameter", "__version__", "choose", "fuse", "load", "mechanics", "parameter", "robot", "save", "simulate",
]  # fmt: skip

HOME = {  # where a public name lives; a part of the package is its own home
    "load": "mechanics", "robot": "mechanics", "save": "mechanics", "simulate": "mechanics",
    "Parameter": "parameters", "choose": "parameters", "parameter": "parameters",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is public when it is first used: JAX takes a second, `plausim --help` should not."""
    if name in HOME:
        return getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
