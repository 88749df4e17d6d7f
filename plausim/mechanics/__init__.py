"""Mechanisms and how they move: rigid bodies, joints, actuators, contacts, sensors; from files and back into them."""

from .integrators import step
from .joints import difference, retract
from .model import Model, on_device
from .motion import simulate, start
from .read import load, parse
from .robots import ROBOTS, robot
from .sensors import observe
from .write import save, to_mjcf

__all__ = [
    "ROBOTS", "Model", "difference", "load", "observe", "on_device", "parse", "retract", "robot", "save", "simulate",
    "start", "step", "to_mjcf",
]  # fmt: skip
