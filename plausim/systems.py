"""A simulator with numbers in doubt, as everything after it sees it: how its state moves on, and what shows of it.

    step:        (params, state, control) -> state
    observe:     (params, state, control) -> what is measured
    retract:     (state, delta) -> state      a step away from a state, along the ways it can move
    difference:  (state, state) -> delta      and back

`system(parameters)` makes one of a model. One of your own, around any step that JAX can trace, is `System(...)` by
hand; for states that are plain numbers, `plain` has the last two.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from plausim.mechanics import difference, observe, retract, start
from plausim.mechanics.joints import JOINTS
from plausim.mechanics.sensors import SENSORS
from plausim.parameters import Parameters, place
from plausim.rollout import Control, Params, State, Step, step_of

Delta = Float[Array, " tangent"]
Observation = Float[Array, " channels"]
Ways = dict[str, Callable[[Array, Array], Array]]
PLAIN = {"hinge", "slide"}  # joints whose positions are plain numbers


class System(NamedTuple):
    parameters: Parameters
    step: Step
    observe: Callable[[Params, State, Control], Observation]
    retract: Callable[[State, Delta], State]
    difference: Callable[[State, State], Delta]
    channels: tuple[str, ...]  # names of what is observed
    coordinates: tuple[str, ...]  # names of what a delta holds
    timestep: float  # s
    sizes: tuple[int, int] | None = None  # of a state and of a control, where recordings are to be checked for them


def system(parameters: Parameters) -> System:
    """A model and its numbers in doubt.

    Example:
        >>> from plausim import choose, parameter, robot, system
        >>> pendulum = system(choose(robot("double-pendulum"), [parameter("link2.mass", 0.05, 0.5)]))
        >>> pendulum.channels
        ('angle1', 'angle2', 'rate1', 'rate2')
        >>> pendulum.coordinates
        ('shoulder.position', 'elbow.position', 'shoulder.velocity', 'elbow.velocity')

    """
    model = parameters.model
    kinds = model.joints.kind
    return System(
        parameters=parameters,
        step=step_of(parameters),
        observe=lambda params, state, control: observe(place(parameters, params), state, control),
        **(plain if PLAIN.issuperset(kinds) else _curved(kinds)),
        channels=tuple(
            name if SENSORS[s.kind].count == 1 else f"{name}.{i}"
            for s in model.sensors
            for name, i in ((s.name, i) for i in range(SENSORS[s.kind].count))
        ),
        coordinates=tuple(
            f"{name}.{what}{'' if JOINTS[kind].velocities == 1 else i}"
            for what in ("position", "velocity")
            for name, kind in zip(model.joints.name, kinds, strict=True)
            for i in range(JOINTS[kind].velocities)
        ),
        timestep=float(model.timestep),
        sizes=(len(start(model)), len(model.actuators.name)),
    )


def _curved(kinds: tuple[str, ...]) -> Ways:
    return {
        "retract": lambda state, delta: jnp.asarray(retract(kinds, state, delta)),
        "difference": lambda start, end: jnp.asarray(difference(kinds, start, end)),
    }


plain: Ways = {"retract": lambda state, delta: state + delta, "difference": lambda start, end: jnp.subtract(end, start)}
