"""One process that infers: its time from import to saved result, or the time of an iteration. Its last line is JSON.

    python -m benchmarks.inference_run whole --iterations 2000
    python -m benchmarks.inference_run iteration --scan lax

The double pendulum of the paper with its 11 parameters in doubt, a simulated recording of 400 steps, 10 windows.
"""

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import typer

from plausim import fuse, mechanics
from plausim.parameters import choose, parameter
from plausim.recordings import Recording, simulated
from plausim.run import infer
from plausim.samplers import csvgd
from plausim.shooting import multiple
from plausim.systems import System, system
from plausim.target import Evaluation, Target

STEPS, WINDOWS, PARTICLES = 400, 10, 100
ROUNDS = 6
START = np.array([2.0, 0.5, 0.0, 0.0])
NOISE = {"angle1": 0.01, "angle2": 0.01, "rate1": 0.05, "rate2": 0.05}
LIMITS = {  # tab:params-ibm-pendulum, about the robot that comes along
    "link1.mass": (0.05, 0.5), "link1.inertia.xx": (1e-4, 2e-3), "link1.com.y": (-0.05, 0.05),
    "link1.com.z": (-0.15, 0.0), "shoulder.damping": (0.0, 5e-3), "link2.mass": (0.05, 0.5),
    "link2.inertia.xx": (5e-5, 1e-3), "link2.com.y": (-0.05, 0.05), "link2.com.z": (-0.15, 0.0),
    "elbow.damping": (0.0, 5e-3), "link2.pos.z": (-0.3, -0.08),
}  # fmt: skip
SCANS = {"fuse": fuse.scan, "lax": jax.lax.scan}


class What(StrEnum):
    whole = "whole"
    iteration = "iteration"


def posed() -> tuple[System, list[Recording]]:
    model = mechanics.robot("double-pendulum")
    chosen = choose(model, [parameter(path, *ends) for path, ends in LIMITS.items()])
    return system(chosen), [simulated(model, START, steps=STEPS, noise=NOISE)]


def whole(target: Target, iterations: int) -> dict[str, float]:
    """To the saved result."""
    with tempfile.TemporaryDirectory() as folder:
        posterior = infer(target, csvgd(), particles=PARTICLES, iterations=iterations, directory=folder)
        assert (Path(folder) / "posterior.nc").stat().st_size > 0
    return {"iterations": posterior.attributes["seconds"], "gap": float(posterior.gaps.max())}


def timed(loops: dict[str, tuple[Callable[[Any, Any], Any], Any]], count: int) -> dict[str, float]:
    """Seconds of one iteration of each, in a loop on the device: the best of a few rounds, in turns."""
    number, samples = jnp.asarray(count), {name: [] for name in loops}
    ready = {
        name: (jax.jit(lambda carry, n, once=once: jax.lax.fori_loop(0, n, once, carry)), carry)
        for name, (once, carry) in loops.items()
    }
    for lap in range(1 + ROUNDS):
        for name, (loop, carry) in ready.items():
            before = time.perf_counter()
            jax.block_until_ready(loop(carry, number))
            samples[name] += [(time.perf_counter() - before) / count] * (lap > 0)  # the first one compiles
    return {name: min(each) for name, each in samples.items()}


def iteration(target: Target, count: int) -> dict[str, float]:
    """Seconds of an iteration of CSVGD; and of one whose target has as many numbers and gaps, but no rollouts."""
    key, points = jax.random.key(0), jnp.asarray(target.starts(PARTICLES))
    gaps = (WINDOWS - 1) * 4
    free = replace(target, evaluate=lambda x: Evaluation(-50.0 * x @ x, x[-gaps:] - x[:gaps]))

    def loop(target: Target) -> tuple[Callable[[Any, Any], Any], Any]:
        sampler = csvgd().make(target, 2000)
        return lambda i, state: sampler.step(jax.random.fold_in(key, i), state)[0], sampler.init(key, points)

    return timed({"iteration": loop(target), "outside": loop(free)}, count)


def main(
    what: What,
    scan: Annotated[str, typer.Option(help=", ".join(SCANS))] = "fuse",
    iterations: Annotated[int, typer.Option()] = 2000,
    began: Annotated[float, typer.Option(help="when the process was started, by time.time()")] = float("nan"),
) -> None:
    jax.config.update("jax_enable_x64", True)
    laps = {"imported": time.time() - began}
    target = multiple(*posed(), NOISE, windows=WINDOWS, scan=SCANS[scan])
    laps["posed"] = time.time() - began
    if what is What.whole:
        laps |= whole(target, iterations) | {"saved": time.time() - began}
    else:
        laps |= iteration(target, iterations)
    print(json.dumps(laps))


if __name__ == "__main__":
    typer.run(main)
