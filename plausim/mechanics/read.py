"""Robots out of MJCF and URDF files, by MuJoCo's own compiler.

    load(path)      a file, with the meshes it names
    parse(text)     the same as text

MuJoCo says what every default and inertia comes to; here it only becomes a `Model`. Its limits and contacts, which are
solved as constraints, become springs and dampers as stiff as their time constants say; what a file says of them in
`<custom>` numerics (see `write`) is taken instead.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from . import compiling
from .contacting import geoms
from .model import Actuators, Bodies, Joints, Model, Sensor, Sites
from .sensors import SENSORS
from .unsupported import GROUPS, Unsupported, sensor_kind, unsupported

KINDS = {int(getattr(mujoco.mjtJoint, f"mjJNT_{kind.upper()}")): kind for kind in ("free", "ball", "slide", "hinge")}
INTEGRATORS = {
    int(mujoco.mjtIntegrator.mjINT_EULER): "damped",
    int(mujoco.mjtIntegrator.mjINT_RK4): "rk4",
    int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST): "implicit",
    int(mujoco.mjtIntegrator.mjINT_IMPLICIT): "implicit",  # if the rest of it is to be ignored
}
FRICTION_SPEED = {"slide": 0.01}  # m/s, of the others 0.1 rad/s: where dry friction is at 71 %
LIMIT_DISSIPATION = 1.0  # s/rad or s/m


def load(path: str | os.PathLike, ignore: Sequence[str] = ()) -> Model:
    """Read a robot from an MJCF (.xml) or URDF file.

    What the file holds that is not simulated (tendons, equality constraints, ...) is an error that lists it all, with
    the groups that `ignore` may name to drop it.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no model file {file}; name an MJCF (.xml) or URDF (.urdf) file.")
    text = file.read_text(errors="replace")
    return _model(lambda: mujoco.MjSpec.from_file(str(file)), ignore, str(file), text)


def parse(text: str, ignore: Sequence[str] = ()) -> Model:
    """Read a robot from the text of an MJCF or URDF file.

    Example:
        >>> from plausim import mechanics
        >>> body = '<body><joint name="pivot"/><geom name="bob" size="0.1" pos="0 0 -1"/></body>'
        >>> mechanics.parse(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        Model(1 bodies, 1 joints, 0 actuators, 0 sites, 0 geoms)

    """
    return _model(lambda: mujoco.MjSpec.from_string(text), ignore, "the model", text)


def _model(read: Callable[[], Any], ignore: Sequence[str], where: str, text: str) -> Model:
    spec, compiled, source = compiling.compiled(read, where, text)
    problems = list(unsupported(spec, compiled))
    shapes, touching = geoms(compiled, _numerics(compiled))
    _refuse([*problems, *touching], ignore, where)
    bad = {(p.group, p.name) for p in problems}
    sites, sensors = _sites_and_sensors(compiled, [s for s in spec.sensors if ("sensor", s.name) not in bad])
    model = Model(
        bodies=_bodies(compiled),
        joints=_joints(compiled),
        actuators=_actuators(compiled, [a.id for a in spec.actuators if ("actuator", a.name) not in bad]),
        sites=sites,
        geoms=shapes,
        gravity=np.zeros(3) if off(compiled, "GRAVITY") else compiled.opt.gravity.copy(),
        timestep=np.array(compiled.opt.timestep),
        sensors=sensors,
        integrator=_integrator(compiled),
        source=source,
    )
    _finite(model, where)
    return model


def _finite(model: Model, where: str) -> None:
    """MuJoCo reads nan and inf as numbers; only a limit may be one."""
    for part in (model.bodies, model.joints, model.actuators, model.sites, model.geoms):
        for field, numbers in vars(part).items():
            if field.endswith(("lower", "upper")) or not isinstance(numbers, np.ndarray):
                continue
            for name, own in zip(part.name, numbers, strict=True):
                if not np.all(np.isfinite(own)):
                    raise ValueError(f"{where} has the {field} {own} of {name!r}; every number must be finite.")
    if not np.all(np.isfinite(model.gravity)):
        raise ValueError(f"{where} has the gravity {model.gravity}; every number must be finite.")


