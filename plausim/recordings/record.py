"""What a recording is, and how a part of it is taken."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float

from plausim.mechanics.model import Model, Sensor
from plausim.mechanics.sensors import SENSORS


@dataclass(frozen=True, eq=False)
class Recording:
    """One recorded motion, sampled at the model's step: row t is t steps after the start.

    The control of row t acts from sample t to sample t + 1. A sensor that feels the control (an accelerometer) shows in
    sample t + 1 what it feels under the control of row t, and in sample 0 what it feels under that of row 0.
    """

    name: str
    channels: tuple[str, ...]  # one name for each observed number: "angle1", "lid.0"
    observed: Float[np.ndarray, "samples channels"]  # 0 where it was not measured
    known: Bool[np.ndarray, "samples channels"]  # whether it was
    controls: Float[np.ndarray, "steps controls"]  # held during each step
    states: Float[np.ndarray, "samples state"]  # positions, then velocities: measured or estimated, for starts
    timestep: float  # s

    def __post_init__(self) -> None:
        rows = {field: len(getattr(self, field)) for field in ("observed", "known", "states")}
        if set(rows.values()) != {self.steps + 1}:
            raise ValueError(
                f"{self.name} has {self.steps} rows of controls, one for each step, and so needs {self.steps + 1} "
                f"samples; it has {', '.join(f'{n} rows of {field}' for field, n in rows.items())}."
            )

    @property
    def steps(self) -> int:
        return len(self.controls)

    def __repr__(self) -> str:
        missing = int(np.sum(~self.known))
        holes = f", {missing} of {self.known.size} numbers missing" if missing else ""
        return f"Recording({self.name}: {self.steps} steps of {self.timestep:g} s, {', '.join(self.channels)}{holes})"


def channels(model: Model) -> tuple[str, ...]:
    """The names of the numbers that a model's sensors show, in the order of `observe`.

    Example:
        >>> from plausim import mechanics
        >>> channels(mechanics.robot("double-pendulum"))
        ('angle1', 'angle2', 'rate1', 'rate2')

    """
    found = []
    for sensor, own in blocks(model):
        width = own.stop - own.start
        found += [sensor.name] if width == 1 else [f"{sensor.name}.{i}" for i in range(width)]
    return tuple(found)


def units(model: Model) -> tuple[str, ...]:
    """Of the channels, in their order.

    Example:
        >>> from plausim import mechanics
        >>> units(mechanics.robot("double-pendulum"))
        ('rad', 'rad', 'rad/s', 'rad/s')

    """
    found = []
    for sensor, own in blocks(model):
        choices = SENSORS[sensor.kind].units.split(", ")  # of a joint: that of a hinge, that of a slide
        slide = len(choices) > 1 and model.joints.kind[sensor.element] == "slide"
        found += [choices[slide]] * (own.stop - own.start)
    return tuple(found)


def blocks(model: Model) -> list[tuple[Sensor, slice]]:
    """Which channels each sensor has."""
    ends = np.cumsum([0, *(SENSORS[sensor.kind].count for sensor in model.sensors)]).tolist()
    return [(sensor, slice(*own)) for sensor, own in zip(model.sensors, pairwise(ends), strict=True)]


def cut(recording: Recording, first: int, last: int) -> Recording:
    """The motion from sample `first` to sample `last`, both included: last - first steps."""
    if not 0 <= first < last <= recording.steps:
        raise ValueError(
            f"{recording.name} has the samples 0 to {recording.steps}; there is no motion from {first} to {last} in it."
        )
    samples = slice(first, last + 1)
    return replace(
        recording,
        observed=recording.observed[samples],
        known=recording.known[samples],
        controls=recording.controls[first:last],
        states=recording.states[samples],
    )


def split(
    recordings: Recording | Sequence[Recording], train: float | Sequence[str] = 0.8
) -> tuple[list[Recording], list[Recording]]:
    """To infer from, and held out.

    Args:
        recordings: one or several.
        train: the share of each recording that is its first part; the sample where that ends is where the rest starts.
            Or the names of the recordings to infer from, whole.

    """
    together = [recordings] if isinstance(recordings, Recording) else list(recordings)
    if not isinstance(train, int | float):
        return _by_name(together, tuple(train))
    halves = [_in_two(recording, train) for recording in together]
    return [first for first, _ in halves], [rest for _, rest in halves]


def _in_two(recording: Recording, train: float) -> tuple[Recording, Recording]:
    at = round(train * recording.steps)
    if not 0 < at < recording.steps:
        raise ValueError(
            f"a share of {train:g} of the {recording.steps} steps of {recording.name} leaves one part empty; give a "
            "share between 0 and 1, or a longer recording."
        )
    return cut(recording, 0, at), replace(cut(recording, at, recording.steps), name=f"{recording.name}, held out")


def _by_name(recordings: list[Recording], train: tuple[str, ...]) -> tuple[list[Recording], list[Recording]]:
    names = [recording.name for recording in recordings]
    unknown = [name for name in train if name not in names]
    if unknown:
        raise ValueError(f"there is no recording {', '.join(unknown)} to infer from; there are {', '.join(names)}.")
    return [r for r in recordings if r.name in train], [r for r in recordings if r.name not in train]
