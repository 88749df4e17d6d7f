"""The double pendulum of the synthetic studies: a mass at the end of each link, and both lengths in doubt.

State: (angle of link 1 from hanging, angle of link 2 from link 1, and their rates). It starts at rest with both links
pointing sideways, as in `fig:combination`. All of it is measured.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim import mechanics
from plausim.mechanics import Model
from plausim.parameters import Parameter, Parameters, choose
from plausim.recordings import Recording, simulated
from plausim.rollout import fused
from plausim.systems import System, system

TIMESTEP = 0.01  # s
START = np.array([np.pi / 2, 0.0, 0.0, 0.0])
NOISE = {"angle1": 0.01, "angle2": 0.01, "rate1": 0.05, "rate2": 0.05}  # rad, rad/s: of the sensors
LIMITS = (0.5, 3.0)  # m, of both lengths
LENGTHS = ("length1", "length2")

MJCF = f"""<mujoco model="two links">
  <option timestep="{TIMESTEP}"><flag eulerdamp="disable"/></option>
  <worldbody><body name="link1">
    <joint name="shoulder" type="hinge" axis="1 0 0"/>
    <inertial mass="1" pos="0 0 -1" diaginertia="0.001 0.001 0.001"/>
    <body name="link2" pos="0 0 -1">
      <joint name="elbow" type="hinge" axis="1 0 0"/>
      <inertial mass="1" pos="0 0 -1" diaginertia="0.001 0.001 0.001"/>
    </body>
  </body></worldbody>
  <sensor>
    <jointpos name="angle1" joint="shoulder"/> <jointpos name="angle2" joint="elbow"/>
    <jointvel name="rate1" joint="shoulder"/> <jointvel name="rate2" joint="elbow"/>
  </sensor>
</mujoco>"""


def with_lengths(model: Model, values: dict[str, Float[Array, ""]]) -> Model:
    """Both masses at the ends of links of these lengths, the second joint at the end of the first."""
    bodies = model.bodies
    com, pos = jnp.asarray(bodies.com), jnp.asarray(bodies.pos)
    com = com.at[0, 2].set(-values["length1"]).at[1, 2].set(-values["length2"])
    return replace(model, bodies=replace(bodies, com=com, pos=pos.at[1, 2].set(-values["length1"])))


def parameters(limits: tuple[float, float] = LIMITS) -> Parameters:
    return choose(mechanics.parse(MJCF), [Parameter(name, *limits, unit="m") for name in LENGTHS], into=with_lengths)


def pendulum(limits: tuple[float, float] = LIMITS) -> System:
    return system(parameters(limits))


def moved(
    lengths: Float[np.ndarray, "n 2"], steps: int, starts: Float[np.ndarray, "n 4"] | None = None
) -> Float[np.ndarray, "n steps 4"]:
    """The states of a pendulum of each pair of lengths, without noise: what is measured of it."""
    rollout, controls = fused(pendulum().step), jnp.zeros((steps, 0))
    begin = np.tile(START, (len(lengths), 1)) if starts is None else starts
    states = jax.jit(jax.vmap(lambda pair, start: rollout(pair, start, controls)))
    return np.asarray(states(jnp.asarray(lengths), jnp.asarray(begin)))


def recorded(
    lengths: Sequence[Float[np.ndarray, "2"]], steps: int, seed: int = 0, start: Float[np.ndarray, "4"] = START
) -> list[Recording]:
    """The motion of a pendulum of each pair of lengths, as noisy sensors see it."""
    model = parameters().model
    made = [with_lengths(model, dict(zip(LENGTHS, map(jnp.asarray, pair), strict=True))) for pair in lengths]
    return [
        simulated(m, start, steps=steps, noise=NOISE, seed=seed + i, name=f"pendulum{i}") for i, m in enumerate(made)
    ]
