"""A run that is killed at any moment, and goes on, comes to the very numbers of one that was not."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

from . import swings

KILLS = 20
ITERATIONS = 3000
OFTEN = """
import plausim.run
plausim.run.SAVE_EVERY, plausim.run.BREATH = 0.0, 0.01  # checkpoints so close that kills fall into the writing, too
from plausim.cli import app
app()
"""


def begun(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OFTEN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def done(*arguments: str) -> str:
    process = begun(*arguments)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output


def contents(folder: Path) -> dict[str, np.ndarray]:
    """Every number of a result, by group and name."""
    with xarray.open_datatree(folder / "posterior.nc", engine="h5netcdf") as tree:
        tree.load()
        return {
            f"{node.path}/{name}": np.asarray(array) for node in tree.subtree for name, array in node.data_vars.items()
        }


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed(place: Path) -> None:
    file = swings.config(place, {"iterations = 30": f"iterations = {ITERATIONS}"})
    before = time.perf_counter()
    done("run", str(file), "--out", str(place / "whole"))
    duration = time.perf_counter() - before
    whole = contents(place / "whole")
    assert len(whole["/posterior/rod.mass"][0]) == 8 and len(whole["/history/gap"]) == ITERATIONS
    rng, left = np.random.default_rng(0), []
    for kill in range(KILLS):
        folder = place / f"killed{kill}"
        process = begun("run", str(file), "--out", str(folder))
        time.sleep(duration * (kill + rng.random()) / KILLS)
        process.kill()
        process.communicate()
        left.append(sorted(f.name for f in folder.glob("*")) if folder.is_dir() else [])
        again = (
            ["resume", str(folder)] if (folder / "resolved.json").exists() else ["run", str(file), "--out", str(folder)]
        )
        output = done(*again)
        found = contents(folder)
        assert found.keys() == whole.keys()
        different = [name for name in whole if whole[name].tobytes() != found[name].tobytes()]
        assert not different, (kill, left[-1], output, different)
        shutil.rmtree(folder)
    assert [] in left or ["log.txt"] in left  # some were killed before there was anything,
    assert any("checkpoint.npz" in names and "posterior.nc" not in names for names in left)  # some on the way
