"""Recordings of a model's own motion, with noise: to test on, and for studies whose truth is known."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.mechanics.model import Model, on_device
from plausim.mechanics.motion import simulate
from plausim.mechanics.sensors import observe

from .record import Recording, channels
from .states import states_of


def simulated(
    model: Model,
    start: Float[np.ndarray, " state"] | Float[Array, " state"],
    controls: Float[np.ndarray, "steps controls"] | None = None,
    steps: int | None = None,
    noise: float | Mapping[str, float] = 0.0,
    seed: int = 0,
    states: str = "true",
    name: str = "simulated",
) -> Recording:
    """The recording that a model would leave.

    Args:
        model: the robot, with the parameters that are the truth.
        start: its state at first: positions, then velocities.
        controls: a row for each step; none for a robot that is left alone.
        steps: how many, where there are no controls.
        noise: the standard deviation of Gaussian noise on what the sensors show: one for all channels, or by channel,
            those that are not named without noise.
        seed: of the noise.
        states: "true", or "noisy" for those that the noisy sensors show, as they would be of a real recording.
        name: of the recording.

    Example:
        >>> from plausim import mechanics
        >>> simulated(mechanics.robot("double-pendulum"), np.array([2.0, 0.5, 0, 0]), steps=400, noise={"angle1": 0.01})
        Recording(simulated: 400 steps of 0.0025 s, angle1, angle2, rate1, rate2)

    """
    if states not in ("true", "noisy"):
        raise ValueError(f'states are "true" or "noisy", not {states!r}.')
    start = np.asarray(start, float)
    moved = np.asarray(simulate(model, start, controls, steps), float)
    truth = np.concatenate([start[None], moved])
    if controls is None:
        controls = np.zeros((len(moved), len(model.actuators.name)))
    clean = observations(model, truth, controls)
    noisy = clean + deviations(model, noise) * np.random.default_rng(seed).standard_normal(clean.shape)
    known = np.ones(noisy.shape, bool)
    timestep = float(model.timestep)
    kept = truth if states == "true" else states_of(model, noisy, known, timestep, name)
    return Recording(name, channels(model), noisy, known, np.asarray(controls, float), kept, timestep)


def observations(
    model: Model, states: Float[np.ndarray, "samples state"], controls: Float[np.ndarray, "steps controls"]
) -> Float[np.ndarray, "samples channels"]:
    """What the sensors show in each state: under the control that led there, and in the first under the first one."""
    felt = np.concatenate([controls[:1], controls])
    model = on_device(model, jnp.asarray(states).dtype)
    return np.asarray(
        jax.jit(jax.vmap(lambda s, u: observe(model, s, u)))(jnp.asarray(states), jnp.asarray(felt)), float
    )


def deviations(model: Model, noise: float | Mapping[str, float]) -> Float[np.ndarray, " channels"]:
    """The noise of each channel."""
    own = channels(model)
    if not isinstance(noise, Mapping):
        return np.full(len(own), float(noise))
    unknown = [channel for channel in noise if channel not in own]
    if unknown:
        raise ValueError(f"there is noise on {', '.join(unknown)}; the model's channels are {', '.join(own)}.")
    return np.array([float(noise.get(channel, 0.0)) for channel in own])
