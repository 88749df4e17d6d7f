"""A folder with a small pendulum, a short recording of it, and a config: what runs are tested on."""

from pathlib import Path

import numpy as np

from plausim import recordings
from plausim.mechanics.read import parse

STEPS = 40
MODEL = """<mujoco>
  <compiler angle="radian"/>
  <option timestep="0.01"><flag eulerdamp="disable"/></option>
  <worldbody>
    <body name="rod">
      <joint name="pivot" type="hinge" axis="1 0 0" damping="0.05"/>
      <inertial mass="1" pos="0 0 -0.5" diaginertia="0.08 0.08 0.001"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="pivot"/></actuator>
  <sensor><jointpos name="angle" joint="pivot"/><jointvel name="rate" joint="pivot"/></sensor>
</mujoco>
"""
CONFIG = """
model = "rod.xml"
[[recording]]
file = "swing.csv"
[columns.controls]
motor = 0.0
[parameters]
rod.mass = [0.5, 2.0]
pivot.damping = { low = 0.005, high = 0.5, log = true }
[noise]
angle = 0.01
rate = 0.05
[likelihood]
windows = 4
[sampler]
particles = 8
iterations = 30
"""


def folder(place: Path) -> Path:
    """All three files, the recording with noise."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "rod.xml").write_text(MODEL)
    (place / "swing.toml").write_text(CONFIG)
    write_csv(place / "swing.csv", rows())
    return place


def rows() -> np.ndarray:
    """Time, angle and rate."""
    noise = {"angle": 0.01, "rate": 0.05}
    swing = recordings.simulated(parse(MODEL), np.array([1.0, 0.0]), steps=STEPS, noise=noise)
    return np.column_stack([0.01 * np.arange(STEPS + 1), swing.observed])


def write_csv(file: Path, rows: np.ndarray, header: str = "time,angle,rate") -> None:
    np.savetxt(file, rows, "%.12g", ",", header=header, comments="")


def read_csv(file: Path) -> np.ndarray:
    return np.loadtxt(file, delimiter=",", skiprows=1)


def config(place: Path, changes: dict[str, str], name: str = "swing.toml") -> Path:
    """The config with other text in it."""
    text = CONFIG
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (place / name).write_text(text)
    return place / name
