"""How plausible recordings are under parameters: targets by single and by multiple shooting."""

from .noise import Range
from .targets import multiple, single

__all__ = ["Range", "multiple", "single"]
