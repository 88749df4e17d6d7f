"""What cannot be fused, and how the user hears of it."""

import os
import warnings
from typing import Any

import jax

_LIBRARY = tuple(os.path.dirname(file) + os.sep for file in (jax.__file__, __file__))  # whose lines are not the user's


class FallbackWarning(UserWarning):
    """A step function runs as `jax.lax.scan`, right but slow; the text says why and what to do."""


class Unfusable(Exception):
    """Raised while a step is compiled. `what` stands in its way, `where` is the user's line."""

    def __init__(self, what: str, *, advice: str = "", where: str = ""):
        super().__init__(what)
        self.what, self.advice, self.where = what, advice, where

    def located(self, eqn: Any) -> "Unfusable":
        """The same, with the source line of an equation unless a line is known already."""
        return Unfusable(self.what, advice=self.advice, where=self.where or source_line(eqn))

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        advice = f"; {self.advice}" if self.advice else ""
        return f"{self.what}{place}{advice}"


def source_line(eqn: Any) -> str:
    """`file:line` of the innermost frame of the user's own code."""
    traceback = getattr(eqn.source_info, "traceback", None)
    for frame in getattr(traceback, "frames", None) or ():
        if not frame.file_name.startswith(_LIBRARY):
            return f"{frame.file_name}:{frame.line_num} in {frame.function_name}"
    return ""


_said: set[str] = set()


def warn_once(problem: Exception) -> None:
    """One warning for each reason and place."""
    text = str(problem)
    if text not in _said:
        _said.add(text)
        message = f"fuse.scan runs as jax.lax.scan (right, but much slower), because it cannot fuse {text}."
        warnings.warn(message + " fuse.explain says more.", FallbackWarning, stacklevel=3)
