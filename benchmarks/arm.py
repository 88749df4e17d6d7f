"""The Panda with a box, forward, beside MuJoCo's threaded rollout of the same file: all threads, no contacts in either.

    python -m benchmarks.arm
    python -m benchmarks.arm --lanes 10000 --json arm.json

Every lane has its own two weights (x, y) in the box and its own start; the servos' targets move, for all lanes alike.
Before anything is timed, the float64 states of 16 lanes are compared. The contenders take turns; the ratio is that of
their best rounds, since what else runs on a machine only ever adds to a time.
"""

import copy
import json
import os
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import typer
from mujoco.rollout import Rollout

from benchmarks.machine import describe, processors
from plausim.mechanics import ROBOTS, robot, robots
from plausim.parameters import choose, parameter
from plausim.rollout import fused, step_of

ROBOT = "panda-box"
WEIGHTS = ("weight1", "weight2")
WIDTHS = {"x": 0.14, "y": 0.07}  # m, where a weight may lie
POSE = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8, 0.0, 0.0])
BAR = 30.0
FUSED, MUJOCO = "plausim, float32", "MuJoCo C, mujoco.rollout"


class Problem(NamedTuple):
    """What each lane starts from and is told; weights are (x, y) of the first, then of the second."""

    weights: np.ndarray
    states: np.ndarray
    controls: np.ndarray


def problem(lanes: int, steps: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    wide = np.array([WIDTHS["x"], WIDTHS["y"]] * 2)
    starts = np.tile(np.concatenate([POSE, np.zeros(9)]), (lanes, 1))
    starts[:, :9] += 0.05 * rng.normal(size=(lanes, 9))
    sway = 0.3 * np.sin(np.linspace(0.0, 3.0, steps)[:, None] * np.arange(1, 8))
    return Problem(rng.uniform(-wide, wide, (lanes, 4)), starts, POSE[:7] + sway)


def plausims(problem: Problem, dtype: type) -> Callable[[], np.ndarray]:
    """The whole rollout as one kernel; lanes on all threads."""
    paths = [f"{weight}.pos.{axis}" for weight in WEIGHTS for axis in "xy"]
    model = robot(ROBOT)
    assert not model.geoms.touch
    chosen = choose(model, [parameter(path, -0.2, 0.2) for path in paths])
    rollout = jax.jit(jax.vmap(fused(step_of(chosen)), (0, 0, None)))
    given = [jnp.asarray(array, dtype) for array in problem]

    def run() -> np.ndarray:
        with jax.enable_x64(dtype is np.float64):  # or it would be traced anew, as something else
            return jax.block_until_ready(rollout(*given))

    return run


def mujocos(problem: Problem, threads: int) -> Callable[[], np.ndarray]:
    """`mujoco.rollout` in a pool of threads that stays; a model for each lane, made before the clock starts."""
    template = mujoco.MjModel.from_xml_string(files(robots).joinpath(ROBOTS[ROBOT]).read_text())
    template.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    workers = [mujoco.MjData(template) for _ in range(threads)]
    rows, models = [template.body(weight).id for weight in WEIGHTS], []
    for weights in problem.weights:
        model = copy.copy(template)
        model.body_pos[rows, :2] = weights.reshape(2, 2)
        mujoco.mj_setConst(model, workers[0])
        models.append(model)
    pool, steps = Rollout(nthread=threads), len(problem.controls)
    begin = np.concatenate([np.zeros((len(models), 1)), problem.states], axis=1)  # time, angles, rates
    controls = np.tile(problem.controls, (len(models), 1, 1))

    def run() -> np.ndarray:
        states, _ = pool.rollout(models, workers, begin, controls, nstep=steps)
        return np.asarray(states)[:, :, 1:19]

    return run


def seconds(run: Callable) -> float:
    before = time.perf_counter()
    run()
    return time.perf_counter() - before


def main(
    lanes: Annotated[int, typer.Option(min=1)] = 1000,
    steps: Annotated[int, typer.Option(min=1, help="of 1 ms")] = 200,
    rounds: Annotated[int, typer.Option(min=1)] = 9,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Compare, time, print."""
    threads = len(processors())
    with jax.enable_x64(True):
        few = problem(16, steps)
        ours, theirs = np.asarray(plausims(few, np.float64)()), mujocos(few, threads)()
        apart = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
    whole = problem(lanes, steps)
    with jax.enable_x64(True):
        wide = plausims(whole, np.float64)
        wide()
    contenders = {FUSED: plausims(whole, np.float32), MUJOCO: mujocos(whole, threads), "plausim, float64": wide}
    for run in contenders.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            times[name].append(seconds(run))
    best = {name: min(found) for name, found in times.items()}
    ratio = best[MUJOCO] / best[FUSED]
    print(json.dumps(describe(), indent=1))
    print(f"{lanes:,} lanes of {steps} steps, {threads} threads; float64 states of 16 lanes differ by {apart:.1e}")
    for name, found in times.items():
        print(
            f"{name}: {best[name] * 1e3:.2f} ms at best of {rounds}, {np.median(found) * 1e3:.2f} ms median, ", end=""
        )
        print(f"{lanes / best[name]:,.0f} rollouts per second")
    print(f"ratio {ratio:.1f}; the bar is {BAR:g}: {'pass' if ratio >= BAR else 'MISSED'}")
    if json_file:
        json_file.write_text(json.dumps({"times": times, "ratio": ratio, "apart": apart}, indent=1) + os.linesep)


if __name__ == "__main__":
    typer.run(main)
