"""What every contender computes.

Rollouts of one mechanism under many parameters, each with the squared distance of its states from one reference
trajectory; and the gradient of that by the parameters.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.mechanisms import MECHANISMS, Mechanism

Outcome = tuple[np.ndarray | jax.Array, np.ndarray | jax.Array | None]  # losses, their gradient
Run = Callable[[], Outcome]


class Problem(NamedTuple):
    """All arrays in float64; a contender converts them before it is timed."""

    mechanism: Mechanism
    thetas: np.ndarray  # (lanes, parameters)
    reference: np.ndarray  # (steps, states): the state after each step
    gradient: bool
    threads: int


@functools.cache
def reference(name: str, steps: int) -> np.ndarray:
    """The trajectory under the nominal parameters."""
    mechanism = MECHANISMS[name]
    with jax.enable_x64(True):
        arguments = [jnp.asarray(value) for value in (mechanism.nominal, *mechanism.inputs)]

        def advance(state, _):
            state = mechanism.step(state, *arguments)
            return state, state

        roll = jax.jit(lambda start: jax.lax.scan(advance, start, length=steps)[1])
        return np.asarray(roll(jnp.asarray(mechanism.start)))


def parameters(mechanism: Mechanism, lanes: int) -> np.ndarray:
    """About 5 % around the nominal ones; fewer lanes are the first of more."""
    spread = 0.05 * (np.abs(mechanism.nominal) + 0.02)
    return mechanism.nominal + spread * np.random.default_rng(0).normal(size=(lanes, len(spread)))


def problem(name: str, lanes: int, gradient: bool, threads: int, steps: int | None = None) -> Problem:
    mechanism = MECHANISMS[name]
    states = reference(name, steps or mechanism.steps)
    return Problem(mechanism, parameters(mechanism, lanes), states, gradient, threads)
