"""A run on disk: one folder with everything about it.

config.toml      as it was given                posterior.nc    the result
resolved.json    all of it written out, with    checkpoint.npz  the run on its way
versions and the files' SHA    figures.png, log.txt
"""

import fcntl
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from plausim import __version__, checkpoints, results
from plausim.parameters import Parameters, place
from plausim.results import Posterior
from plausim.run import FILE as RESULT
from plausim.writing import replacing

from .building import Setup, build, choose_all, digest, read_model
from .problems import Problems, raised
from .reading import parse
from .schema import Config

FORMAT = 1
RESOLVED, GIVEN, LOG, FIGURES = "resolved.json", "config.toml", "log.txt", "figures.png"
PACKAGES = ("jax", "jaxlib", "numpy", "mujoco", "llvmlite", "optax", "scipy")


@contextmanager
def claim(setup: Setup, source: Path) -> Iterator[Callable[[str], None]]:
    """The folder of a run, made or found, with its journal; one that holds something else is refused."""
    folder = setup.directory
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; name a folder with --out, or as output.directory.")
    if _taken(folder):
        raise ValueError(f"{folder} is not empty, and holds no run; name a new folder, such as {folder / 'run'}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None
    with journal(folder) as note:
        if (folder / RESOLVED).exists():
            _same(folder, setup)
        try:
            with replacing(folder / RESOLVED) as temporary:
                temporary.write_text(json.dumps(_resolved(setup), indent=2))
            if source.resolve() != (folder / GIVEN).resolve():
                with replacing(folder / GIVEN) as temporary:
                    temporary.write_bytes(source.read_bytes())
        except OSError as error:
            raise _unwritable(folder, error) from None
        yield note


def _unwritable(folder: Path, error: OSError) -> OSError:
    return OSError(f"cannot write to {folder} ({error.strerror or error}); make room, or name another one with --out.")


def _taken(folder: Path) -> bool:
    """Whether there is something in it, other than a run, or a checkpoint, which says itself what it is of."""
    if not folder.exists():
        return False
    names = {entry.name for entry in folder.iterdir() if not entry.name.startswith(".")} - {LOG}
    return bool(names) and not names & {RESOLVED, checkpoints.FILE}


def _same(folder: Path, setup: Setup) -> None:
    """A run goes on under the config that it began with; one that has not got anywhere may begin under another."""
    then, now = identity(*_read(folder)[:2]), fingerprint(setup)
    changed = [f"{k} was {then.get(k, 'not given')}, is {now.get(k, 'not given')}" for k in then | now
               if then.get(k) != now.get(k)]  # fmt: skip
    if not changed:
        return
    if finished(folder) or reached(folder) != 0:
        raise ValueError(f"{folder} holds another run: {'; '.join(changed)}. Name another folder with --out.")
    (folder / checkpoints.FILE).unlink(missing_ok=True)


def fingerprint(setup: Setup) -> dict[str, Any]:
    """All that the numbers of a run depend on, flat and plain: for `infer`, which refuses to go on under another."""
    return identity(_plain(setup.config), setup.hashes)


def identity(config: Mapping[str, Any], hashes: Mapping[str, str]) -> dict[str, Any]:
    """Files are what is in them: they may move."""
    found = {k: v for k, v in _flat(config) if k.rpartition(".")[2] != "file" and not k.startswith("output.")}
    builtin = {} if "model" in hashes else {"model": config["model"]["file"]}
    return found | builtin | {f"SHA-256 of {what}": sha for what, sha in hashes.items()}


def _flat(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from _flat(value, f"{prefix}.{name}" if prefix else name)
    elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
        for i, value in enumerate(tree):
            yield from _flat(value, f"{prefix} {i + 1}")
    else:
        yield prefix, tree


def _plain(config: Config) -> dict[str, Any]:
    """The config as JSON has it, defaults and all; single shooting has no windows."""
    found = config.model_dump(mode="json", exclude_none=True)
    if config.likelihood.shooting == "single":
        for name in ("windows", "defect", "defect_sigma"):
            del found["likelihood"][name]
    return found


def _resolved(setup: Setup) -> dict[str, Any]:
    versions = {"plausim": __version__, "python": platform.python_version()}
    return {
        "format": FORMAT,
        "versions": versions | {name: version(name) for name in PACKAGES},
        "sha256": setup.hashes,
        "config": _plain(setup.config),
    }


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Config, hashes and versions of a run."""
    file = folder / RESOLVED
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}; `plausim run CONFIG` makes one.")
    if not file.is_file():
        raise FileNotFoundError(
            f"{folder} is no run, or a part of one: it has no {RESOLVED}. If it holds a checkpoint, "
            f"`plausim run CONFIG --out {folder}` with the run's config goes on from it."
        )
    try:
        found = json.loads(file.read_text())
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']}, where this plausim has {FORMAT}")
        return found["config"], found["sha256"], found["versions"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{file} cannot be read ({error}): it is of another version, or was changed. `plausim run CONFIG` in a new "
            "folder starts anew; nothing was touched in this one."
        ) from None


def reopen(directory: str | os.PathLike) -> Setup:
    """The setup of a run that was begun, from its folder; files that have changed since are refused."""
    folder = Path(directory)
    written, hashes, versions = _read(folder)
    try:
        config = parse(written, str(folder / RESOLVED))
    except ValueError as error:
        raise ValueError(
            f"{error}\nThe run is of plausim {versions.get('plausim')}, this is {__version__}. `plausim run CONFIG "
            "--out DIR` starts anew in another folder; nothing was touched in this one."
        ) from None
    config = config.model_copy(update={"output": config.output.model_copy(update={"directory": str(folder)})})
    setup = build(config, str(folder / RESOLVED))
    changed = [what for what in hashes if setup.hashes.get(what) != hashes[what]]
    if changed:
        files = {"model": config.model.file} | {f"recording {i + 1}": r.file for i, r in enumerate(config.recording)}
        listed = ", ".join(f"{files.get(what, what)} ({what})" for what in changed)
        raise ValueError(
            f"{listed} changed since this run began, which {folder} would not be of any more; put back what was there "
            "to go on, or start anew in another folder: `plausim run CONFIG --out DIR`."
        )
    return setup


def finished(folder: Path) -> bool:
    return (folder / RESULT).is_file()


def open_run(directory: str | os.PathLike) -> Posterior:
    """The posterior of a run that has ended, able to make `models`.

    Example:
        posterior = plausim.config.open_run("runs/arm")
        posterior.models(20, "models")

    """
    folder = Path(directory)
    if not finished(folder):
        _read(folder)
        iteration = reached(folder)
        so_far = "" if iteration is None else f", its last checkpoint is of iteration {iteration:,}"
        raise FileNotFoundError(f"the run in {folder} has not ended{so_far}; `plausim resume {folder}` goes on.")
    try:
        posterior = results.read(folder / RESULT)
    except (OSError, KeyError, RuntimeError) as error:
        raise ValueError(
            f"{folder / RESULT} cannot be read ({error}); delete it, and `plausim resume {folder}` writes it again."
        ) from None
    parameters = cache(lambda: _parameters(folder))
    return replace(posterior, model=lambda values: place(parameters(), values[: len(parameters().names)]))


def reached(folder: Path) -> int | None:
    """The iteration of the last checkpoint, 0 if there is none yet, None if it cannot be read."""
    file = folder / checkpoints.FILE
    if not file.is_file():
        return 0
    try:
        with open(file, "rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return int(json.loads(str(arrays["header"]))["iteration"])
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _parameters(folder: Path) -> Parameters:
    """The model of a run, and which of its numbers were in doubt."""
    written, hashes, _ = _read(folder)
    asked = {name: part for name, part in written.items() if name != "sampler"}  # a simulator is the same by any method
    config, problems = parse(asked, str(folder / RESOLVED)), Problems()
    model = read_model(config.model, problems)
    chosen = choose_all(config, model, problems) if model is not None else None
    if "model" in hashes and chosen is not None and digest(config.model.file) != hashes["model"]:
        problems.append(f"model.file: {config.model.file} has changed since the run; put back what was there")
    if problems or chosen is None:
        raise raised(str(folder), problems)
    return chosen


@contextmanager
def journal(folder: Path) -> Iterator[Callable[[str], None]]:
    """What happens is written to the log; who holds it is alone in the folder."""
    with open(folder / LOG, "ab", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"another plausim is at work in {folder}; wait for it, or stop it first.") from None

        for left in folder.glob(".*.tmp"):  # of one that was killed while it wrote
            left.unlink(missing_ok=True)

        def note(line: str) -> None:
            with suppress(OSError):  # a full disk must not end a run
                file.write(f"{datetime.now().isoformat(timespec='seconds')}  {line}\n".encode())

        yield note
