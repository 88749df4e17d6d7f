"""A table becomes a recording of a model: its columns are the model's channels and controls, at the model's steps."""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from plausim.mechanics.model import Model

from . import sampling
from .measuring import Measured, derivable, given, measured, moved, with_speeds
from .record import Recording, channels
from .states import Smoothing, at_times, states_of
from .tables import Table, advice, listed

GAP = 2.5  # intervals: what is further apart is a gap
SLOW = 20.0  # steps of the model from row to row: a log in seconds is seldom slower
MOST_STEPS = 20_000_000

Times = Float[np.ndarray, " times"]


def recording(
    model: Model,
    table: Table,
    sensors: Mapping[str, str | None] | None = None,
    controls: Mapping[str, str | float] | None = None,
    unwrap: Sequence[str] = (),
    velocities: str = "given",
    smooth: tuple[int, int] = (15, 4),
    start: str = "given",
    guess: Float[np.ndarray, " state"] | None = None,
    how: str = "linear",
    gap: float | None = None,
    name: str | None = None,
) -> Recording:
    """What a table says of a model's motion, at the model's steps from the table's first row on.

    Args:
        model: the robot; its timestep is the recording's.
        table: what was measured.
        sensors: for each channel (`channels(model)`) the column that holds it, or None where it was not measured; those
            not named are in the column of their own name.
        controls: for each actuator its column, or a number that it was held at; not named, the column of its own name.
        unwrap: the channels, or columns joint:NAME, that are angles which jump by full turns.
        velocities: "given", or "savgol" for those of joints without a column: slopes of the positions by the filter of
            Savitzky and Golay.
        smooth: of that filter, the window in rows of the table, and the order.
        start: the states. "given" takes the columns joint:NAME and jointvel:NAME and the sensors of joints, and
            estimates only what these leave open; "estimated" estimates all positions, by least squares.
        guess: a state near the first, where several positions would show the same.
        how: between the table's rows, "linear" or "cubic".
        gap: seconds between rows over which nothing is interpolated; 2.5 of the usual intervals, if not said.
        name: of the recording.

    """
    _choice("velocities", velocities, ("given", "savgol"))
    _choice("start", start, ("given", "estimated"))
    interval, step = _intervals(model, table)
    gap = GAP * max(interval, step) if gap is None else gap
    _warn_of_gaps(table, gap)
    span, smoother = float(table.time[-1] - table.time[0]), Smoothing(*smooth)
    at = table.time[0] + step * np.arange(int(span / step + sampling.SAME) + 1)
    even = table.time[0] + interval * np.arange(int(span / interval + 0.5) + 1)
    rows, made = _rows(model, table, sensors or {}, unwrap, velocities)
    evenly = with_speeds(model, moved(model, rows, even, how, gap), smoother, made)
    observed = _at_steps(model, rows, evenly, made, at, how, gap)
    joints = given(model, table, even, unwrap, how, gap)
    label, estimate = name or table.name, start == "estimated"
    states = states_of(model, evenly.values, evenly.known, interval, label, smoother, joints, estimate, guess)
    known = observed.known
    if interval > (1.0 + sampling.SAME) * step:
        known = known & sampling.measured(table.time, at)[:, None]
    held = _controls(model, table, controls or {}, at[:-1])
    there = at_times(model, states, interval, at - at[0])
    return Recording(label, channels(model), np.where(known, observed.values, 0.0), known, held, there, step)


