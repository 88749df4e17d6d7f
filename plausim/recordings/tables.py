"""Tables of numbers with named columns, out of .csv, .npz and .parquet files.

Every reader gives columns of floats, NaN where nothing stands; what is wrong with a number is said with file, row and
column. Rows are counted from 1, the first that holds numbers; of a CSV file the line is said, too.
"""

import difflib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from .files import FORMATS, Columns

TIMES = ("time", "t")
LARGEST = 1e100  # nothing measured is larger, and its square is still a number
Row = Float[np.ndarray, " rows"]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of numbers, each row at its time."""

    name: str
    time: Row  # s, increasing
    columns: dict[str, Float[np.ndarray, " _"]]  # NaN where nothing was measured

    def __post_init__(self) -> None:
        for name, column in {"time": self.time, **self.columns}.items():
            if len(column) != len(self.time):
                raise ValueError(f"{self.name}: column {name} has {len(column)} rows, the time has {len(self.time)}.")
            if np.isinf(column).any():
                row = int(np.argmax(np.isinf(column)))
                raise ValueError(
                    f"{self.name}, row {row + 1}, column {name}: the number is infinite; correct it, or leave it empty "
                    'and read the file with missing="mask".'
                )
        _check_time(self.name, self.time)

    def __repr__(self) -> str:
        span = f" in {self.time[-1] - self.time[0]:g} s" if len(self.time) else ""
        return f"Table({self.name}: {len(self.time)} rows{span}, {', '.join(self.columns)})"


def _check_time(name: str, time: Row) -> None:
    if np.isnan(time).any():
        raise ValueError(f"{name}, row {int(np.argmax(np.isnan(time))) + 1}: the time is missing; every row needs one.")
    interval = np.diff(time)
    if not (interval <= 0).any():
        return
    row = int(np.argmax(interval <= 0))
    if interval[row] == 0:
        same = int((interval == 0).sum())
        raise ValueError(
            f"{name}: rows {row + 1} and {row + 2} have the same time, {time[row]:.9g} s ({same} such pairs); "
            "drop the rows that are there twice, or give the rate of the recording instead of a time column."
        )
    raise ValueError(
        f"{name}: the time goes back from {time[row]:.9g} s in row {row + 1} to {time[row + 1]:.9g} s in row "
        f"{row + 2}; sort the rows, or make each motion a file of its own."
    )


def read(
    path: str | os.PathLike,
    columns: Sequence[str] | None = None,
    time: str | None = None,
    rate: float | None = None,
    missing: str = "error",
) -> Table:
    """Read a file of numbers: .csv with names in its first line, .npz with an array a column, .parquet.

    An array of an .npz file with two axes, `lid` say, gives the columns `lid.0`, `lid.1`, and so on.

    Args:
        path: the file.
        columns: those to read; all, if not said.
        time: the column with the time in seconds; if not said, the one that is called time or t.
        rate: rows a second, instead of a column.
        missing: "error", or "mask" if numbers may be missing (an empty cell, NaN): they stay so in the recording.

    """
    file = Path(path)
    if missing not in ("error", "mask"):
        raise ValueError(f'missing is "error" or "mask", not {missing!r}.')
    if not file.is_file():
        raise FileNotFoundError(f"there is no recording {file}; name a file that ends in {', '.join(FORMATS)}.")
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{file.name} ends in {file.suffix or 'nothing'}; recordings are {', '.join(FORMATS)} files.")
    if rate is not None and (time is not None or not 0 < rate < np.inf):
        raise ValueError(f"{file.name}: give either a time column or a rate above 0, not time={time!r}, rate={rate!r}.")
    found = FORMATS[file.suffix.lower()](file)
    stamp = None if rate is not None else _time_column(found, time)
    chosen = [name for name in found.names if name not in (stamp, *TIMES)] if columns is None else list(columns)
    numbers = {name: _numbers(found, name, missing) for name in _known(found, chosen)}
    if not found.rows:
        raise ValueError(f"{file.name} has no rows of numbers.")
    stamps = np.arange(found.rows) / rate if rate is not None else _numbers(found, str(stamp), "error")
    return Table(file.name, stamps, numbers)


def _time_column(found: Columns, time: str | None) -> str:
    if time is not None:
        return _known(found, [time])[0]
    for name in TIMES:
        if name in found.names:
            return name
    raise ValueError(
        f"{found.file} has no column called {' or '.join(TIMES)}; say which one holds the time in seconds (time=...), "
        f"or how many rows there are in a second (rate=...). It has {listed(found.names)}."
    )


def _known(found: Columns, names: list[str]) -> list[str]:
    """These names, each of which must be there, once."""
    for name in names:
        if found.names.count(name) > 1:
            raise ValueError(f"{found.file} has {found.names.count(name)} columns called {name}; rename all but one.")
        if name not in found.names:
            raise ValueError(f"{found.file} has no column {name}; {advice(name, found.names)}")
    return names


def _numbers(found: Columns, name: str, missing: str) -> Row:
    numbers = found.read(name)
    beyond = np.abs(numbers) > LARGEST
    for what, bad in (("infinite", np.isinf(numbers)), (f"beyond {LARGEST:g}", beyond), ("missing", np.isnan(numbers))):
        if bad.any() and (what, missing) != ("missing", "mask"):
            row = int(np.argmax(bad))
            others = f", the first of {bad.sum()} such rows," if bad.sum() > 1 else ""
            allow = ', or read it with missing="mask": then it counts as not measured' if what == "missing" else ""
            raise ValueError(
                f"{found.where(row)}, column {name}: the number{others} is {what}; correct the file{allow}."
            )
    return numbers


def between(table: Table, begin: float, end: float) -> Table:
    """The rows with times from begin to end, both included."""
    chosen = (table.time >= begin) & (table.time <= end)
    if not chosen.any():
        first, last = table.time[[0, -1]]
        raise ValueError(f"{table.name} goes from {first:g} to {last:g} s; no row is between {begin:g} and {end:g}.")
    return replace(
        table, time=table.time[chosen], columns={name: column[chosen] for name, column in table.columns.items()}
    )


def advice(name: str, known: Iterable[str]) -> str:
    """Which names are near to one that is not there."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {listed(known)}."


def listed(names: Iterable[str], most: int = 12) -> str:
    names = list(names)
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + rest
