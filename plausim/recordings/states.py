"""The states of a recorded motion, from what the sensors show: where simulations may start."""

import numpy as np
from jaxtyping import Bool, Float

from plausim.mechanics.joints import parts, sizes
from plausim.mechanics.model import Model
from plausim.mechanics.sensors import SENSORS

DIRECT = {
    "jointpos": 0,
    "ballquat": 0,
    "jointvel": 1,
    "ballangvel": 1,
}  # sensors that show a joint: 0 where, 1 how fast

Samples = Float[np.ndarray, "samples channels"]
Known = Bool[np.ndarray, "samples channels"]


def shown(model: Model) -> dict[int, int]:
    """Which channel shows each number of the state, for those that one does."""
    (count, _), where, found, channel = sizes(model.joints.kind), parts(model.joints.kind), {}, 0
    for sensor in model.sensors:
        width = SENSORS[sensor.kind].count
        if sensor.kind in DIRECT:
            part = where[sensor.element]
            first = part.positions.start if DIRECT[sensor.kind] == 0 else count + part.velocities.start
            found |= {first + i: channel + i for i in range(width) if first + i not in found}
        channel += width
    return found


def states_of(
    model: Model, observed: Samples, known: Known, timestep: float, name: str
) -> Float[np.ndarray, "samples state"]:
    """The states, read off the sensors of joints."""
    direct, total = shown(model), sum(sizes(model.joints.kind))
    if len(direct) < total:
        raise ValueError(f"{name}: the sensors show {len(direct)} of the {total} numbers of a state.")
    return observed[:, [direct[i] for i in range(total)]]
