"""The disk cache gives back what was stored, or nothing; whatever else lies in its folder."""

import os
import subprocess
import sys
import warnings

import pytest

from plausim.fuse import cache

KEY, CONTENTS = "0123abcd", bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PLAUSIM_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path / "kernels"


def entry(home):
    (path,) = home.iterdir()
    return path


def test_gives_back_what_was_stored(home):
    assert cache.load(KEY) is None
    cache.store(KEY, CONTENTS)
    assert cache.load(KEY) == CONTENTS
    assert cache.load("another") is None
    assert entry(home).suffix == ".kernel"  # no temporary file is left


def flipped(data):
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


DAMAGES = {
    "empty": lambda data: b"",
    "truncated": lambda data: data[:-1],
    "only the magic": lambda data: data[:8],
    "one bit": flipped,
    "longer": lambda data: data + b"x",
    "foreign": lambda data: b"\x7fELF" + data[4:],
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_ignores_and_replaces_a_damaged_file(home, damage):
    cache.store(KEY, CONTENTS)
    path = entry(home)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load(KEY) is None
    cache.store(KEY, CONTENTS)
    assert cache.load(KEY) == CONTENTS


def test_a_folder_that_cannot_be_made_costs_one_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PLAUSIM_CACHE_DIR", str(tmp_path / "file" / "kernels"))
    with pytest.warns(RuntimeWarning, match="PLAUSIM_CACHE_DIR"):
        cache.store(KEY, CONTENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.store(KEY, CONTENTS)
        assert cache.load(KEY) is None


def test_a_failed_rename_costs_one_warning_and_leaves_no_rubbish(home, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.store(KEY, CONTENTS)
    assert list(home.iterdir()) == []


def test_a_disk_that_ends_within_the_file_costs_one_warning_and_leaves_no_rubbish(home):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(CONTENTS) // 2, hard))
    try:
        with pytest.warns(RuntimeWarning, match="PLAUSIM_CACHE_DIR"):
            cache.store(KEY, CONTENTS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("word", ["", "0", "off", "OFF"])
def test_can_be_switched_off(monkeypatch, word):
    monkeypatch.setenv("PLAUSIM_CACHE_DIR", word)
    cache.store(KEY, CONTENTS)
    assert cache.folder() is None and cache.load(KEY) is None


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is the way of Linux")
def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("PLAUSIM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "plausim"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "plausim"


def test_drops_what_was_not_used_for_longest(home, monkeypatch):
    monkeypatch.setattr(cache, "_LIMIT", 5 * len(CONTENTS))
    for age in range(4):
        cache.store(f"{age}", CONTENTS)
        os.utime(home / f"{age}.kernel", (1e9 - age, 1e9 - age))  # "3" is the oldest
    assert cache.load("3") == CONTENTS  # and now the newest
    (home / "mine.txt").write_text("not an entry")
    cache.store("4", CONTENTS)
    kept = {path.stem for path in home.glob("*.kernel")}
    assert kept == {"3", "4"}
    assert (home / "mine.txt").exists()


def test_removes_what_a_killed_writer_left(home):
    home.mkdir()
    for name, when in {"old.tmp": 1e9, "new.tmp": None}.items():
        (home / name).write_bytes(b"half")
        os.utime(home / name, when and (when, when))
    cache.store(KEY, CONTENTS)
    assert not (home / "old.tmp").exists() and (home / "new.tmp").exists()


def test_two_processes_at_once(home):
    """Both write and read one key: nobody ever reads anything but the whole contents."""
    program = (
        "import sys; from plausim.fuse import cache\n"
        "contents = bytes(range(256)) * 1000\n"
        "for _ in range(40):\n"
        f"    cache.store('{KEY}', contents)\n"
        f"    assert cache.load('{KEY}') == contents\n"
    )
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", program]) for _ in range(2)]
    assert [process.wait(120) for process in running] == [0] * 2
    assert len(list(home.iterdir())) == 1
