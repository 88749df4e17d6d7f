"""MuJoCo's compiler: its errors say which file they are of, its warnings are Python's, and it leaves no file behind."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import mujoco


class File(NamedTuple):
    spec: Any  # what is in it, as it is written
    compiled: Any  # and as it comes to
    source: str  # as MJCF


def compiled(read: Callable[[], Any], where: str) -> File:
    """A file that MuJoCo has understood."""
    with warnings.catch_warnings(record=True) as said, _no_log_file():
        warnings.simplefilter("always")
        try:
            spec = read()
        except ValueError as error:
            raise ValueError(f"{where} is not a model that MuJoCo can read: {_flat(error)}") from None
        try:
            file = File(spec, spec.compile(), spec.to_xml())
        except ValueError as error:
            raise ValueError(f"{where} does not compile: {_flat(error)}") from None
    for message in dict.fromkeys(_flat(warning.message) for warning in said):
        warnings.warn(f"{where}: {message}", stacklevel=4)
    return file


@contextmanager
def _no_log_file() -> Iterator[None]:
    """Or MuJoCo would note its warnings in the folder where one happens to be."""
    before, quiet = mujoco.MjLogConfig.get(), mujoco.MjLogConfig.get()
    quiet.logto_file = quiet.logto_console = False
    quiet.set()
    try:
        yield
    finally:
        before.set()


def _flat(message: Exception | str) -> str:
    return " ".join(str(message).split())
