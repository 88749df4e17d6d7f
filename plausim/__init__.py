"""plausim finds the simulators that plausibly produced a motion."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plausim import fuse, mechanics, metrics, recordings
    from plausim.config import open_run
    from plausim.mechanics import load, robot, save, simulate
    from plausim.parameters import Parameter, choose, parameter
    from plausim.paths import changed
    from plausim.results import Posterior
    from plausim.run import infer
    from plausim.samplers import csvgd, svgd
    from plausim.shooting import Range, multiple, single
    from plausim.systems import System, system
    from plausim.target import Target, density

__version__ = "0.1.0.dev0"
__all__ = [
    "Parameter", "Posterior", "Range", "System", "Target", "__version__", "changed", "choose", "csvgd", "density",
    "fuse", "infer", "load", "mechanics", "metrics", "multiple", "open_run", "parameter", "recordings", "robot", "save",
    "simulate", "single", "svgd", "system",
]  # fmt: skip

HOME = {  # where a public name lives; a part of the package is its own home
    "load": "mechanics", "robot": "mechanics", "save": "mechanics", "simulate": "mechanics",
    "changed": "paths", "Parameter": "parameters", "choose": "parameters", "parameter": "parameters",
    "System": "systems", "system": "systems", "Target": "target", "density": "target",
    "Range": "shooting", "multiple": "shooting", "single": "shooting",
    "csvgd": "samplers", "svgd": "samplers", "infer": "run", "Posterior": "results", "open_run": "config",
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
