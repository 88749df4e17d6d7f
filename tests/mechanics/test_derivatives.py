"""Derivatives of a motion by every number of a model against central differences, in float64."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim import fuse
from plausim.mechanics import observe, parse, robot, start
from plausim.mechanics.integrators import step
from plausim.mechanics.model import on_device
from plausim.mechanics.sensors import SENSORS
from plausim.paths import FIELDS, paths

from .random_trees import tree

STEPS = 4
# Beyond its limits or below them, against a force that is capped or not: everything that a number can do, is done.
JOINTED = """<mujoco><compiler angle="radian" autolimits="true"/>
<option timestep="0.002" gravity="0.5 -0.3 -9.81" integrator="{integrator}"/>
<default><default class="body">
  <geom type="box" contype="0" conaffinity="0" size="0.05 0.06 0.2" pos="0.02 0.01 -0.2" mass="0.7"/>
</default></default>
<worldbody><body name="upper" childclass="body" pos="0.1 0 1"><geom/>
  <joint name="high" axis="0.1 1 0.2" pos="0 0.02 0.01" range="-1 0.3" damping="0.3" armature="0.02" frictionloss="0.2"
    stiffness="2" springref="0.4" ref="0.1"/>
  <body name="lower" pos="0 0 -0.4" quat="0.9 0.1 0.3 0.2"><geom/>
    <joint name="low" axis="1 0.1 0" range="0.2 1" damping="0.1" frictionloss="0.1" stiffness="1"/>
    <joint name="rail" type="slide" axis="0 0.3 1" damping="1" frictionloss="0.5" stiffness="20" springref="-0.1"
      actuatorfrcrange="-0.5 0.4"/>
    <body name="hand" pos="0 0 -0.4"><geom/><site name="tip" pos="0.1 0.2 0.3"/>
      <joint name="wrist" type="ball" pos="0 0 0.1" damping="0.1" stiffness="0.5" armature="0.03" frictionloss="0.1"/>
      <body name="thumb" pos="0.1 0 -0.2"><geom/><joint name="thumb" axis="0 1 1" actuatorfrcrange="-0.3 0.6"/></body>
  </body></body></body></worldbody>
<actuator>
  <motor name="held low" joint="low" gear="2" ctrlrange="-0.5 0.6" forcerange="-0.2 0.8"/>
  <motor name="held high" joint="high" gear="1.5" ctrlrange="-0.6 0.4" forcerange="-0.3 0.1"/>
  <position name="place" joint="low" kp="3" kv="0.4" gear="0.8" ctrlrange="-9 0.1"/>
  <velocity name="speed" joint="high" kv="0.7" ctrlrange="0.7 9"/>
  <general name="any" joint="high" gaintype="affine" biastype="affine" gainprm="0.3 0.4 0.5" biasprm="0.1 -0.2 0.3"/>
  <motor name="three" joint="wrist" gear="0.3 0.4 0.5"/>
  <motor name="push" joint="rail" gear="9"/><motor name="pull" joint="thumb" gear="-9"/>
