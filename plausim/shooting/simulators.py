"""What recordings would look like under parameters, with the noise that measuring adds: `Target.simulator`.

Whole rollouts from the measured first states, however a target cuts its windows. They are simulated in float32: next to
noise that is nothing, and takes half as long.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.parameters import Values, from_unit
from plausim.rollout import Control, Params, State
from plausim.systems import System
from plausim.target import Number, Point, Simulator

from .noise import Noise
from .stacks import Stack

Scan = Callable[..., tuple[Any, Any]]
Motions = Float[Array, "recordings steps channels"]
Steps = Float[Array, "recordings tangent"]


def simulator(
    system: System,
    stack: Stack,
    levels: Noise,
    inferred: bool,
    prior: Callable[[Values], Number] | None,
    scan: Scan,
) -> Simulator:
    """It sees parameters and noise levels only. First states to be inferred are drawn about the measured ones."""
    count, found = len(system.parameters.names), len(levels.found)
    observed, known = (np.reshape(x, (len(x), -1, x.shape[-1])) for x in (stack.observed, stack.known))

    def simulate(key: Array, point: Point) -> Motions:
        unit, unit_levels = jnp.split(jnp.asarray(point[: count + found], jnp.float32), [count])
        away, noise = jax.random.split(key)
        steps = first_steps(away, stack, levels, unit.dtype) if inferred else None
        motions = predicted(system, stack, from_unit(system.parameters, unit), scan, steps)
        stray = astray(noise, levels, motions.shape, motions.dtype)
        return jnp.where(known, motions + levels.sigma(unit_levels)[None, None] * stray, 0.0)

    of_point = None if prior is None else lambda point: prior(from_unit(system.parameters, point[:count]))
    return Simulator(simulate, np.where(known, observed, 0.0), of_point)


def first_steps(key: Array, stack: Stack, levels: Noise, dtype: Any) -> Steps:
    sd = jnp.asarray(levels.first(stack), dtype)
    return sd[None] * jax.random.normal(key, (len(stack.names), stack.tangent), dtype)


def astray(key: Array, levels: Noise, shape: tuple[int, ...], dtype: Any) -> Motions:
    """Noise, in units of its standard deviation; of a Student density, of its scale."""
    if levels.student is None:
        return jax.random.normal(key, shape, dtype)
    return jax.random.t(key, levels.student, shape, dtype)


def predicted(system: System, stack: Stack, values: Params, scan: Scan, steps: Steps | None = None) -> Motions:
    """What would be observed without noise, from the measured first states, or some steps away from them."""
    dtype = values.dtype
    starts = jnp.asarray(stack.starts[:, 0], dtype)
    if steps is not None:
        starts = jax.vmap(system.retract)(starts, jnp.asarray(stack.spread, dtype)[None] * steps)
    controls = jnp.asarray(stack.controls, dtype)
    recordings, windows, steps_each, inputs = controls.shape
    whole = controls.reshape(recordings, windows * steps_each, inputs)

    def rollout(start: State, controls: Float[Array, "steps controls"]) -> Float[Array, "steps channels"]:
        def advance(state: State, control: Control) -> tuple[State, Array]:
            state = system.step(values, state, control)
            return state, system.observe(values, state, control)

        return scan(advance, start, controls)[1]

    return jax.vmap(rollout)(starts, whole)
