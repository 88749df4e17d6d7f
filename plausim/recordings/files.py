"""The kinds of file that recordings come in: one table, `FORMATS`. Each reader gives `Columns`."""

import csv
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

EMPTY = {"", "na", "n/a", "nan", "null", "none"}  # what stands in a cell where nothing was measured
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Columns(NamedTuple):
    """What is in a file; a column is turned into numbers when it is asked for."""

    file: str
    names: list[str]
    rows: int
    read: Callable[[str], Float[np.ndarray, " rows"]]
    where: Callable[[int], str]  # in words, a row counted from 0


def read_csv(file: Path) -> Columns:
    """Names in the first line; the columns divided by commas, semicolons or tabs."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name} is not a text file in UTF-8 (byte {error.start}); save it as such.") from None
    first = text.partition("\n")[0]
    if not first.strip():
        what = "begins with an empty line" if text.strip() else "is empty"
        raise ValueError(f"{file.name} {what}; its first line must hold the names of the columns.")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    names = [name.strip() for name in next(reader)]
    names[0] = names[0].removeprefix("#").strip()  # as np.savetxt writes it
    if all(_is_number(name) for name in names):
        raise ValueError(f"{file.name} begins with numbers; its first line must hold the names of the columns.")
    rows, numbered = [], []
    for cells in reader:
        if not any(cell.strip() for cell in cells) and len(names) > 1:
            continue
        if len(cells) != len(names):
            raise ValueError(
                f"{file.name}, row {len(rows) + 1} (line {reader.line_num}): there are {len(cells)} cells, but "
                f"{len(names)} columns ({', '.join(names)})."
            )
        rows.append(cells)
        numbered.append(reader.line_num)
    if rows and len(names) == 1 and len(names[0].split()) == len(rows[0][0].split()) > 1:
        raise ValueError(
            f"the columns of {file.name} are divided by spaces; divide them by commas, semicolons or tabs."
        )

    def where(row: int) -> str:
        return f"{file.name}, row {row + 1} (line {numbered[row]})"

    def column(name: str) -> Float[np.ndarray, " rows"]:
        place = names.index(name)
        return np.array([_number(cells[place], row, name, where) for row, cells in enumerate(rows)], float)

    return Columns(file.name, names, len(rows), column, where)


def _number(cell: str, row: int, name: str, where: Callable[[int], str]) -> float:
    try:
        if "_" in cell:  # Python would read 1_000
            raise ValueError
        return float(cell)
    except ValueError:
        if cell.strip().lower() in EMPTY:
            return np.nan
        comma = "; write a point before decimals" if _is_number(cell.replace(",", ".")) else ""
        raise ValueError(
            f"{where(row)}, column {name}: {cell!r} is not a number"
            f"{comma or '; correct it, or do not read this column'}."
        ) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_npz(file: Path) -> Columns:
    """Arrays by name: of one axis a column, of two axes (rows first) columns called name.0, name.1, ..."""
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{file.name} is not an .npz file of plain arrays that NumPy can read: {error}") from None
    columns = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            columns[name] = array
        elif array.ndim == 2:
            columns |= {f"{name}.{i}": column for i, column in enumerate(array.T)}

    def column(name: str) -> Float[np.ndarray, " rows"]:
        if columns[name].dtype.kind not in "fiub":
            raise ValueError(
                f"{file.name}, column {name}: holds {columns[name].dtype}, not real numbers; choose columns."
            )
        return columns[name].astype(float)

    where = lambda row: f"{file.name}, row {row + 1}"  # noqa: E731
    return Columns(file.name, list(columns), max(map(len, columns.values()), default=0), column, where)


def read_parquet(file: Path) -> Columns:
    """Columns of numbers; times that are dates or durations become seconds from the first row."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"to read {file.name}, install pyarrow: pip install 'plausim[parquet]'; or save it as .csv or .npz."
        ) from None
    try:
        table = pyarrow.parquet.read_table(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{file.name} is not a Parquet file that can be read: {error}") from None

    def column(name: str) -> Float[np.ndarray, " rows"]:
        return _from_arrow(file.name, name, table.column(table.column_names.index(name)))

    return Columns(file.name, table.column_names, table.num_rows, column, lambda row: f"{file.name}, row {row + 1}")


def _from_arrow(file: str, name: str, column: Any) -> Float[np.ndarray, " rows"]:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind):
        ticks, empty = column.cast(pyarrow.int64()).fill_null(0).to_numpy(), column.is_null().to_numpy()
        return np.where(empty, np.nan, SECONDS[kind.unit] * (ticks - ticks[:1]))  # whole ticks are exact, large or not
    number = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_boolean(kind)
    if not (number or pyarrow.types.is_decimal(kind)):
        raise ValueError(f"{file}, column {name}: holds {kind}, not numbers; choose columns.")
    return column.cast(pyarrow.float64(), safe=False).to_numpy().astype(float)


FORMATS: dict[str, Callable[[Path], Columns]] = {".csv": read_csv, ".npz": read_npz, ".parquet": read_parquet}
