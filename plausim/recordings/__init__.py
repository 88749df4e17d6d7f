"""Measured motion: files become tables, and tables become recordings that a model can be compared with."""

from .matching import recording
from .pendulum import double_pendulum
from .record import Recording, channels, cut, split
from .sampling import resample, unwrap
from .simulating import observations, simulated
from .tables import Table, between, read

__all__ = [
    "Recording", "Table", "between", "channels", "cut", "double_pendulum", "observations", "read", "recording",
    "resample", "simulated", "split", "unwrap",
]  # fmt: skip
