"""What the columns of a table say of a model's channels and joints, row by row or at other times."""

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from plausim.mechanics.joints import JOINTS
from plausim.mechanics.model import Model, Sensor

from . import sampling
from .record import blocks, channels
from .states import Sampled, Smoothing, quaternion_of, same_sign, speeds
from .tables import Table, advice, listed

SPEED_OF = {"jointvel": "jointpos", "ballangvel": "ballquat"}  # what can be made of what
QUATERNIONS = ("ballquat", "framequat")


class Measured(NamedTuple):
    """Numbers at some times, 0 where they are not known."""

    time: Float[np.ndarray, " rows"]
    values: Float[np.ndarray, "rows numbers"]
    known: Bool[np.ndarray, "rows numbers"]


def measured(
    model: Model, table: Table, sensors: Mapping[str, str | None], unwrap: Sequence[str], makeable: Sequence[str]
) -> Measured:
    """The model's channels in the rows of a table; `makeable` ones may lack a column."""
    own = channels(model)
    _only(sensors, own, "sensors", "channel")
    _only(unwrap, [*own, *table.columns], "unwrap", "channel")
    column = {channel: sensors.get(channel, channel) for channel in own}
    lacking = [c for c in own if column[c] is not None and column[c] not in table.columns and c not in makeable]
    if lacking:
        raise ValueError(_lacking(model, table, column, lacking))
    values = np.full((len(table.time), len(own)), np.nan)
    for i, channel in enumerate(own):
        if column[channel] in table.columns:
            values[:, i] = _unwrapped(table.columns[str(column[channel])], channel in unwrap)
    _warn_of_jumps(model, table, values, unwrap)
    for sensor, place in blocks(model):
        if sensor.kind in QUATERNIONS:
            values[:, place] = _quaternions(values[:, place])
    known = ~np.isnan(values)
    return Measured(table.time, np.where(known, values, 0.0), known)


def _only(given: Mapping | Sequence[str], known: Sequence[str], argument: str, what: str) -> None:
    for name in given:
        if name not in known:
            raise ValueError(f"{argument} names {name}, but the model has no such {what}; {advice(name, known)}")


def _lacking(model: Model, table: Table, column: Mapping[str, str | None], lacking: list[str]) -> str:
    moves = [c for c in lacking if c in derivable(model)]
    named = [c if column[c] == c else f"{c} (from {column[c]})" for c in lacking]
    made = f" Those of {', '.join(moves)} can be made from positions: velocities='savgol'." if moves else ""
    return (
        f"{table.name} has no columns for the channels {listed(named)} of the model; it has {listed(table.columns)}. "
        f"Say which column is which (sensors={{channel: column}}), or None for what was not measured.{made}"
    )


def derivable(model: Model) -> dict[str, tuple[Sensor, slice, slice]]:
    """The channels of velocities that follow from those of positions: the sensor, its channels, and the others'."""
    own, found = channels(model), {}
    for sensor, place in blocks(model):
        for other, source in blocks(model):
            if SPEED_OF.get(sensor.kind) == other.kind and sensor.element == other.element:
                found |= dict.fromkeys(own[place], (sensor, place, source))
    return found


def _unwrapped(column: Float[np.ndarray, " rows"], jumps: bool) -> Float[np.ndarray, " rows"]:
    return sampling.unwrap(column, ~np.isnan(column)) if jumps else column


def _warn_of_jumps(model: Model, table: Table, values: np.ndarray, unwrap: Sequence[str]) -> None:
    for sensor, place in blocks(model):
        hinge = sensor.kind == "jointpos" and model.joints.kind[sensor.element] == "hinge"
        if hinge and sensor.name not in unwrap:
            jumps = np.abs(np.abs(np.diff(values[:, place.start])) - 2.0 * np.pi) < 1.0
            if jumps.any():
                row = int(np.argmax(jumps)) + 1
                warnings.warn(
                    f"{table.name}: {sensor.name} jumps by about a full turn after row {row} ({int(jumps.sum())} such "
                    f'jumps); if that is how the angle was recorded, say unwrap=("{sensor.name}",).',
                    stacklevel=4,
                )


