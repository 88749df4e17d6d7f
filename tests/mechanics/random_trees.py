"""Random robots as MJCF: trees of bodies with joints of all kinds, damping, armature, springs, servos, sensors."""

from collections.abc import Iterable

import numpy as np

SENSORS = ("framepos", "framequat", "framexaxis", "framelinvel", "frameangvel", "velocimeter", "gyro", "accelerometer")


class Draw:
    """Random numbers as words."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def words(self, low: float, high: float, count: int = 1) -> str:
        return " ".join(repr(float(x)) for x in self.rng.uniform(low, high, count))

    def direction(self, count: int) -> str:
        v = self.rng.normal(size=count)
        return " ".join(repr(float(x)) for x in v / np.linalg.norm(v))

    def pick(self, options: Iterable) -> str:
        return str(self.rng.choice(list(options)))


ON_A_BODY = {  # the joints of one body
    "hinge": ("hinge",), "slide": ("slide",), "ball": ("ball",), "universal": ("hinge", "hinge"),
    "three": ("slide", "hinge", "hinge"), "slide and ball": ("slide", "ball"), "fixed": (), "free": ("free",),
}  # fmt: skip


def tree(
    seed: int, joints: int, forces: bool = True, kinds: Iterable[str] = ON_A_BODY, integrator: str = "Euler"
) -> str:
    """At least so many joints. With `forces`, they have damping and springs, and there are actuators and sensors."""
    draw, bodies, total = Draw(seed), [], 0
    while total < joints:
        parent = int(draw.rng.integers(-1, len(bodies))) if bodies else -1
        allowed = [k for k in kinds if (k != "free" or parent < 0) and (k != "fixed" or bodies)]
        group = ON_A_BODY[draw.pick(allowed)]
        bodies.append((parent, [(kind, total + i) for i, kind in enumerate(group)]))
        total += len(group)
    body = "".join(_body(draw, bodies, i, forces) for i, (parent, _) in enumerate(bodies) if parent < 0)
    named = [pair for _, group in bodies for pair in group]
    return f"""<mujoco><compiler angle="radian" autolimits="true"/>
<option gravity="{draw.words(-9, 9, 3)}" timestep="0.002" integrator="{integrator}"/>
<worldbody>{body}</worldbody>
<actuator>{_actuators(draw, named) if forces else ""}</actuator>
<sensor>{_sensors(draw, len(bodies), named) if forces else ""}</sensor></mujoco>"""


def _body(draw: Draw, bodies: list, number: int, forces: bool) -> str:
    joints = "".join(_joint(draw, kind, name, forces) for kind, name in bodies[number][1])
    inner = "".join(_body(draw, bodies, i, forces) for i, (parent, _) in enumerate(bodies) if parent == number)
    place = f'pos="{draw.words(-0.5, 0.5, 3)}" quat="{draw.direction(4)}"'
    inertial = f'pos="{draw.words(-0.2, 0.2, 3)}" quat="{draw.direction(4)}" mass="{draw.words(0.5, 2)}"'
    site = f'<site name="s{number}" pos="{draw.words(-0.5, 0.5, 3)}" quat="{draw.direction(4)}"/>'
    return f"""<body name="b{number}" {place}>{joints}
<inertial {inertial} diaginertia="{draw.words(0.06, 0.1, 3)}"/>{site}{inner}</body>"""


def _joint(draw: Draw, kind: str, number: int, forces: bool) -> str:
    if kind == "free":
        return f'<joint name="j{number}" type="free"/>'
    own = f'axis="{draw.direction(3)}" pos="{draw.words(-0.3, 0.3, 3)}"'
    if kind != "ball":
        own += f' ref="{draw.words(-1, 1)}" springref="{draw.words(-1, 1)}"'
    if forces:
        own += f' damping="{draw.words(0, 2)}" stiffness="{draw.words(0, 5)}" armature="{draw.words(0, 0.2)}"'
    return f'<joint name="j{number}" type="{kind}" {own}/>'


def _actuators(draw: Draw, joints: list) -> str:
    lines = []
    for kind, number in joints:
        on = f'joint="j{number}" gear="{draw.words(-2, 2, 6)}" ctrlrange="-0.7 0.8"'
        if kind == "free":
            continue
        lines.append(draw.pick((
            f'<motor {on} forcerange="-1 1"/>',
            f'<position {on} kp="{draw.words(1, 9)}" kv="{draw.words(0, 2)}"/>',
            f'<velocity {on} kv="{draw.words(0, 2)}" forcerange="-2 2"/>',
            f'<general {on} gaintype="affine" biastype="affine" gainprm="{draw.words(-1, 1, 3)}" '
            f'biasprm="{draw.words(-1, 1, 3)}"/>',
        )))  # fmt: skip
    return "".join(lines)


def _sensors(draw: Draw, bodies: int, joints: list) -> str:
    lines = [
        f'<{kind} joint="j{n}"/>' for k, n in joints if k in ("hinge", "slide") for kind in ("jointpos", "jointvel")
    ]
    lines += [f'<{kind} joint="j{n}"/>' for k, n in joints if k == "ball" for kind in ("ballquat", "ballangvel")]
    for number in range(bodies):
        kind = draw.pick(SENSORS)
        frame = kind.startswith("frame")
        lines.append(f'<{kind} {f"""objtype="site" objname="s{number}" """ if frame else f"""site="s{number}" """}/>')
    if bodies:
        lines.append('<framepos objtype="body" objname="b0"/><framequat objtype="xbody" objname="b0"/>')
    return "".join(lines)
