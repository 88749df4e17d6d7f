"""What a model file may hold that is not simulated: by element, name and line, so that nothing is dropped unsaid."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import mujoco
import numpy as np

from .sensors import SENSORS

JOINT_TRANSMISSIONS = {int(t) for t in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)}
AFFINE_GAINS = {int(t) for t in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE)}
AFFINE_BIASES = {int(t) for t in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE)}
SENSOR_OBJECTS = {int(t) for t in (mujoco.mjtObj.mjOBJ_SITE, mujoco.mjtObj.mjOBJ_BODY, mujoco.mjtObj.mjOBJ_XBODY)}
SCALAR_JOINTS = {int(t) for t in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)}


GROUPS = (
    "actuator", "contact", "equality", "flex", "fluid", "gravcomp", "integrator", "limit", "mocap", "override", "pair",
    "plugin", "polynomial", "rolling", "sensor", "spring", "surface", "tendon",
)  # fmt: skip


class Unsupported(NamedTuple):
    """One element. `group` is what `load(..., ignore=[group])` drops."""

    group: str
    what: str
    name: str = ""
    line: str = ""

    def __str__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"{self.what}{name}{f' ({self.line})' if self.line else ''}"


def unsupported(spec: Any, compiled: Any) -> Iterator[Unsupported]:
    """Everything in a file that would move the robot, or show its motion, in a way that is not simulated."""
    yield from _whole_elements(spec)
    yield from _bodies(spec)
    yield from _joints(spec, compiled)
    yield from _actuators(spec, compiled)
    yield from _sensors(spec, compiled)
    yield from _options(compiled)


def found(group: str, what: str, element: Any) -> Unsupported:
    return Unsupported(group, what, getattr(element, "name", ""), getattr(element, "info", ""))


def sensor_kind(compiled: Any, sensor: int) -> str:
    """MuJoCo's name: mjSENS_FRAMEPOS is framepos. A user sensor of twelve numbers on a site is our framepoints."""
    name = mujoco.mjtSensor(compiled.sensor_type[sensor]).name.removeprefix("mjSENS_").lower()
    on_site = compiled.sensor_objtype[sensor] == mujoco.mjtObj.mjOBJ_SITE
    return "framepoints" if name == "user" and on_site and compiled.sensor_dim[sensor] == 12 else name


def _whole_elements(spec: Any) -> Iterator[Unsupported]:
    groups = {
        "tendon": ("a tendon", spec.tendons),
        "equality": ("an equality constraint", spec.equalities),
        "flex": ("a flexible body", spec.flexes),
        "plugin": ("a plugin", spec.plugins),
        "pair": ("an explicit contact pair", spec.pairs),
    }
    for group, (what, elements) in groups.items():
        yield from (found(group, what + _of(group, element), element) for element in elements)


def _of(group: str, element: Any) -> str:
    """What an equality constraint ties: it seldom has a name, and out of a URDF's <mimic> never."""
    tied = [repr(name) for name in (element.name1, element.name2) if name] if group == "equality" else []
    return f" of {' and '.join(tied)}" if tied else ""


def _bodies(spec: Any) -> Iterator[Unsupported]:
    for body in spec.bodies:
        if body.gravcomp:
            yield found("gravcomp", "gravity compensation of the body", body)
        if body.mocap:
            yield found("mocap", "the mocap body", body)


def _joints(spec: Any, compiled: Any) -> Iterator[Unsupported]:
    for joint in spec.joints:
        j, dof = joint.id, compiled.jnt_dofadr[joint.id]
        free = compiled.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
        ball = compiled.jnt_type[j] == mujoco.mjtJoint.mjJNT_BALL
        if np.any(compiled.jnt_stiffnesspoly[j]) or np.any(compiled.dof_dampingpoly[dof]):
            yield found("polynomial", "polynomial stiffness or damping of the joint", joint)
        if free and compiled.jnt_stiffness[j]:
            yield found("spring", "a spring on the free joint", joint)
        if ball and compiled.jnt_limited[j]:
            yield found("limit", "the limit of the ball joint", joint)
        if compiled.jnt_actgravcomp[j]:
            yield found("gravcomp", "gravity compensation by the actuators of the joint", joint)
        if np.any(compiled.jnt_springyield[j]):
            yield found("spring", "a spring that yields, of the joint", joint)


def _actuators(spec: Any, compiled: Any) -> Iterator[Unsupported]:
    for actuator in spec.actuators:
        a = actuator.id
        for wrong, what in (
            (compiled.actuator_trntype[a] not in JOINT_TRANSMISSIONS, "an actuator that acts on no joint,"),
            (compiled.actuator_dyntype[a] != mujoco.mjtDyn.mjDYN_NONE, "an actuator with dynamics of its own,"),
            (compiled.actuator_gaintype[a] not in AFFINE_GAINS, "an actuator whose gain is not affine,"),
            (compiled.actuator_biastype[a] not in AFFINE_BIASES, "an actuator whose bias is not affine,"),
            (compiled.actuator_delay[a] != 0, "an actuator with a delay,"),
            (compiled.opt.disableactuator >> compiled.actuator_group[a] & 1, "an actuator that the options disable,"),
            (compiled.actuator_armature[a] != 0 or compiled.actuator_damping[a] != 0, "armature or damping of"),
        ):
            if wrong:
                yield found("actuator", what, actuator)
                break
        else:
            if compiled.jnt_type[compiled.actuator_trnid[a, 0]] not in SCALAR_JOINTS:
                yield from _on_ball(actuator, compiled, a)


def _on_ball(actuator: Any, compiled: Any, a: int) -> Iterator[Unsupported]:
    """Of actuators on ball and free joints."""
    if compiled.actuator_trntype[a] == mujoco.mjtTrn.mjTRN_JOINTINPARENT:
        yield found("actuator", "an actuator in the parent's frame,", actuator)
    slopes = compiled.actuator_gainprm[a, 2] or compiled.actuator_biasprm[a, 2]
    if compiled.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST and slopes:
        yield found("integrator", "an implicit integrator with a servo on a ball or free joint,", actuator)


def _sensors(spec: Any, compiled: Any) -> Iterator[Unsupported]:
    for sensor in spec.sensors:
        s, kind = sensor.id, sensor_kind(compiled, sensor.id)
        if kind not in SENSORS:
            yield found("sensor", f"the sensor {kind}", sensor)
        elif kind.startswith("frame") and compiled.sensor_objtype[s] not in SENSOR_OBJECTS:
            yield found("sensor", f"the sensor {kind} of something other than a site or body,", sensor)
        elif compiled.sensor_refid[s] >= 0 or compiled.sensor_cutoff[s] > 0:
            yield found("sensor", f"a reference frame or cut-off of the sensor {kind}", sensor)
        elif compiled.sensor_delay[s] or np.any(compiled.sensor_interval[s]):
            yield found("sensor", f"a delay or an interval of the sensor {kind}", sensor)


def _options(compiled: Any) -> Iterator[Unsupported]:
    option = compiled.opt
    if option.density or option.viscosity:
        yield Unsupported("fluid", f"a fluid of density {option.density:g} and viscosity {option.viscosity:g}")
    if option.integrator == mujoco.mjtIntegrator.mjINT_IMPLICIT:
        yield Unsupported("integrator", "the integrator implicit, with the derivatives of Coriolis forces")
    if option.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE:
        yield Unsupported("override", "contact parameters overridden in the options")
