"""Compiled kernels on disk: bytes by a content key, in one folder that may be deleted at any time.

    load(key) -> bytes | None       None: never stored, or damaged, so build it again
    store(key, contents)            never fails; a disk that does not take it costs one warning per process

The folder is `PLAUSIM_CACHE_DIR` if that is set, otherwise "plausim" in the user's cache folder. `PLAUSIM_CACHE_DIR`
set to nothing, "0" or "off" switches the disk cache off. It is read at every call, so a test may change it.

Entries are written under a temporary name and renamed into place, which is atomic: a reader sees a whole file or none,
and of two processes that store the same key the last one wins, with the same contents. Every file starts with a magic
and a checksum of its contents, so that whatever a crash or a foreign program left behind reads as None.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

_MAGIC = b"plausim1"
_SUFFIX = ".kernel"
_LIMIT = 512 * 2**20  # bytes in the folder before the oldest entries go
_ABANDONED = 3600  # seconds after which a temporary file belongs to a process that died
_warned = False


def folder() -> Path | None:
    """Where entries are kept; None if the disk cache is switched off."""
    chosen = os.environ.get("PLAUSIM_CACHE_DIR")
    if chosen is None:
        base = _user_cache()
        return base and base / "plausim"
    return None if chosen.strip().lower() in ("", "0", "off") else Path(os.path.expanduser(chosen))


def load(key: str) -> bytes | None:
    """The contents stored under `key`, checked; None if there are none."""
    home = folder()
    if home is None:
        return None
    path = home / (key + _SUFFIX)
    try:
        data = path.read_bytes()
    except OSError:
        return None  # not there, or not readable: either way it is compiled again, and `store` tells what is wrong
    contents = data[len(_MAGIC) + 32 :]
    if data != _sealed(contents):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # so that the oldest entry is the one not used for longest
    return contents


def store(key: str, contents: bytes) -> None:
    """Keep `contents` for other processes, if the disk takes it."""
    home = folder()
    if home is None:
        return
    temporary = None
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=home, prefix=key[:16], suffix=".tmp", delete=False) as file:
            temporary = file.name
            file.write(_sealed(contents))
        os.replace(temporary, home / (key + _SUFFIX))
    except OSError as error:
        _warn(home, error)
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return
    _trim(home)


def _sealed(contents: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(contents).digest() + contents


def _user_cache() -> Path | None:
    """The platform's folder for caches; None for a user without a home (code from a shared /tmp is not to be run)."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    return None if base.startswith("~") else Path(base)


def _trim(home: Path) -> None:
    """Drop the entries not used for longest, down to half the limit, and what writers that died left behind.

    Costs one listing of the folder for each kernel that was compiled, which took far longer.
    """
    with contextlib.suppress(OSError):
        files = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(home))
        entries = [file for file in files if file[2].endswith(_SUFFIX)]
        doomed = [path for age, _, path in files if path.endswith(".tmp") and age < time.time() - _ABANDONED]
        total = sum(size for _, size, _ in entries)
        target = _LIMIT // 2 if total > _LIMIT else _LIMIT
        for _, size, path in entries:
            if total <= target:
                break
            doomed.append(path)
            total -= size
        for path in doomed:
            with contextlib.suppress(OSError):  # another process was faster, or reads it just now (Windows)
                os.unlink(path)


def _warn(home: Path, error: OSError) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"Compiled kernels are not kept on disk, so every process compiles its own: {home}: {error}. Set "
            f'PLAUSIM_CACHE_DIR to a folder that can be written to (or to "off", to say that this is all right).',
            RuntimeWarning,
            stacklevel=3,
        )
