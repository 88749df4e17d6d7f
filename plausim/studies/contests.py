"""Methods run against each other: each is kept by itself and gone on with, and one that fails does not stop the rest.

An entry is a row of the tables to come. It has as many iterations as it can pay for out of the simulations that all
have alike, unless it says how many, since its iterations cost more than one for each particle.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from plausim import __version__, results
from plausim.results import Posterior
from plausim.run import FILE, infer
from plausim.samplers import Method
from plausim.target import Target

from .outcome import Tell, heard


class Entry(NamedTuple):
    label: str  # of its folder, and of its row
    method: Callable[[], Method]  # made when it runs: a library may be missing
    shooting: str = "single"
    particles: int = 100
    iterations: int | None = None  # all that it can pay for, at one simulation each, if not said


class Failed(NamedTuple):
    """Why an entry has no posterior."""

    reason: str


def entered(
    entry: Entry, target: Target, budget: int, draws: int, seed: int, folder: Path, tell: Tell
) -> Posterior | Failed:
    """The entry's posterior: run, gone on with, or read, if it has ended."""
    try:
        method = entry.method()
        found = ended(folder, entry, method, target, seed)
        if found is None:
            iterations = entry.iterations or max(1, budget // entry.particles)
            tell(f"{folder.name}: {entry.particles:,} particles, {iterations:,} iterations")
            found = infer(
                target, method, particles=entry.particles, iterations=iterations, draws=draws, seed=seed,
                directory=folder, progress=heard(tell),
            )  # fmt: skip
            tell(f"{folder.name}: {found.attributes['seconds']:.1f} s")
    except Exception as error:
        tell(f"{folder.name} failed: {error}")
        return Failed(str(error))
    return found


def ended(folder: Path, entry: Entry, method: Method, target: Target, seed: int) -> Posterior | None:
    """What is in the folder, if it is of this entry as it is now."""
    if not (folder / FILE).is_file():
        return None
    found = results.read(folder / FILE)
    now = {
        "plausim": __version__, "method": method.name, "settings": str(method.settings), "particles": entry.particles,
        "seed": seed, "dimensions": target.dimensions, "names": str(list(target.names[: target.parameters])),
    }  # fmt: skip
    if entry.iterations is not None:
        now["iterations"] = entry.iterations
    changed = [f"{name} was {found.attributes.get(name)}, is {new}" for name, new in now.items()
               if found.attributes.get(name) != new]  # fmt: skip
    if changed:
        raise ValueError(f"{folder} holds another run: {'; '.join(changed)}. Name another folder with --out.")
    return found


def scattered(target: Target, seed: int) -> Target:
    """The same with starts of this seed: 0 is the paper's, Sobol's points as they are; others are scrambled."""
    if seed == 0:
        return target
    from scipy.stats import qmc

    def starts(count: int) -> np.ndarray:
        points = np.array(target.starts(count))
        unit = qmc.Sobol(target.parameters, scramble=True, rng=seed).random_base2((count - 1).bit_length())[:count]
        points[:, : target.parameters] = unit
        return points

    return replace(target, starts=starts)
