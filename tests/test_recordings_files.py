"""Files become tables, and what is wrong with one is said with its file, row and column."""

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from plausim import recordings
from plausim.recordings import tables

TIME = np.array([0.0, 0.01, 0.02, 0.03])
ANGLE = np.array([0.1, -0.2, 0.3, 1e-17])


def write_csv(path: Path, columns: dict[str, np.ndarray]) -> None:
    lines = [",".join(columns)]
    lines += [",".join(repr(float(number)) for number in row) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")


def write_npz(path: Path, columns: dict[str, np.ndarray]) -> None:
    np.savez(path, **columns)  # pyright: ignore[reportArgumentType]


def write_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


WRITERS = {".csv": write_csv, ".npz": write_npz, ".parquet": write_parquet}
kinds = pytest.mark.parametrize("kind", WRITERS)


@kinds
@given(numbers=arrays.arrays(float, (7, 2), elements=st.floats(-tables.LARGEST, tables.LARGEST)))
def test_every_number_comes_back_as_it_was(kind: str, numbers: np.ndarray, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("round") / f"log{kind}"
    time = np.arange(7) / 3.0
    WRITERS[kind](path, {"time": time, "a": numbers[:, 0], "b": numbers[:, 1]})
    table = recordings.read(path)
    assert list(table.columns) == ["a", "b"]
    np.testing.assert_array_equal(table.time, time)
    np.testing.assert_array_equal(np.stack(list(table.columns.values()), axis=1), numbers)


@kinds
@pytest.mark.parametrize("bad, what", [(np.nan, "missing"), (np.inf, "infinite"), (-np.inf, "infinite")])
def test_a_number_that_is_none_is_said_with_file_row_and_column(
    kind: str, bad: float, what: str, tmp_path: Path
) -> None:
    angle = ANGLE.copy()
    angle[2] = bad
    path = tmp_path / f"log{kind}"
    WRITERS[kind](path, {"time": TIME, "other": TIME, "angle": angle})
    with pytest.raises(ValueError, match=rf"log\{kind}, row 3.*, column angle: the number is {what}"):
        recordings.read(path)
    if what == "missing":
        with pytest.raises(ValueError, match='missing="mask"'):
            recordings.read(path)
        column = recordings.read(path, missing="mask").columns["angle"]
        np.testing.assert_array_equal(np.isnan(column), [False, False, True, False])
    else:
        with pytest.raises(ValueError, match="infinite"):
            recordings.read(path, missing="mask")
    assert list(recordings.read(path, columns=["other"]).columns) == ["other"]  # what is not read may be broken


@kinds
def test_time_by_rate_by_name_and_missing(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{kind}"
    WRITERS[kind](path, {"stamp": TIME, "angle": ANGLE})
    np.testing.assert_allclose(recordings.read(path, rate=50.0, columns=["angle"]).time, [0.0, 0.02, 0.04, 0.06])
    np.testing.assert_array_equal(recordings.read(path, time="stamp").time, TIME)
    with pytest.raises(ValueError, match=r"no column called time or t.*time=.*rate=.*stamp, angle"):
        recordings.read(path)
    with pytest.raises(ValueError, match=r"no column angel; did you mean angle\?"):
        recordings.read(path, rate=50.0, columns=["angel"])
    with pytest.raises(ValueError, match="either a time column or a rate"):
        recordings.read(path, rate=50.0, time="stamp")
    with pytest.raises(ValueError, match="rate=0"):
        recordings.read(path, rate=0.0)


@kinds
@pytest.mark.parametrize(
    "time, message",
    [
        ([0.0, 0.01, 0.01, 0.03], r"rows 2 and 3 have the same time, 0.01 s \(1 such pairs\)"),
        ([0.0, 0.02, 0.01, 0.03], r"goes back from 0.02 s in row 2 to 0.01 s in row 3"),
        ([0.0, np.nan, 0.01, 0.03], r"row 2.*column time: the number is missing"),
    ],
)
def test_time_must_go_on(kind: str, time: list[float], message: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{kind}"
    WRITERS[kind](path, {"time": np.array(time), "angle": ANGLE})
    with pytest.raises(ValueError, match=message):
        recordings.read(path)


CSV = {
    "text": ("t,angle\n0,1\n1,fast\n", r"row 2 \(line 3\), column angle: 'fast' is not a number"),
    "decimal comma": ("t;angle\n0;1\n1;2,5\n", r"row 2 .*column angle: '2,5' is not a number; write a point"),
    "underscore": ("t,angle\n0,1\n1,1_000\n", r"row 2 .*column angle: '1_000' is not a number"),
    "ragged": ("t,angle\n0,1\n1\n", r"row 2 \(line 3\): there are 1 cells, but 2 columns \(t, angle\)"),
    "no header": ("0,1\n1,2\n", "begins with numbers; its first line must hold the names"),
    "empty": ("", "is empty; its first line must hold the names"),
    "empty line": ("\nt,angle\n0,1\n", "begins with an empty line"),
    "spaces": ("t angle\n0 1\n1 2\n", "are divided by spaces; divide them by commas"),
    "huge": ("t,angle\n0,1\n1,1e101\n", r"row 2 \(line 3\), column angle: the number is beyond 1e\+100"),
    "header only": ("t,angle\n", "no rows of numbers"),
    "twice": ("t,angle,angle\n0,1,2\n", "2 columns called angle; rename"),
    "several missing": ("t,angle\n0,\n1,NA\n", r"row 1 .*first of 2 such rows, is missing"),
}


@pytest.mark.parametrize("text, message", CSV.values(), ids=CSV.keys())
def test_a_broken_csv_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"log\.csv.*" + message):
        recordings.read(path)


@pytest.mark.parametrize(
    "text",
    [
        "t,angle\n0,1\n1,2\n",
        "\ufefft,angle\r\n0,1\r\n1,2\r\n",
        "# t, angle\n0, 1\n1, 2\n\n",
        "t;angle\n0;1\n1;2\n",
        "t\tangle\n0\t1\n1\t2",
        '"t","angle"\n"0","1"\n"1","2"\n',
    ],
    ids=["plain", "spreadsheet", "savetxt", "semicolon", "tab", "quoted"],
)
def test_csv_as_programs_write_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode())
    table = recordings.read(path)
    np.testing.assert_array_equal(table.time, [0.0, 1.0])
    np.testing.assert_array_equal(table.columns["angle"], [1.0, 2.0])


@kinds
def test_a_file_that_is_none_of_its_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"log{kind}"
    with pytest.raises(FileNotFoundError, match=rf"no recording .*log\{kind}"):
        recordings.read(path)
    path.write_bytes(b"\x00\xff\xfe garbage \x80")
    with pytest.raises(ValueError, match=rf"log\{kind}"):
        recordings.read(path)
    other = tmp_path / "log.mat"
    other.touch()
    with pytest.raises(ValueError, match=r"log\.mat ends in \.mat; recordings are \.csv, \.npz, \.parquet"):
        recordings.read(other)


def test_arrays_of_two_axes_are_columns_with_numbers(tmp_path: Path) -> None:
    place = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "log.npz", t=TIME, lid=place, label=np.array("a text"))
    table = recordings.read(tmp_path / "log.npz")
    np.testing.assert_array_equal(np.stack([table.columns[f"lid.{i}"] for i in range(3)], axis=1), place)
    np.savez(tmp_path / "log.npz", t=TIME, angle=ANGLE[:3])
    with pytest.raises(ValueError, match="column angle has 3 rows, the time has 4"):
        recordings.read(tmp_path / "log.npz")
    np.savez(tmp_path / "log.npz", t=TIME, note=np.array(list("abcd")))
    with pytest.raises(ValueError, match="column note: holds <U1, not real numbers"):
        recordings.read(tmp_path / "log.npz")
    np.savez(tmp_path / "log.npz", t=TIME, note=np.array([{}, 1, 2, 3], dtype=object))
    with pytest.raises(ValueError, match=r"log\.npz is not an \.npz file of plain arrays"):
        recordings.read(tmp_path / "log.npz")


def test_parquet_dates_integers_and_nulls(tmp_path: Path) -> None:
    stamps = np.datetime64("2024-05-01T12:00:00", "ns") + np.array([0, 10, 20, 30]) * np.timedelta64(1_000_000, "ns")
    columns = {"time": stamps, "count": [1, None, 3, 4], "ok": [True, False, True, True], "label": list("abcd")}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    table = recordings.read(tmp_path / "log.parquet", ["count", "ok"], missing="mask")
    np.testing.assert_allclose(table.time, TIME, atol=1e-15)
    np.testing.assert_array_equal(table.columns["count"], [1.0, np.nan, 3.0, 4.0])
    np.testing.assert_array_equal(table.columns["ok"], [1.0, 0.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="column label: holds string, not numbers"):
        recordings.read(tmp_path / "log.parquet", ["label"])


def test_a_table_made_by_hand_is_checked_too() -> None:
    with pytest.raises(ValueError, match=r"hand, row 2, column angle: the number is infinite"):
        recordings.Table("hand", TIME, {"angle": np.array([0.0, np.inf, 0.0, 0.0])})
    with pytest.raises(ValueError, match=r"hand, row 4: the time is missing"):
        recordings.Table("hand", np.array([0.0, 1.0, 2.0, np.nan]), {})


def test_rows_between_two_times() -> None:
    table = recordings.between(recordings.Table("hand", TIME, {"angle": ANGLE}), 0.01, 0.02)
    np.testing.assert_array_equal(table.columns["angle"], ANGLE[1:3])
    with pytest.raises(ValueError, match=r"goes from 0\.01 to 0\.02 s; no row is between 1 and 2"):
        recordings.between(table, 1.0, 2.0)