def _quaternions(values: Float[np.ndarray, "rows 4"]) -> Float[np.ndarray, "rows 4"]:
    """Of length 1, and without changes of sign; missing where a part of one is."""
    length = np.linalg.norm(values, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        found = np.where(length > 0, values / np.where(length > 0, length, 1.0), np.nan)
    return same_sign(found, ~np.any(np.isnan(found), axis=1))


def moved(model: Model, rows: Measured, at: Float[np.ndarray, " times"], how: str, gap: float) -> Measured:
    """The channels at other times."""
    values, known = np.zeros((len(at), rows.values.shape[1])), np.zeros((len(at), rows.values.shape[1]), bool)
    for i in range(rows.values.shape[1]):
        values[:, i], known[:, i] = sampling.resample(rows.time, rows.values[:, i], rows.known[:, i], at, how, gap)
    for sensor, place in blocks(model):
        if sensor.kind in QUATERNIONS:
            length = np.linalg.norm(values[:, place], axis=1, keepdims=True)
            values[:, place] /= np.where(length > 0, length, 1.0)
            if sensor.kind == "framequat":  # w is not negative, as the sensor has it
                values[:, place] *= np.where(values[:, place.start : place.start + 1] < 0, -1.0, 1.0)
    return Measured(at, values, known)


def with_speeds(model: Model, even: Measured, smooth: Smoothing, lacking: Sequence[str]) -> Measured:
    """The channels on even samples, those of velocities that are lacking made from positions."""
    values, known, step = even.values.copy(), even.known.copy(), float(even.time[1] - even.time[0])
    for channel in lacking:
        sensor, place, source = derivable(model)[channel]
        kind = model.joints.kind[sensor.element]
        found = speeds(kind, Sampled(even.values[:, source], np.all(even.known[:, source], axis=1)), step, smooth)
        values[:, place] = np.where(found.known[:, None], found.values, 0.0)
        known[:, place] = found.known[:, None]
    return Measured(even.time, values, known)


def given(
    model: Model, table: Table, at: Float[np.ndarray, " times"], unwrap: Sequence[str], how: str, gap: float
) -> dict[tuple[int, int], Sampled]:
    """The columns joint:NAME and jointvel:NAME of a table, at other times: see `states_of`."""
    found = {}
    for joint, (name, kind) in enumerate(zip(model.joints.name, model.joints.kind, strict=True)):
        for which, prefix in enumerate(("joint", "jointvel")):
            width = JOINTS[kind].velocities if which else JOINTS[kind].positions
            names = [f"{prefix}:{name}"] if width == 1 else [f"{prefix}:{name}.{i}" for i in range(width)]
            if any(n in table.columns for n in names):
                rows = _all_of(table, names, unwrap)
                if which == 0 and (quaternion := quaternion_of(kind)) is not None:
                    rows[:, quaternion] = _quaternions(rows[:, quaternion])
                there = [sampling.resample(table.time, r, ~np.isnan(r), at, how, gap) for r in rows.T]
                values, known = (np.stack(part, axis=1) for part in zip(*there, strict=True))
                found[joint, which] = Sampled(values, np.all(known, axis=1))
    return found


def _all_of(table: Table, names: list[str], unwrap: Sequence[str]) -> Float[np.ndarray, "rows columns"]:
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise ValueError(
            f"{table.name} has {listed(n for n in names if n in table.columns)}, but not {listed(lacking)}; a joint "
            "takes all of its numbers (of a ball or free joint, the quaternion w, x, y, z too)."
        )
    return np.stack([_unwrapped(table.columns[name], name in unwrap) for name in names], axis=1)