def _refuse(problems: Sequence[Unsupported], ignore: Sequence[str], where: str) -> None:
    for group in ignore:
        if group not in GROUPS:
            raise ValueError(f"nothing is called {group!r} that could be ignored; there are {', '.join(GROUPS)}.")
    left = [p for p in problems if p.group not in ignore]
    if left:
        listed = "\n".join(f"  - {p}" for p in left)
        groups = sorted({p.group for p in left} | set(ignore))
        raise ValueError(
            f"{where} holds what is not simulated:\n{listed}\nTake it out of the file, or drop it with ignore={groups}."
        )


def _numerics(compiled: Any) -> dict[str, np.ndarray]:
    """Our own numbers in the file's <custom> section."""
    found = {}
    for i in range(compiled.nnumeric):
        start, size = compiled.numeric_adr[i], compiled.numeric_size[i]
        found[compiled.numeric(i).name] = compiled.numeric_data[start : start + size].copy()
    return found


def given(numerics: dict[str, np.ndarray], own: Sequence[str], field: str, default: np.ndarray) -> np.ndarray:
    """One of our own numbers for each element by name, or what it is by default."""
    found = [numerics.get(f"plausim/{name}.{field}", [d])[0] for name, d in zip(own, default, strict=True)]
    return np.array(found, float)


def off(compiled: Any, flag: str) -> bool:
    """Whether the options switch it off, alone or with all constraints."""
    flags = [flag, "CONSTRAINT"] if flag in ("CONTACT", "FRICTIONLOSS", "LIMIT") else [flag]
    return any(compiled.opt.disableflags & getattr(mujoco.mjtDisableBit, f"mjDSBL_{f}") for f in flags)


def _integrator(compiled: Any) -> str:
    chosen = INTEGRATORS[int(compiled.opt.integrator)]
    return "euler" if chosen == "damped" and off(compiled, "EULERDAMP") else chosen


def snapped(matrix: np.ndarray) -> np.ndarray:
    """A rotation whose entries within rounding of 0 and 1 are just that, so that they cost nothing."""
    nearest = np.round(matrix)
    return np.where(np.abs(matrix - nearest) < 1e-13, nearest, matrix) + 0.0


def turned(quaternion: np.ndarray) -> np.ndarray:
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return snapped(matrix.reshape(3, 3))


def names(compiled: Any, kind: str, numbers: Iterable[int]) -> tuple[str, ...]:
    """As the file has them; what has none is called by its kind and number."""
    return tuple(getattr(compiled, kind)(i).name or f"{kind}{i}" for i in numbers)


