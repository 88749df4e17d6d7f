"""A mechanism's step under a scan: jax.lax.scan, or what has its meaning."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.problems import Outcome, Problem, Run


def squared_error(scan: Callable, step: Callable) -> Callable:
    """(theta, start, reference, *inputs) -> the loss, summed up in the carry of the scan."""

    def loss(theta, start, reference, *inputs):
        def advance(carry, target):
            state, total = carry
            state = step(state, theta, *inputs)
            return (state, total + jnp.sum((state - target) ** 2)), None

        (_, total), _ = scan(advance, (start, jnp.zeros((), start.dtype)), reference)
        return total

    return loss


def over_lanes(loss: Callable, inputs: int, gradient: bool) -> Callable:
    """All lanes' losses, or losses and gradients; the trajectory and the inputs are shared."""
    one = jax.value_and_grad(loss) if gradient else lambda *arguments: (loss(*arguments), None)
    return jax.jit(jax.vmap(one, in_axes=(0, None, None) + (None,) * inputs))


def arguments_of(problem: Problem, dtype) -> list[jax.Array]:
    values = (problem.thetas, problem.mechanism.start, problem.reference, *problem.mechanism.inputs)
    return [jnp.asarray(value, dtype) for value in values]


def scanned(scan: Callable, dtype, problem: Problem) -> Run:
    """The mechanism's own step under `scan`, which is jax.lax.scan or has its meaning."""
    wide = np.dtype(dtype) == np.float64
    loss = squared_error(scan, problem.mechanism.step)
    compute = over_lanes(loss, len(problem.mechanism.inputs), problem.gradient)
    with jax.enable_x64(wide):
        arguments = arguments_of(problem, dtype)

    def run() -> Outcome:
        with jax.enable_x64(wide):
            return jax.block_until_ready(compute(*arguments))

    return run
