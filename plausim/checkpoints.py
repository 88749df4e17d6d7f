"""A run on its way, in one file: it is there whole or not at all, and goes on from there to the very same numbers.

The file holds the sampler's state, the history so far, and a fingerprint of what was being run: another target, method,
seed or version would go on to something else, and is refused.
"""

import json
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from plausim.writing import replacing

FORMAT = 1
FILE = "checkpoint.npz"


class Checkpoint(NamedTuple):
    iteration: int
    state: Any  # the sampler's: a tree of arrays
    history: dict[str, np.ndarray]  # of the iterations so far
    trail: dict[int, np.ndarray]  # parameters on the way, by iteration
    seconds: float  # spent so far


def save(checkpoint: Checkpoint, fingerprint: dict[str, Any], folder: str | os.PathLike) -> None:
    leaves = jax.tree.leaves(checkpoint.state)
    header = {"format": FORMAT, "iteration": checkpoint.iteration, "seconds": checkpoint.seconds, "run": fingerprint}
    arrays: dict[str, Any] = {f"state/{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    arrays |= {f"history/{name}": numbers for name, numbers in checkpoint.history.items()}
    arrays |= {f"trail/{iteration}": points for iteration, points in checkpoint.trail.items()}
    with replacing(Path(folder) / FILE) as temporary, open(temporary, "wb") as file:
        np.savez(file, **arrays, header=np.array(json.dumps(header)))


def load(folder: str | os.PathLike, fingerprint: dict[str, Any], like: Any) -> Checkpoint | None:
    """The last checkpoint of a folder, with a state of the same structure as `like`; None where there is none."""
    file = Path(folder) / FILE
    if not file.exists():
        return None
    try:
        header, contents = _opened(file)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{file} is no checkpoint ({error}); delete it to start this run anew.") from None
    _same(file, header, fingerprint)
    leaves, structure = jax.tree.flatten(like)
    shapes = {name: array.shape for name, array in contents.items() if name.startswith("state/")}
    if shapes != {f"state/{i}": np.shape(leaf) for i, leaf in enumerate(leaves)}:
        raise ValueError(f"{file} holds another sampler's state; delete it to start this run anew.")
    kept = [_restored(contents[f"state/{i}"], leaf) for i, leaf in enumerate(leaves)]
    part = lambda kind: {k.removeprefix(kind): v for k, v in contents.items() if k.startswith(kind)}  # noqa: E731
    trail = {int(iteration): points for iteration, points in part("trail/").items()}
    return Checkpoint(
        header["iteration"], jax.tree.unflatten(structure, kept), part("history/"), trail, header["seconds"]
    )


def _opened(file: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What is in it: all of it is read, so that each checksum is looked at."""
    with open(file, "rb") as opened, np.lib.npyio.NpzFile(opened, allow_pickle=False) as arrays:
        contents = {name: arrays[name] for name in arrays.files}
    header = json.loads(str(contents.pop("header")))
    if header.get("format") == FORMAT and not {"iteration", "seconds", "run"} <= header.keys():
        raise ValueError("its header is not whole")
    return header, contents


def _restored(array: np.ndarray, like: Any) -> Any:
    return jax.numpy.asarray(array, like.dtype) if isinstance(like, jax.Array) else array


def _same(file: Path, header: dict[str, Any], fingerprint: dict[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise ValueError(f"{file} has format {header.get('format')}, this plausim writes {FORMAT}; start the run anew.")
    then, now = header["run"], json.loads(json.dumps(fingerprint))
    changed = [f"{key} was {then.get(key)}, is {now.get(key)}" for key in now | then if then.get(key) != now.get(key)]
    if changed:
        raise ValueError(
            f"{file} is of another run: {'; '.join(changed)}. Set that back to go on, or name an empty folder."
        )
