"""A checkpoint comes back as it was, or is refused in words."""

import io
import json
import os
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from plausim import checkpoints
from plausim.checkpoints import Checkpoint

PRINTS = {"method": "svgd", "settings": {"rate": 0.1, "penalty": (1.0, 2.0)}, "seed": 3}
STATE = {"points": jnp.arange(6.0).reshape(3, 2), "count": jnp.asarray(7, jnp.int32), "outside": np.arange(3)}
HERE = Checkpoint(40, STATE, {"lost": np.arange(40.0)}, {0: np.zeros((3, 2)), 40: np.ones((3, 2))}, 1.5)


def test_it_comes_back_as_it_was(tmp_path: Path) -> None:
    assert checkpoints.load(tmp_path, PRINTS, STATE) is None
    checkpoints.save(HERE, PRINTS, tmp_path)
    found = checkpoints.load(tmp_path, PRINTS, STATE)
    assert found is not None and (found.iteration, found.seconds) == (40, 1.5)
    for name, array in STATE.items():
        assert found.state[name].dtype == array.dtype and type(found.state[name]) is type(array)
        np.testing.assert_array_equal(found.state[name], array)
    np.testing.assert_array_equal(found.history["lost"], HERE.history["lost"])
    assert found.trail.keys() == {0, 40}
    assert [p.name for p in tmp_path.iterdir()] == [checkpoints.FILE]


def rewritten(file: Path, **changes) -> None:
    """The checkpoint with some of its arrays changed, or left out."""
    with np.load(file) as arrays:
        contents = {name: arrays[name] for name in arrays.files} | changes
    np.savez(file, **{name: array for name, array in contents.items() if array is not None})


def header(file: Path, **changes) -> np.ndarray:
    with np.load(file) as arrays:
        return np.array(json.dumps(json.loads(str(arrays["header"])) | changes))


SPOILT = {
    "empty": (lambda file: file.write_bytes(b""), "is no checkpoint (.*); delete it to start this run anew."),
    "half": (lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]), "is no checkpoint"),
    "a byte": (lambda file: flipped(file), "is no checkpoint"),
    "text": (lambda file: file.write_text("hello"), "is no checkpoint"),
    "an array": (lambda file: file.write_bytes(npy()), "is no checkpoint"),
    "no header": (lambda file: rewritten(file, header=None), "is no checkpoint"),
    "half a header": (lambda file: rewritten(file, header=np.array("{}")), "has format None, this plausim writes 1"),
    "a header of a run": (
        lambda file: rewritten(file, header=np.array('{"format": 1}')), "is no checkpoint"),
    "another format": (
        lambda file: rewritten(file, header=header(file, format=2)), "has format 2, this plausim writes 1; start"),
    "a part of the state": (lambda file: rewritten(file, **{"state/1": None}), "holds another sampler's state; delete"),
    "another shape": (
        lambda file: rewritten(file, **{"state/2": np.zeros((4, 2))}), "holds another sampler's state; delete"),
    "other settings": (
        lambda file: rewritten(file, header=header(file, run={**PRINTS, "seed": 4})),
        "is of another run: seed was 4, is 3. Set that back"),
}  # fmt: skip


def npy() -> bytes:
    np.save(buffer := io.BytesIO(), np.zeros(3))
    return buffer.getvalue()


def flipped(file: Path) -> None:
    contents = bytearray(file.read_bytes())
    contents[contents.index(b"\x00\x00\x08\x40")] ^= 0xFF  # within a number: the checksum finds it
    file.write_bytes(contents)


@pytest.mark.parametrize("spoil, said", SPOILT.values(), ids=SPOILT.keys())
def test_what_is_no_checkpoint_of_this_run(spoil, said: str, tmp_path: Path) -> None:
    checkpoints.save(HERE, PRINTS, tmp_path)
    spoil(tmp_path / checkpoints.FILE)
    with pytest.raises(ValueError, match=said):
        checkpoints.load(tmp_path, PRINTS, STATE)


def test_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / checkpoints.FILE).mkdir()
    with pytest.raises(ValueError, match="is no checkpoint"):
        checkpoints.load(tmp_path, PRINTS, STATE)


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_a_disk_that_fills_up_leaves_the_last_one(moment: str, tmp_path: Path, monkeypatch) -> None:
    checkpoints.save(HERE, PRINTS, tmp_path)

    def full(*arguments, **others):
        raise OSError(28, "No space left on device")

    where = {"write": (np, "savez"), "fsync": (os, "fsync"), "replace": (os, "replace")}[moment]
    monkeypatch.setattr(*where, full)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(HERE._replace(iteration=80), PRINTS, tmp_path)
    monkeypatch.undo()
    found = checkpoints.load(tmp_path, PRINTS, STATE)
    assert found is not None and found.iteration == 40
    assert [p.name for p in tmp_path.iterdir()] == [checkpoints.FILE]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_disk_that_is_really_full() -> None:
    """As NumPy writes it: the error must come out, not a file of half a run."""
    with pytest.raises(OSError, match="No space left"), open("/dev/full", "wb") as file:
        np.savez(file, header=np.zeros(10_000))