def _choice(argument: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{argument} is {' or '.join(map(repr, choices))}, not {value!r}.")


def _intervals(model: Model, table: Table) -> tuple[float, float]:
    """Seconds from row to row, and from step to step, if the two can be brought together."""
    step = float(model.timestep)
    if len(table.time) < 2:
        raise ValueError(f"{table.name} has {len(table.time)} row; a motion takes two at the least.")
    interval, span = float(np.median(np.diff(table.time))), float(table.time[-1] - table.time[0])
    if span < step * (1.0 - sampling.SAME):
        raise ValueError(
            f"{table.name} lasts {span:g} s with its {len(table.time)} rows, less than one step of the model, {step:g} "
            "s; are its times in seconds?"
        )
    if span / step > MOST_STEPS:
        raise ValueError(
            f"{table.name} lasts {span:g} s, {span / step:.3g} steps of {step:g} s; are its times in seconds? If so, "
            "take a part (recordings.between) or a longer timestep."
        )
    if interval > SLOW * step:
        warnings.warn(
            f"{table.name} has a row every {interval:g} s, the model a step every {step:g} s: only one step in "
            f"{interval / step:.0f} is measured, and so compared. Are its times in seconds?",
            stacklevel=3,
        )
    return interval, step


def _warn_of_gaps(table: Table, gap: float) -> None:
    pauses = np.diff(table.time)
    if (pauses > gap).any():
        row = int(np.argmax(pauses))
        warnings.warn(
            f"{table.name} has {int((pauses > gap).sum())} gaps; the longest lasts {pauses[row]:g} s, after row "
            f"{row + 1} ({table.time[row]:g} s). Nothing counts as measured there, and controls are held. "
            "Longer pauses between rows are allowed by gap=seconds; motions apart should be tables of their own.",
            stacklevel=3,
        )


def _rows(
    model: Model, table: Table, sensors: Mapping[str, str | None], unwrap: Sequence[str], velocities: str
) -> tuple[Measured, list[str]]:
    """What was measured in each row, and the channels that have to be made of others."""
    may = derivable(model) if velocities == "savgol" else {}
    made = [c for c in may if sensors.get(c, c) is not None and sensors.get(c, c) not in table.columns]
    wrong = [c for c in made if c in sensors]
    if wrong:
        column = str(sensors[wrong[0]])
        raise ValueError(f"{table.name} has no column {column} for {wrong[0]}; {advice(column, table.columns)}")
    return measured(model, table, sensors, unwrap, made), made


def _at_steps(
    model: Model, rows: Measured, evenly: Measured, made: list[str], at: Times, how: str, gap: float
) -> Measured:
    """Measured channels out of the rows themselves, made ones from where they were made."""
    direct = moved(model, rows, at, how, gap)
    pause = 1.5 * float(evenly.time[1] - evenly.time[0])
    for i, channel in enumerate(channels(model)):
        if channel in made:
            direct.values[:, i], direct.known[:, i] = sampling.resample(
                evenly.time, evenly.values[:, i], evenly.known[:, i], at, how, pause
            )
    return direct


def _controls(
    model: Model, table: Table, given: Mapping[str, str | float], at: Times
) -> Float[np.ndarray, "steps controls"]:
    """What each actuator was told, held from row to row."""
    names = model.actuators.name
    for name in given:
        if name not in names:
            raise ValueError(f"controls names {name}, but the model has no such actuator; {advice(name, names)}")
    columns = {name: given.get(name, name) for name in names}
    lacking = [f"{n} (from {c})" for n, c in columns.items() if isinstance(c, str) and c not in table.columns]
    if lacking:
        raise ValueError(
            f"{table.name} has no columns for the actuators {listed(lacking)}; it has {listed(table.columns)}. Say "
            "which column is which (controls={actuator: column}), or a number that it was held at (0.0 if it was off)."
        )
    held = [_held(table, column, at) for column in columns.values()]
    return np.stack(held, axis=1) if held else np.zeros((len(at), 0))


def _held(table: Table, column: str | float, at: Times) -> Times:
    if not isinstance(column, str):
        return np.full(len(at), float(column))
    numbers = table.columns[column]
    if np.isnan(numbers).any():
        raise ValueError(
            f"{table.name}, row {int(np.argmax(np.isnan(numbers))) + 1}, column {column}: the control is missing; a "
            "simulation needs it at every step. Fill it in."
        )
    return sampling.hold(table.time, numbers, at)
