"""Who computes the rollouts.

A contender takes a Problem and returns a function without arguments: each call computes all lanes, waits for them, and
returns (losses, their gradient or None). What it cannot do here, it refuses with Unavailable.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.closed_form import LANE_WIDTHS, closed_form
from benchmarks.mujoco_contenders import finite_differences, mjx_scan
from benchmarks.native import Unavailable
from benchmarks.problems import Outcome, Problem, Run
from benchmarks.scanned import scanned
from plausim import fuse


def hand_written(width: int, problem: Problem) -> Run:
    """The closed form in C, so many lanes in flight."""
    if problem.mechanism.name != "double pendulum":
        raise Unavailable("written for the double pendulum only")
    compute = closed_form(width, problem.threads, problem.gradient)
    arrays = [array.astype(np.float32) for array in (problem.mechanism.start, problem.thetas, problem.reference)]
    return lambda: compute(*arrays)


class Contender(NamedTuple):
    dtype: str
    prepare: Callable[[Problem], Run]


FUSED, FUSED_WIDE, PLAIN = "fused", "fused float64", "plain JAX"
CLOSED_FORM = tuple(f"closed-form C, {width} lanes" for width in LANE_WIDTHS)

CONTENDERS = {
    FUSED: Contender("float32", functools.partial(scanned, fuse.scan, np.float32)),
    FUSED_WIDE: Contender("float64", functools.partial(scanned, fuse.scan, np.float64)),
    PLAIN: Contender("float32", functools.partial(scanned, jax.lax.scan, np.float32)),
    **{
        name: Contender("float32", functools.partial(hand_written, width))
        for name, width in zip(CLOSED_FORM, LANE_WIDTHS, strict=True)
    },
    "MuJoCo C, differences": Contender("float64", finite_differences),
    "MJX": Contender("float32", mjx_scan),
}


def truth(problem: Problem) -> Outcome:
    """What all should agree on: the plain scan in float64."""
    return scanned(jax.lax.scan, np.float64, problem)()
