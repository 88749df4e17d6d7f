"""What may be missing: optional packages, and gcc, which compiles the C sources here for this very processor."""

import ctypes
import functools
import importlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC")


class Unavailable(Exception):
    """A contender that cannot run here; the message says why."""


def optional(module: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


@functools.cache
def build_folder() -> tempfile.TemporaryDirectory:
    """One folder for all libraries of this process, removed when it ends."""
    return tempfile.TemporaryDirectory(prefix="benchmarks-")


def gcc_version() -> str:
    """Its first line about itself, or "missing"."""
    if shutil.which("gcc") is None:
        return "missing"
    return subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


@functools.cache
def load(source: str, *options: str) -> ctypes.CDLL:
    """The shared library of a C file in this folder."""
    if shutil.which("gcc") is None:
        raise Unavailable("no gcc on this machine")
    library = Path(build_folder().name) / f"{Path(source).stem}-{abs(hash(options)):x}.so"
    command = ["gcc", *FLAGS, *options, str(FOLDER / source), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"gcc refused {source}: {done.stderr.strip().splitlines()[-1]}")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # idle threads must not disturb who is timed next
    return ctypes.CDLL(str(library))
