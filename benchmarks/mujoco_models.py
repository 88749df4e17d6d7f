"""The same mechanisms for MuJoCo: a model file each, and where the parameters go in the compiled model.

MuJoCo integrates damping implicitly unless told not to; `eulerdamp="disable"` makes its Euler step the semi-implicit
one of `mechanisms.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks import mechanisms as m

HEAD = """<mujoco><compiler angle="radian" autolimits="true" inertiafromgeom="false"/>
<option timestep="{timestep}" integrator="Euler" gravity="0 0 -9.81">
<flag eulerdamp="disable" contact="disable"/></option>
<worldbody>"""


class MujocoModel(NamedTuple):
    """`fields(model, theta, numbers)` gives the model's arrays that theta changes; numbers is numpy or jax.numpy."""

    file: str
    fields: Callable
    control: np.ndarray
    compiler_options: dict  # XLA's, for MJX


def words(numbers: np.ndarray) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def inertial(body: m.Body) -> str:
    return f'<inertial mass="{body.mass!r}" pos="{words(body.com)}" diaginertia="{words(body.inertia)}"/>'


def hinge(axis: np.ndarray, damping: float) -> str:
    return f'<joint type="hinge" axis="{words(axis)}" damping="{float(damping)!r}"/>'


def pendulum_file() -> str:
    """Two links. The inertias about y and z do nothing in the plane; here they equal the one about x."""
    m1, i1, cx1, cy1, f1, length, m2, i2, cx2, cy2, f2 = m.PENDULUM_NOMINAL
    axis = np.array([1.0, 0.0, 0.0])
    upper = m.Body(float(m1), np.array([0.0, cx1, cy1]), np.full(3, i1))
    lower = m.Body(float(m2), np.array([0.0, cx2, cy2]), np.full(3, i2))
    return f"""{HEAD.format(timestep=m.PENDULUM_TIMESTEP)}
    <body>{hinge(axis, f1)}{inertial(upper)}
    <body pos="0 0 {-float(length)!r}">{hinge(axis, f2)}{inertial(lower)}</body></body></worldbody></mujoco>"""


def pendulum_fields(model, theta, numbers) -> dict:
    m1, i1, cx1, cy1, f1, length, m2, i2, cx2, cy2, f2 = theta
    o = 0 * m1
    return {
        "body_mass": numbers.stack([o, m1, m2]),
        "body_inertia": numbers.stack([o, o, o, i1, i1, i1, i2, i2, i2]).reshape(3, 3),
        "body_ipos": numbers.stack([o, o, o, o, cx1, cy1, o, cx2, cy2]).reshape(3, 3),
        "body_pos": numbers.stack([o, o, o, o, o, o, o, o, -length]).reshape(3, 3),
        "dof_damping": numbers.stack([f1, f2]),
    }


def arm_file() -> str:
    """A chain of nine links; the weights are bodies of their own, fixed in the box."""
    quaternions = {
        turns: words(np.array([np.cos(turns * np.pi / 4), np.sin(turns * np.pi / 4), 0, 0])) for turns in (-1, 0, 1)
    }
    weight = m.Body(m.WEIGHT_MASS, np.zeros(3), m.WEIGHT_INERTIA)
    places = [[x, y, m.WEIGHT_HEIGHT] for x, y in m.ARM_NOMINAL.reshape(2, 2)]
    inner = "".join(f'<body pos="{words(np.array(place))}">{inertial(weight)}</body>' for place in places)
    bodies = [*m.ARM_BODIES, m.Body(m.BOX_MASS, m.BOX_COM, m.BOX_INERTIA)]
    for i, (turns, body) in reversed(list(enumerate(zip(m.ARM_QUARTER_TURNS, bodies, strict=True)))):
        joint = hinge(m.ARM_AXES[i], m.ARM_DAMPING[i]).replace("<joint", f'<joint name="j{i}"')
        place = f'pos="{words(m.ARM_OFFSETS[i])}" quat="{quaternions[turns]}"'
        inner = f"<body {place}>{joint}{inertial(body)}{inner}</body>"
    gains = zip(m.ARM_STIFFNESS, m.ARM_RATE_GAIN, strict=True)
    controllers = "".join(f'<position joint="j{i}" kp="{kp!s}" kv="{kv!s}"/>' for i, (kp, kv) in enumerate(gains))
    return f"""{HEAD.format(timestep=m.ARM_TIMESTEP)}{inner}</worldbody><actuator>{controllers}</actuator></mujoco>"""


def arm_fields(model, theta, numbers) -> dict:
    heights = 0 * theta[:1] + m.WEIGHT_HEIGHT
    places = [numbers.concatenate([theta[:2], heights]), numbers.concatenate([theta[2:], heights])]
    return {"body_pos": numbers.concatenate([model.body_pos[:-2], numbers.stack(places)])}


# XLA's fusion recomputes along the arm's chain: MJX then takes a second a step, and a millisecond without it.
NO_FUSION = {"xla_disable_hlo_passes": "fusion"}
MUJOCO_MODELS = {
    "double pendulum": MujocoModel(pendulum_file(), pendulum_fields, np.zeros(0), {}),
    "arm with box": MujocoModel(arm_file(), arm_fields, m.ARM_TARGET, NO_FUSION),
}