def _bodies(compiled: Any) -> Bodies:
    rows = range(1, compiled.nbody)
    turns = np.array([turned(q) for q in compiled.body_iquat[1:]]).reshape(-1, 3, 3)
    inertia = turns @ (compiled.body_inertia[1:, :, None] * np.swapaxes(turns, 1, 2))
    return Bodies(
        name=names(compiled, "body", rows),
        parent=tuple(int(p) - 1 for p in compiled.body_parentid[1:]),
        pos=compiled.body_pos[1:].copy(),
        turn=np.array([turned(q) for q in compiled.body_quat[1:]]).reshape(-1, 3, 3),
        tilt=np.zeros((len(rows), 3)),
        mass=compiled.body_mass[1:].copy(),
        com=compiled.body_ipos[1:].copy(),
        inertia=np.stack([inertia[:, a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], 1),
    )


def _joints(compiled: Any) -> Joints:
    count, dof, place = compiled.njnt, compiled.jnt_dofadr, compiled.jnt_qposadr
    kinds = tuple(KINDS[int(t)] for t in compiled.jnt_type)
    scalar = np.array([k in ("hinge", "slide") for k in kinds], bool)
    own, numerics = names(compiled, "joint", range(count)), _numerics(compiled)
    limited = compiled.jnt_limited.astype(bool) & scalar & (not off(compiled, "LIMIT"))
    limits = compiled.jnt_actfrclimited.astype(bool)

    def ours(field: str, default: np.ndarray) -> np.ndarray:
        return given(numerics, own, field, default)

    def unless(flag: str, numbers: np.ndarray) -> np.ndarray:
        return np.zeros(count) if off(compiled, flag) else numbers.copy()

    reference = np.where(scalar, compiled.qpos0[place], 0.0) if count else np.zeros(0)
    rest = np.where(scalar, compiled.qpos_spring[place], 0.0) if count else np.zeros(0)
    return Joints(
        name=own,
        kind=kinds,
        body=tuple(int(b) - 1 for b in compiled.jnt_bodyid),
        limited=tuple(limited.tolist()),
        axis=snapped(compiled.jnt_axis),
        pos=compiled.jnt_pos.copy(),
        ref=reference,
        damping=unless("DAMPER", compiled.dof_damping[dof]),
        armature=compiled.dof_armature[dof].copy(),
        frictionloss=unless("FRICTIONLOSS", compiled.dof_frictionloss[dof]),
        frictionspeed=ours("frictionspeed", np.array([FRICTION_SPEED.get(k, 0.1) for k in kinds])),
        stiffness=unless("SPRING", compiled.jnt_stiffness),
        springref=rest,
        lower=compiled.jnt_range[:, 0].copy(),
        upper=compiled.jnt_range[:, 1].copy(),
        limitstiffness=ours("limitstiffness", spring(compiled.jnt_solref) / compiled.dof_invweight0[dof]),
        limitdissipation=ours("limitdissipation", np.full(count, LIMIT_DISSIPATION)),
        forcelower=compiled.jnt_actfrcrange[:, 0].copy(),
        forceupper=compiled.jnt_actfrcrange[:, 1].copy(),
        forcelimited=tuple((limits & scalar).tolist()),
    )


def spring(solref: np.ndarray) -> np.ndarray:
    """1 / s^2 out of MuJoCo's (time constant, damping ratio), or (-stiffness, -damping)."""
    return np.where(solref[:, 0] > 0, 1.0 / np.maximum(solref[:, 0], 1e-6) ** 2, -solref[:, 0])


def _actuators(compiled: Any, rows: Sequence[int]) -> Actuators:
    rows = [] if off(compiled, "ACTUATION") else list(rows)
    clamped = not off(compiled, "CLAMPCTRL")
    gains = compiled.actuator_gaintype[rows] == mujoco.mjtGain.mjGAIN_AFFINE
    biases = compiled.actuator_biastype[rows] == mujoco.mjtBias.mjBIAS_AFFINE
    gain, bias = compiled.actuator_gainprm[rows, :3].copy(), compiled.actuator_biasprm[rows, :3].copy()
    gain[:, 1:] *= gains[:, None]
    return Actuators(
        name=names(compiled, "actuator", rows),
        joint=tuple(int(j) for j in compiled.actuator_trnid[rows, 0]),
        ctrllimited=tuple(bool(x) and clamped for x in compiled.actuator_ctrllimited[rows]),
        forcelimited=tuple(bool(x) for x in compiled.actuator_forcelimited[rows]),
        gear=compiled.actuator_gear[rows].copy(),
        gain=gain,
        bias=bias * biases[:, None],
        ctrllower=compiled.actuator_ctrlrange[rows, 0].copy(),
        ctrlupper=compiled.actuator_ctrlrange[rows, 1].copy(),
        forcelower=compiled.actuator_forcerange[rows, 0].copy(),
        forceupper=compiled.actuator_forcerange[rows, 1].copy(),
    )


def _sites_and_sensors(compiled: Any, chosen: Sequence[Any]) -> tuple[Sites, tuple[Sensor, ...]]:
    """Sites of the file, and one for each sensor that looks at a body. Its inertia's axes are those of the file."""
    name, body = list(names(compiled, "site", range(compiled.nsite))), [int(b) - 1 for b in compiled.site_bodyid]
    pos, turn = list(compiled.site_pos), [turned(q) for q in compiled.site_quat]
    at_com, sensors = [False] * compiled.nsite, []
    for element in chosen:
        s = element.id
        kind, number, thing = sensor_kind(compiled, s), int(compiled.sensor_objid[s]), compiled.sensor_objtype[s]
        if SENSORS[kind].of == "sites" and thing != mujoco.mjtObj.mjOBJ_SITE:
            inertial = thing == mujoco.mjtObj.mjOBJ_BODY
            name.append(f"{compiled.body(number).name or f'body{number}'}{' (inertia)' if inertial else ''}")
            body.append(number - 1)
            pos.append(np.zeros(3))
            turn.append(turned(compiled.body_iquat[number]) if inertial else np.eye(3))
            at_com.append(inertial and number > 0)
            number = len(name) - 1
        sensors.append(Sensor(element.name or f"sensor{s}", kind, number))
    places, axes = np.array(pos).reshape(-1, 3), np.array(turn).reshape(-1, 3, 3)
    return Sites(tuple(name), tuple(body), tuple(at_com), places, axes), tuple(sensors)
