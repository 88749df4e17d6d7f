"""What a robot is: bodies in a tree, hung from each other by joints, with everything that acts on them.

Every physical number is a leaf, an array with one row for each element: all of them can be inferred, and changing one
compiles nothing anew. Names, kinds and who hangs from whom are structure, and static. Frames are MuJoCo's: a body's
frame stands in its parent's at `pos` with its axes along the columns of `turn` when its joints are at their reference
positions; what belongs to a body (joints, sites, geoms, its centre of mass) is placed in the body's frame.
"""

from dataclasses import dataclass, field, fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

Leaf = Array | np.ndarray
Number = Float[Leaf, ""] | np.floating | float  # NumPy makes no array of one number
WORLD = -1  # the parent of a body that hangs from nothing
STATIC = {"static": True}  # structure: no leaf


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bodies:
    """Rigid bodies, parents before children."""

    name: tuple[str, ...] = field(metadata=STATIC)
    parent: tuple[int, ...] = field(metadata=STATIC)
    pos: Float[Leaf, "body 3"]  # m
    turn: Float[Leaf, "body 3 3"]
    tilt: Float[Leaf, "body 3"]  # rad, a further turn about the body's own x, y, z: zero in a file
    mass: Float[Leaf, " body"]  # kg
    com: Float[Leaf, "body 3"]  # m
    inertia: Float[Leaf, "body 6"]  # kg m^2, about the centre of mass: xx, yy, zz, xy, xz, yz


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Joints:
    """What moves; several on one body act one after the other. In N and m for slides, in N m and rad for the others."""

    name: tuple[str, ...] = field(metadata=STATIC)
    kind: tuple[str, ...] = field(metadata=STATIC)  # a key of `joints.JOINTS`
    body: tuple[int, ...] = field(metadata=STATIC)
    limited: tuple[bool, ...] = field(metadata=STATIC)
    axis: Float[Leaf, "joint 3"]  # of unit length
    pos: Float[Leaf, "joint 3"]  # m, a point that stays where it is
    ref: Float[Leaf, " joint"]  # the position in which the file draws the body
    damping: Float[Leaf, " joint"]  # force for each unit of speed
    armature: Float[Leaf, " joint"]  # inertia of the rotor, seen at the joint
    frictionloss: Float[Leaf, " joint"]  # dry friction: the force at speed
    frictionspeed: Float[Leaf, " joint"]  # where dry friction has reached 71 % of that
    stiffness: Float[Leaf, " joint"]
    springref: Float[Leaf, " joint"]  # where the spring rests
    lower: Float[Leaf, " joint"]  # limits, soft: a spring and a damper beyond them
    upper: Float[Leaf, " joint"]
    limitstiffness: Float[Leaf, " joint"]
    limitdissipation: Float[Leaf, " joint"]  # s / rad or s / m
    forcelower: Float[Leaf, " joint"]  # of all actuators together
    forceupper: Float[Leaf, " joint"]
    forcelimited: tuple[bool, ...] = field(metadata=STATIC)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Actuators:
    """Forces on joints: gain * control + bias, both affine in the position and speed of what they act on."""

    name: tuple[str, ...] = field(metadata=STATIC)
    joint: tuple[int, ...] = field(metadata=STATIC)
    ctrllimited: tuple[bool, ...] = field(metadata=STATIC)
    forcelimited: tuple[bool, ...] = field(metadata=STATIC)
    gear: Float[Leaf, "actuator 6"]
    gain: Float[Leaf, "actuator 3"]  # constant, by position, by speed
    bias: Float[Leaf, "actuator 3"]
    ctrllower: Float[Leaf, " actuator"]
    ctrlupper: Float[Leaf, " actuator"]
    forcelower: Float[Leaf, " actuator"]
    forceupper: Float[Leaf, " actuator"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sites:
    """Frames that are looked at, fixed to a body or to the world."""

    name: tuple[str, ...] = field(metadata=STATIC)
    body: tuple[int, ...] = field(metadata=STATIC)
    at_com: tuple[bool, ...] = field(metadata=STATIC)  # whether `pos` begins at the body's centre of mass
    pos: Float[Leaf, "site 3"]
    turn: Float[Leaf, "site 3 3"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Geoms:
    """Shapes that touch each other, fixed to a body or to the world."""

    name: tuple[str, ...] = field(metadata=STATIC)
    kind: tuple[str, ...] = field(metadata=STATIC)  # plane, sphere, capsule, box, cylinder
    body: tuple[int, ...] = field(metadata=STATIC)
    touch: tuple[tuple[int, int], ...] = field(metadata=STATIC)  # pairs of geoms that may
    rough: tuple[tuple[int, ...], ...] = field(
        metadata=STATIC
    )  # of each pair, whose friction counts; none slides freely
    size: Float[Leaf, "geom 3"]  # m, as MuJoCo has it: radius; radius, half length; half lengths
    pos: Float[Leaf, "geom 3"]
    turn: Float[Leaf, "geom 3 3"]
    stiffness: Float[Leaf, " geom"]  # N / m of depth
    dissipation: Float[Leaf, " geom"]  # s / m, of Hunt and Crossley
    friction: Float[Leaf, " geom"]
    slipspeed: Float[Leaf, " geom"]  # m / s, where friction has reached 71 %


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sensor:
    """Something that is measured: a key of `sensors.SENSORS`, and the element that it belongs to."""

    name: str = field(metadata=STATIC)
    kind: str = field(metadata=STATIC)
    element: int = field(metadata=STATIC)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Model:
    """A robot and the world around it."""

    bodies: Bodies
    joints: Joints
    actuators: Actuators
    sites: Sites
    geoms: Geoms
    gravity: Float[Leaf, "3"]  # m / s^2
    timestep: Number  # s
    sensors: tuple[Sensor, ...] = field(metadata=STATIC, default=())
    integrator: str = field(metadata=STATIC, default="euler")  # a key of `integrators.INTEGRATORS`
    substeps: int = field(metadata=STATIC, default=1)
    source: str = field(metadata=STATIC, default="", repr=False)  # the file that it came from, as MJCF

    def __repr__(self) -> str:
        counts = (f"{len(part.name)} {f.name}" for f in fields(self) if hasattr(part := getattr(self, f.name), "name"))
        return f"Model({', '.join(counts)})"


def on_device(model: Model, dtype: Any = None) -> Model:
    """The same model in JAX arrays. Zeros and ones that are known stay visible to `fuse`, under `jit` too."""

    def moved(leaf: Any) -> Array:
        if isinstance(leaf, Tracer):
            return jnp.asarray(leaf, dtype)
        with jax.ensure_compile_time_eval():
            return jnp.asarray(leaf, dtype)

    return jax.tree.map(moved, model)


def in_jax(model: Model, dtype: Any) -> Model:
    """What is in JAX arrays already stays as it is."""
    there = all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(model))
    return model if there else on_device(model, dtype)
