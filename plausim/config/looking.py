"""What is in a recording, before anyone has said: which columns are a model's channels, and what they need."""

import warnings
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from plausim import recordings
from plausim.mechanics.model import Model
from plausim.recordings import Recording, channels
from plausim.recordings.files import FORMATS
from plausim.recordings.measuring import derivable
from plausim.recordings.tables import TIMES, listed

from . import guessing, schema
from .building import read_recording
from .columns import as_written


class Seen(NamedTuple):
    """What was found in the recording."""

    names: list[str]
    columns: schema.Columns
    time: str | None
    rate: float | None
    recording: Recording | None  # if it can be read as it is
    todo: list[str]


def look(model: Model, file: Path) -> Seen:
    """Which columns are which, and the recording that they make."""
    reader = FORMATS.get(file.suffix.lower())
    if reader is None:
        raise ValueError(f"{file.name} ends in {file.suffix or 'nothing'}; recordings are {', '.join(FORMATS)} files.")
    names = reader(file).names
    time = guessing.clock(names)
    rate = None if time or {*names} & {*TIMES} else guessing.rounded(1.0 / float(model.timestep))
    sensors = guessing.matched(guessing.called(model), [n for n in names if n != time])
    controls = guessing.matched(
        {a: [a, f"{a}.control", f"ctrl.{a}"] for a in model.actuators.name},
        [n for n in names if n not in sensors.values()],
    )
    todo = [] if rate is None else [f"recording.rate: {file.name} has no column of the time; it is taken as {rate:g}"]
    made = [c for c, (_, _, source) in derivable(model).items()
            if c not in sensors and {*channels(model)[source]} <= {*sensors}]  # fmt: skip
    unseen = [c for c in channels(model) if c not in sensors and c not in made]
    off = [a for a in model.actuators.name if a not in controls]
    if unseen:
        todo.append(f"columns.sensors: {file.name} has no columns for {listed(unseen)}; taken as not measured")
    if off:
        todo.append(f"columns.controls: {file.name} has no columns for {listed(off)}; taken as 0")
    columns = schema.Columns(
        sensors={**sensors, **dict.fromkeys(unseen, False)},
        controls={**controls, **dict.fromkeys(off, 0.0)},
        velocities="savgol" if made else "given",
    )
    given = schema.Recording(file=str(file), time=time, rate=rate)
    found, columns, wrong = _read(model, given, columns)
    return Seen(names, columns, time, rate, found, todo + wrong)


def _read(
    model: Model, given: schema.Recording, columns: schema.Columns
) -> tuple[Recording | None, schema.Columns, list[str]]:
    """The recording, with what it turns out to need; or what is wrong with it."""
    matched = {c: column for c, column in columns.sensors.items() if column}
    if not matched:
        return None, columns, [f"columns.sensors: no column of {Path(given.file).name} has the name of a channel"]
    read = [*matched.values(), *(c for c in columns.controls.values() if isinstance(c, str))]
    try:
        table = recordings.read(given.file, read, time=given.time, rate=given.rate, missing="mask")
        holes = any(np.isnan(numbers).any() for numbers in table.columns.values())
        columns = columns.model_copy(
            update={
                "unwrap": tuple(guessing.wrapped(model, table, matched)),
                "missing": "mask" if holes else "error",
            }
        )
        with warnings.catch_warnings(record=True) as said, jax.enable_x64(True):
            warnings.simplefilter("always")
            with as_written():
                found = read_recording(given, columns, model)
        return found, columns, [str(w.message) for w in said]
    except ValueError as error:
        return None, columns, [str(error)]
