"""What is measured of a motion, the paper's f_obs: one table, `SENSORS`, with MuJoCo's names.

A sensor sees what is moving: (Seen, element) -> numbers. Elements are joints or sites. `framepoints` is the paper's
own: the origin of a frame and the three points 1 m along its axes, all in the world.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from . import rotations
from .actuators import Control
from .dynamics import falling
from .integrators import State, accelerations
from .joints import parts, sizes
from .kinematics import BodyMotion, Dof, Frame, Position, attached, frames, motion, still, velocity_at
from .model import WORLD, Model, in_jax
from .spatial import Motion, Vector

Numbers = Float[Array, " numbers"]


class Seen(NamedTuple):
    """A model in motion."""

    model: Model
    q: Position
    qd: Dof
    frames: list[Frame]
    moved: list[BodyMotion]
    accelerations: Callable[[], list[Motion]]  # of every body, in its frame, gravity taken as a push upwards


class Kind(NamedTuple):
    of: str  # the elements it belongs to: joints or sites
    count: int
    units: str
    read: Callable[[Seen, int], Numbers]


def observe(
    model: Model, state: State | Float[np.ndarray, " state"], ctrl: Control | Float[np.ndarray, " nu"]
) -> Numbers:
    """What the model's sensors show, one after the other.

    Example:
        >>> from plausim import mechanics
        >>> model = mechanics.robot("double-pendulum")
        >>> [sensor.name for sensor in model.sensors]
        ['angle1', 'angle2', 'rate1', 'rate2']
        >>> print(mechanics.observe(model, mechanics.start(model), np.zeros(0)))
        [0. 0. 0. 0.]

    """
    state, ctrl = jnp.asarray(state), jnp.asarray(ctrl)
    model, (count, _) = in_jax(model, state.dtype), sizes(model.joints.kind)
    q, qd = state[:count], state[count:]
    seen = Seen(model, q, qd, frames(model, q), motion(model, q, qd), lambda: _accelerations(model, q, qd, ctrl))
    numbers = [SENSORS[s.kind].read(seen, s.element) for s in model.sensors]
    return jnp.concatenate([jnp.zeros(0, q.dtype), *numbers])


def _accelerations(model: Model, q: Position, qd: Dof, ctrl: Control) -> list[Motion]:
    qdd, found = accelerations(model, q, qd, ctrl), []
    for m, parent in zip(motion(model, q, qd), model.bodies.parent, strict=True):
        total = m.transform @ (falling(model) if parent == WORLD else found[parent]) + m.drift
        found.append(sum((c * qdd[n] for c, n in zip(m.columns, m.velocities, strict=True)), total))
    return found


def site_frame(seen: Seen, site: int) -> Frame:
    """In the world."""
    s = seen.model.sites
    body = still(seen.q.dtype) if s.body[site] == WORLD else seen.frames[s.body[site]]
    return attached(body, Frame(s.turn[site], site_pos(seen.model, site)))


def site_pos(model: Model, site: int) -> Vector:
    """In its body's frame."""
    s = model.sites
    return model.bodies.com[s.body[site]] + s.pos[site] if s.at_com[site] else s.pos[site]


def _on_site(seen: Seen, site: int, moving: list[Motion]) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Angular and linear motion of a site, in the body's axes."""
    body = seen.model.sites.body[site]
    if body == WORLD:
        zero = jnp.zeros(3, seen.q.dtype)
        return zero, zero
    return moving[body][:3], velocity_at(moving[body], site_pos(seen.model, site))


def _body_turn(seen: Seen, site: int) -> Float[Array, "3 3"]:
    body = seen.model.sites.body[site]
    return still(seen.q.dtype).turn if body == WORLD else seen.frames[body].turn


def _velocities(seen: Seen) -> list[Motion]:
    return [m.velocity for m in seen.moved]


def _framepoints(seen: Seen, site: int) -> Numbers:
    turn, pos = site_frame(seen, site)
    return jnp.concatenate([pos, *(pos + axis for axis in turn.T)])


def _accelerometer(seen: Seen, site: int) -> Numbers:
    """What a mass on springs would feel: the acceleration of the site less gravity, in its axes."""
    if seen.model.sites.body[site] == WORLD:
        return -seen.model.sites.turn[site].T @ seen.model.gravity
    spin, speed = _on_site(seen, site, _velocities(seen))
    _, change = _on_site(seen, site, seen.accelerations())
    return seen.model.sites.turn[site].T @ (change + jnp.cross(spin, speed))


SENSORS: dict[str, Kind] = {
    "jointpos": Kind("joints", 1, "rad, m", lambda s, j: s.q[parts(s.model.joints.kind)[j].positions]),
    "jointvel": Kind("joints", 1, "rad/s, m/s", lambda s, j: s.qd[parts(s.model.joints.kind)[j].velocities]),
    "ballquat": Kind("joints", 4, "", lambda s, j: rotations.unit(s.q[parts(s.model.joints.kind)[j].positions])),
    "ballangvel": Kind("joints", 3, "rad/s", lambda s, j: s.qd[parts(s.model.joints.kind)[j].velocities]),
    "framepos": Kind("sites", 3, "m", lambda s, i: site_frame(s, i).pos),
    "framequat": Kind("sites", 4, "", lambda s, i: rotations.quaternion(site_frame(s, i).turn)),
    "framexaxis": Kind("sites", 3, "", lambda s, i: site_frame(s, i).turn[:, 0]),
    "frameyaxis": Kind("sites", 3, "", lambda s, i: site_frame(s, i).turn[:, 1]),
    "framezaxis": Kind("sites", 3, "", lambda s, i: site_frame(s, i).turn[:, 2]),
    "framelinvel": Kind("sites", 3, "m/s", lambda s, i: _body_turn(s, i) @ _on_site(s, i, _velocities(s))[1]),
    "frameangvel": Kind("sites", 3, "rad/s", lambda s, i: _body_turn(s, i) @ _on_site(s, i, _velocities(s))[0]),
    "velocimeter": Kind("sites", 3, "m/s", lambda s, i: s.model.sites.turn[i].T @ _on_site(s, i, _velocities(s))[1]),
    "gyro": Kind("sites", 3, "rad/s", lambda s, i: s.model.sites.turn[i].T @ _on_site(s, i, _velocities(s))[0]),
    "accelerometer": Kind("sites", 3, "m/s^2", _accelerometer),
    "framepoints": Kind("sites", 12, "m", _framepoints),
}  # fmt: skip
