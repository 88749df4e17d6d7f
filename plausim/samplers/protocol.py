"""The third seam: what turns a target into draws from it.

    init: (key, points)   -> state
    step: (key, state)    -> state, info        one iteration; info has a number for each of its names
    draw: (key, state, n) -> points             so many points of the posterior, within the limits

A method is made with its settings, `csvgd(rate=0.02)`, and becomes a sampler when it meets a target and the number of
iterations that it may plan for: Method = (Target, iterations) -> Sampler.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Float

from plausim.target import Points, Target

Key = Array
State = Any
Info = dict[str, Float[Array, ""]]


class Sampler(NamedTuple):
    name: str
    init: Callable[[Key, Points], State]
    step: Callable[[Key, State], tuple[State, Info]]
    draw: Callable[[Key, State, int], Points]
    traced: bool = True  # whether `step` can run inside `jax.jit`, many iterations at a time
    tries: int | None = None  # how many `lost` counts in the first iteration; one for each particle, if not said


class Method(NamedTuple):
    """A sampler's name and settings, before it has met a target."""

    name: str
    settings: dict[str, Any]
    make: Callable[[Target, int], Sampler]
    gradients: bool = True  # whether it needs them
    constraints: bool = False  # whether it keeps constraints by itself; for others, `soften` the target
