"""A step function becomes one compiled kernel for the whole rollout, with its gradient."""

from .public import scan
from .unfusable import FallbackWarning

__all__ = ["FallbackWarning", "scan"]