</actuator>
<sensor><framepos objtype="site" objname="tip"/></sensor></mujoco>"""
CONTROLS = np.array([-0.4, 0.9, 0.3, 0.2, 0.6, 0.3, 0.5, 0.4])

TOUCHING = """<mujoco><compiler angle="radian"/><option timestep="0.0005"/>
<default><geom friction="0.2" mass="0.5"/></default>
<worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.4" euler="0.1 0.05 0"/>
{bodies}</worldbody><contact>{apart}</contact></mujoco>"""
SHAPES = {
    "sphere": 'type="sphere" size="0.1"', "capsule": 'type="capsule" size="0.1 0.2"',
    "box": 'type="box" size="0.1 0.2 0.1"', "cylinder": 'type="cylinder" size="0.1 0.1"',
}  # fmt: skip
PLACES = {  # each of them sinks into the floor, and some into each other
    "sphere": 'pos="0 0 0.095"', "capsule": 'pos="0.19 0.02 0.08" euler="1.5 0.1 0"',
    "box": 'pos="2 0 0" euler="0.15 0.1 0.3"', "cylinder": 'pos="0 2 -0.05" euler="0.7 0.2 0"',
}  # fmt: skip
CAPSULES = """<body name="one" pos="-2 0 0.08" euler="1.5 0 0.2"><freejoint/>
<geom name="one" type="capsule" size="0.1 0.2"/></body>
<body name="two" pos="-2 0 0.27" euler="1.5 0 1.3"><freejoint/>
<geom name="two" type="capsule" size="0.1 0.2"/></body>
"""


def jointed(integrator: str = "Euler"):
    model = parse(JOINTED.format(integrator=integrator))
    rng = np.random.default_rng(0)
    begin = start(model)
    begin += np.where(np.arange(begin.size) < 7, 0.1, 0.5) * rng.normal(size=begin.size)
    begin[0], begin[1] = 0.5, 0.1  # past the upper limit, and past the lower one
    return model, begin, CONTROLS


def touching():
    loose = "".join(
        f'<body name="{name}" {PLACES[name]}><freejoint name="{name}"/><geom name="{name}" {shape}/></body>'
        for name, shape in SHAPES.items()
    )
    bodies = [*SHAPES, "one", "two"]
    apart = "".join(
        f'<exclude body1="{a}" body2="{b}"/>'
        for i, a in enumerate(bodies)
        for b in bodies[i + 1 :]
        if {a, b} & {"box", "cylinder"}
    )
    model = parse(TOUCHING.format(bodies=loose + CAPSULES, apart=apart))
    begin = start(model)
    begin[-36:] = 0.3 * np.random.default_rng(0).normal(size=36)
    return model, begin, np.zeros(0)


def tree_of_all_kinds():
    model = parse(tree(11, 8))
    begin = start(model)
    begin += 0.3 * np.random.default_rng(1).normal(size=begin.size)
    return model, begin, np.random.default_rng(2).normal(size=len(model.actuators.name))


def cart():
    """Past the end of its rail."""
    begin = start(robot("cartpole")) + np.array([2.01, 0.3, 0.2, -0.4])
    return robot("cartpole"), begin, np.array([3.0])


def along():
    """A robot that comes along, with contacts and limits."""
    model = robot("hopper")
    begin = start(model)
    begin[1] -= 0.02
    return model, begin + 0.05 * np.cos(np.arange(begin.size)), 0.1 * np.ones(len(model.actuators.name))


CASES = {
    "cart and pole": cart, "joints and actuators": jointed, "the same, implicit": lambda: jointed("implicitfast"),
    "the same, RK4": lambda: jointed("RK4"), "contacts": touching, "a tree": tree_of_all_kinds, "hopper": along,
}  # fmt: skip
OFTEN = {"cart and pole"}


@cache
def slopes(case: str, of_tens: bool) -> dict[str, tuple[float, float, float]]:
    """By path: the derivative, what central differences say, and how far rounding carries these."""
    model, begin, control = CASES[case]()
    known = {name: path for name, path in paths(model).items() if (path.ten is not None) == of_tens}
    device, rng = on_device(model), np.random.default_rng(0)
    at = jnp.array([float(path.read(model)) for path in known.values()])
    at = at * (1 + 0.01 * rng.normal(size=at.shape))  # so that of two equal numbers one is the larger
    state, control = jnp.asarray(begin), jnp.asarray(control)
    weights = jnp.asarray(rng.normal(size=begin.size + sum(SENSORS[sensor.kind].count for sensor in model.sensors)))

    def reached(values):
        placed = device
        for path, value in zip(known.values(), values, strict=True):
            placed = path.write(placed, value)

        def advance(state, control):
            state = step(placed, state, control)
            return state, observe(placed, state, control)

        end, seen = fuse.scan(advance, state, jnp.tile(control, (STEPS, 1)))
        return weights @ jnp.concatenate([end, seen[-1]])

    h = 1e-4 * np.maximum(np.abs(np.asarray(at)), 0.02)
    around = jax.jit(jax.vmap(reached))
    nudged = {k: around(np.asarray(at) + k * np.diag(h)) for k in (-2, -1, 1, 2)}
    expected = (8 * (nudged[1] - nudged[-1]) - (nudged[2] - nudged[-2])) / (12 * h)
    value, found = jax.jit(jax.value_and_grad(reached))(at)
    rounding = 50 * np.finfo(float).eps * abs(value) / h
    return dict(zip(known, zip(found.tolist(), expected.tolist(), rounding.tolist(), strict=True), strict=True))


def wrong(case: str, of_tens: bool = False) -> dict[str, tuple[float, float]]:
    """What is further than 1e-6 from central differences."""
    return {
        path: (found, expected)
        for path, (found, expected, rounding) in slopes(case, of_tens).items()
        if not abs(found - expected) <= 1e-6 * abs(expected) + rounding
    }


@pytest.mark.parametrize("case", [c if c in OFTEN else pytest.param(c, marks=pytest.mark.slow) for c in CASES])
def test_by_every_number(case):
    assert wrong(case) == {}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["joints and actuators", "hopper"])
def test_by_the_ten_numbers_of_a_body(case):
    assert wrong(case, of_tens=True) == {}


@pytest.mark.slow
def test_every_kind_of_number_moved_something():
    """All that `plausim.paths` knows: no derivative above was right only because it was zero."""
    found = {path for case in CASES for path, (_, expected, _) in slopes(case, False).items() if abs(expected) > 1e-9}
    missing = {
        f"{part}.{field}"
        for part, fields in FIELDS.items()
        for field in fields
        if not any(path.split(":")[-1].split(".")[1:2] == [field] for path in found)
    }
    assert not missing
    for name in (".kp", ".kv", "gravity.x", "gravity.y", "gravity.z", "timestep", ".inertia.xy", ".size.2", ".gain.2"):
        assert any(path.endswith(name) for path in found), name
