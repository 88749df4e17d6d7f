"""Runs as files: a config says what is to be inferred, and a folder holds what came of it.

load(path)       -> Setup       a config, checked whole against its model and its recordings
reopen(folder)   -> Setup       the same of a run that was begun
open_run(folder) -> Posterior   of one that has ended
"""

import os
from pathlib import Path

from .building import Setup, absolute, build
from .folders import FIGURES, claim, fingerprint, finished, journal, open_run, reached, reopen
from .reading import read
from .schema import Output
from .starting import starting

__all__ = [
    "FIGURES", "Setup", "claim", "fingerprint", "finished", "journal", "load", "open_run", "reached", "reopen",
    "starting",
]  # fmt: skip


def load(path: str | os.PathLike, out: str | os.PathLike | None = None, seed: int | None = None) -> Setup:
    """The setup that a config describes; all that is wrong with it, or with its files, is one error.

    Args:
        path: the config, see docs/configuration.md; paths in it are relative to where it is.
        out: the run's folder, instead of the one in the config.
        seed: of all random numbers, instead of the one in the config.

    Example:
        setup = plausim.config.load("arm.toml")
        posterior = plausim.infer(setup.target, setup.method, particles=setup.particles, iterations=setup.iterations)

    """
    file = Path(path)
    config = absolute(read(file), file)
    if out is not None:
        config = config.model_copy(update={"output": Output(directory=str(out))})
    if seed is not None:
        config = config.model_copy(update={"sampler": config.sampler.model_copy(update={"seed": seed})})
    return build(config, str(file))
