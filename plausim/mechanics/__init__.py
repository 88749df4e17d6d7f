"""Mechanisms and how they move: rigid bodies, joints, actuators, contacts, sensors; from files and back into them."""

from .model import Model
from .motion import simulate, start
from .read import load, parse
from .robots import ROBOTS, robot
from .write import save, to_mjcf

__all__ = ["ROBOTS", "Model", "load", "parse", "robot", "save", "simulate", "start", "to_mjcf"]
