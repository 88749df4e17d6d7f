"""The first seam: whatever moves a state on in time.

    Step    = (params, state, control) -> state         flat arrays in, flat array out: the paper's f_step
    Rollout = (params, state, controls) -> states       the paper's f_sim; row t is the state after step t

A backend is a function Step -> Rollout; nothing downstream knows which one ran.
"""

from collections.abc import Callable

import jax
from jaxtyping import Array, Float

from plausim import fuse
from plausim.mechanics import integrators
from plausim.parameters import Parameters, place

Params = Float[Array, " params"]
State = Float[Array, " state"]
Control = Float[Array, " control"]
Step = Callable[[Params, State, Control], State]
Rollout = Callable[[Params, State, Float[Array, "steps control"]], Float[Array, "steps state"]]


def fused(step: Step) -> Rollout:
    """The whole rollout as one compiled kernel, and so its gradient."""
    return _rolled(step, fuse.scan)


def scanned(step: Step) -> Rollout:
    """By `jax.lax.scan`: for a step that is no straight line, and to compare with."""
    return _rolled(step, jax.lax.scan)


def _rolled(step: Step, scan: Callable) -> Rollout:
    def rollout(params: Params, state: State, controls: Float[Array, "steps control"]) -> Float[Array, "steps state"]:
        def advance(state: State, control: Control) -> tuple[State, State]:
            state = step(params, state, control)
            return state, state

        return scan(advance, state, controls)[1]

    return rollout


def step_of(parameters: Parameters) -> Step:
    """A model's step, with its numbers in doubt as params."""

    def step(params: Params, state: State, control: Control) -> State:
        return integrators.step(place(parameters, params), state, control)

    return step
