"""Which columns of a recording's file are read, and whether they are what the model has."""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from plausim import recordings
from plausim.mechanics.model import Model
from plausim.recordings import channels
from plausim.recordings.files import FORMATS
from plausim.recordings.measuring import derivable

from . import schema
from .problems import Problems, key, shown

STATES = ("joint:", "jointvel:")  # columns that hold states themselves
WRITTEN = {  # what `recordings` calls its arguments, as a config has them
    'read it with missing="mask"': 'write missing = "mask" below [columns]',
    'read the file with missing="mask"': 'write missing = "mask" below [columns]',
    "(time=...)": '(time = "..." below [[recording]])',
    "(rate=...)": "(rate = ... below [[recording]])",
    "(guess=, a state)": "(guess = [...] below [columns], a state)",
    "choose columns": "name others below [columns.sensors]",
    "gap=seconds": "gap = seconds below [columns]",
    "(recordings.between)": "(seconds = [from, to] below [[recording]])",
}
UNWRAP = re.compile(r'say unwrap=\("(.*)",\)')


@contextmanager
def as_written() -> Iterator[None]:
    """Errors and warnings in here advise what to write into the config."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield
        except ValueError as error:
            raise ValueError(_as_written(str(error))) from None
    for warning in said:
        warnings.warn(_as_written(str(warning.message)), warning.category, stacklevel=3)


def _as_written(text: str) -> str:
    for argument, written in WRITTEN.items():
        text = text.replace(argument, written)
    return UNWRAP.sub(r'write unwrap = ["\1"] below [columns]', text)


def fitting(columns: schema.Columns, model: Model, problems: Problems) -> bool:
    """Whether the model has the channels and actuators that are named."""
    known = {"sensors": channels(model), "controls": model.actuators.name}
    before = len(problems)
    for table, what in (("sensors", "channel"), ("controls", "actuator")):
        for name in getattr(columns, table):
            if name not in known[table]:
                place = key(("columns", table, name))
                problems.append(
                    f"{place}: the model has no such {what}; {recordings.tables.advice(name, known[table])}"
                )
    return len(problems) == before


def needed(given: schema.Recording, columns: schema.Columns, model: Model) -> list[str]:
    """The columns of a file that are read: no others need to hold numbers."""
    file = Path(given.file)
    reader = FORMATS.get(file.suffix.lower())
    if reader is None:
        return []  # and reading it says why not
    there = reader(file).names
    sensors = {c: columns.sensors.get(c, c) for c in channels(model)}
    controls = {a: columns.controls.get(a, a) for a in model.actuators.name}
    makeable = derivable(model) if columns.velocities == "savgol" else {}
    missing = _missing("sensors", {c: s for c, s in sensors.items() if s and c not in makeable}, there)
    missing += _missing("controls", controls, there)
    if missing:
        hint = ""
        if any(c in derivable(model) for c in sensors if sensors[c] not in there):
            hint = '; velocities can be made of positions: velocities = "savgol" in [columns]'
        raise ValueError(f"{file.name} has the columns {recordings.tables.listed(there)}; {'; '.join(missing)}{hint}")
    mapped = [name for name in (*sensors.values(), *controls.values()) if isinstance(name, str) and name in there]
    return list(dict.fromkeys([*mapped, *(name for name in there if name.startswith(STATES))]))


def _missing(table: str, wanted: Mapping[str, str | float | bool], there: list[str]) -> list[str]:
    """What is to be written in the config where a column is not in the file."""
    other = "false if it was not measured" if table == "sensors" else "0.0 if it was off"
    return [
        f"not {shown(column)} for {key(('columns', table, name))}: write the name of its column, or {other}"
        for name, column in wanted.items()
        if isinstance(column, str) and column not in there
    ]
