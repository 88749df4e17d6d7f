"""One process that compiles one problem and runs it: how long from the call to the first result, stage by stage.

    python -m benchmarks.compile_time "double pendulum" fused

What is cached on disk is the caller's to arrange (PLAUSIM_CACHE_DIR). The last line of the output is JSON.
"""

import json
import time
from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import typer

from benchmarks.mechanisms import MECHANISMS
from benchmarks.problems import Problem, parameters
from benchmarks.scanned import arguments_of, over_lanes, squared_error
from plausim import fuse

SCANS = {"fused": fuse.scan, "plain JAX": jax.lax.scan}


class Stopwatch:
    """Laps, in seconds, by name."""

    def __init__(self):
        self.laps: dict[str, float] = {}
        self.began = self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name], self.last = now - self.last, now
        self.laps["total"] = now - self.began


def posed(mechanism: str, lanes: int, steps: int | None) -> Problem:
    """The problem with zeros for a reference: nothing is compiled to make it."""
    chosen = MECHANISMS[mechanism]
    zeros = np.zeros((steps or chosen.steps, len(chosen.start)))
    return Problem(chosen, parameters(chosen, lanes), zeros, gradient=True, threads=0)


def stages(mechanism: str, scan: str, lanes: int, steps: int | None) -> dict[str, float]:
    """The gradient of all lanes, compiled ahead of time."""
    problem = posed(mechanism, lanes, steps)
    arguments = jax.block_until_ready(arguments_of(problem, jnp.float32))  # this also starts JAX
    watch = Stopwatch()
    compute = over_lanes(squared_error(SCANS[scan], problem.mechanism.step), len(problem.mechanism.inputs), True)
    traced = compute.trace(*arguments)
    watch.lap("trace")
    lowered = traced.lower()
    watch.lap("lower")
    compiled = lowered.compile()
    watch.lap("compile")
    jax.block_until_ready(compiled(*arguments))
    watch.lap("first run")
    return watch.laps | {"best run": min(seconds_of(compiled, arguments) for _ in range(5))}


def seconds_of(compiled: Callable, arguments: list[jax.Array]) -> float:
    began = time.perf_counter()
    jax.block_until_ready(compiled(*arguments))
    return time.perf_counter() - began


def tracing_alone(mechanism: str) -> dict[str, float]:
    """What JAX itself takes to trace the step and its vector-Jacobian product, with nothing of fuse around."""
    problem = posed(mechanism, 1, 1)
    thetas, start, _, *inputs = jax.block_until_ready(arguments_of(problem, jnp.float32))
    arguments = (start, thetas[0], *inputs)
    watch = Stopwatch()
    jax.make_jaxpr(problem.mechanism.step)(*arguments)
    watch.lap("step")
    jax.make_jaxpr(lambda cotangent, *a: jax.vjp(problem.mechanism.step, *a)[1](cotangent))(start, *arguments)
    watch.lap("adjoint")
    return watch.laps


def main(
    mechanism: str,
    scan: Annotated[str, typer.Argument(help="fused, plain JAX, or trace: JAX's tracing alone")],
    lanes: Annotated[int, typer.Option()] = 1000,
    steps: Annotated[int | None, typer.Option(help="the mechanism's own number if none")] = None,
) -> None:
    """Print the stages' seconds as one line of JSON."""
    print(json.dumps(tracing_alone(mechanism) if scan == "trace" else stages(mechanism, scan, lanes, steps)))


if __name__ == "__main__":
    typer.run(main)
