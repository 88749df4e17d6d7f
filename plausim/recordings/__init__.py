"""Measured motion: files become recordings that a model can be compared with."""

from .record import Recording, channels, cut, split
from .simulating import observations, simulated

__all__ = ["Recording", "channels", "cut", "observations", "simulated", "split"]
