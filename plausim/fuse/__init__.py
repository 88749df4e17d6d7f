"""A step function becomes one compiled kernel for the whole rollout, with its gradient."""

from .explanation import Explanation, explain
from .public import scan
from .unfusable import FallbackWarning

__all__ = ["Explanation", "FallbackWarning", "explain", "scan"]
