"""Numbers of a model by path: found, limited, placed, refused."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import cholesky, parse, robot
from plausim.mechanics.spatial import symmetric
from plausim.parameters import (
    Parameter,
    choose,
    from_unit,
    impossible,
    limits,
    margins,
    parameter,
    place,
    sobol,
    to_unit,
)
from plausim.paths import changed, find, paths

EXAMPLES = {
    "double-pendulum": ("link2.mass", "link2.com.y", "link2.inertia.xx", "elbow.damping", "link2.pos.z", "gravity.z",
                        "timestep", "link1.logcholesky.d1", "link1.tilt.x"),
    "cartpole": ("rail.damping", "motor.gear", "motor.gain", "motor.ctrlupper", "pole.logcholesky.t3", "tip.pos.z"),
    "panda": ("servo1.kp", "servo1.kv", "servo1.forcelower",
              "joint3.frictionloss", "joint3.armature", "link4.inertia.xy"),
    "hopper": ("floor.friction", "geom:foot.stiffness", "knee.lower", "geom:foot.size.0"),
}  # fmt: skip


@pytest.mark.parametrize("name, path", [(name, path) for name, found in EXAMPLES.items() for path in found])
def test_a_path_reads_and_writes_one_number(name, path):
    model = robot(name)
    found = find(paths(model), path)
    before = float(found.read(model))
    after = found.write(model, jnp.asarray(before + 0.125))
    np.testing.assert_allclose(found.read(after), before + 0.125, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.read(model), before)  # the model itself stays


@pytest.mark.parametrize("name", ["double-pendulum", "cartpole", "hopper", "panda-box"])
def test_every_path_can_be_read(name):
    model = robot(name)
    for path in paths(model).values():
        assert np.ndim(path.read(model)) == 0, path.name


KINDS_OF_JOINT = """<mujoco>
  <worldbody><body><freejoint name="root"/><geom type="sphere" size="0.1"/>
    <body pos="0 0 1"><joint name="neck" type="ball"/><geom type="box" size="0.1 0.2 0.3"/>
      <body pos="0 0 1"><joint name="rail" type="slide" actuatorfrcrange="-5 5"/><geom size="0.1"/></body>
    </body></body>
  </worldbody>
  <actuator><velocity name="servo" joint="rail" kv="3"/>
    <general name="any" joint="rail" gainprm="1 2" gaintype="affine"/>
    <motor name="turn" joint="neck" gear="1 2 3"/></actuator>
</mujoco>"""


def test_only_what_is_used_has_a_path():
    known = paths(parse(KINDS_OF_JOINT))
    there = {"root.damping", "neck.stiffness", "rail.ref", "rail.forcelower", "servo.kv", "any.gain.1", "turn.gear.2",
             "turn.gain"}  # fmt: skip
    gone = {"root.ref", "neck.ref", "root.pos.x", "rail.lower", "servo.gain", "servo.kp", "turn.gain.1", "turn.gear.3",
            "turn.bias.0"}  # fmt: skip
    assert there <= set(known) and not gone & set(known)
    units = {"rail.damping": "N s/m", "neck.damping": "N m s/rad", "servo.kv": "N s/m", "rail.ref": "m"}
    assert {name: known[name].unit for name in units} == units


def test_reading_gives_what_the_file_says():
    model = robot("panda")
    said = {"servo1.kp": 4500, "servo1.kv": 450, "joint2.upper": 1.7628, "link3.mass": 3.228604,
            "link2.com.y": -0.02872, "link4.inertia.xy": 0.007796, "link7.pos.x": 0.088,
            "gravity.z": -9.81, "timestep": 0.001}  # fmt: skip
    known = paths(model)
    np.testing.assert_allclose([known[path].read(model) for path in said], list(said.values()), rtol=1e-12)


def test_a_servo_stays_a_servo():
    actuators = changed(robot("panda"), {"servo2.kp": 100.0, "servo2.kv": 20.0}).actuators
    np.testing.assert_array_equal(actuators.gain[1], [100, 0, 0])
    np.testing.assert_array_equal(actuators.bias[1], [0, -100, -20])


def test_elements_without_a_name_that_collide():
    inner = "<body><joint name='joint0'/><geom size='1'/></body>"
    text = f"<mujoco><worldbody><body><joint/><geom size='1'/>{inner}</body></worldbody></mujoco>"
    assert {"joint:joint0.damping", "joint:joint0.damping'"} <= set(paths(parse(text)))


MISTAKES = {
    "unknown": (
        [parameter("link2.mas", 0.1, 1.0)],
        "the model has no number link2.mas; did you mean link2.mass or",
    ),
    "not like any": ([parameter("zzz", 0.1, 1.0)], "`plausim parameters` lists all paths"),
    "twice": (
        [parameter("link2.mass", 0.05, 1.0), parameter("link2.mass", 0.05, 2.0)],
        "link2.mass is given 2 times",
    ),
    "tied twice": (
        [parameter("link2.mass", 0.05, 1.0), parameter("link1.mass", 0.05, 2.0, "link2.mass")],
        "link2.mass is set by link2.mass and by link1.mass; each number may be set once",
    ),
    "tied to itself": ([parameter("link2.mass", 0.05, 1.0, "link2.mass")], "link2.mass is set by link2.mass and"),
    "in two ways": (
        [parameter("link2.mass", 0.05, 1.0), parameter("link2.logcholesky.alpha", -3.0, 1.0)],
        "link2.mass follows from link2.logcholesky, which is chosen too",
    ),
    "nowhere": ([Parameter("load", 0.05, 1.0)], "load has no path, and there is no function that would use it"),
}


@pytest.mark.parametrize("chosen, says", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_named(chosen, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        choose(robot("double-pendulum"), chosen)


def test_a_path_that_may_be_several_says_so():
    with pytest.raises(ValueError, match=r"foot\.pos\.x may be body:foot\.pos\.x or geom:foot\.pos\.x"):
        choose(robot("hopper"), [parameter("foot.pos.x", 0.0, 1.0)])


BAD_LIMITS = {
    (1.0, 0.1, False): "link2.mass has the limits 1 and 0.1; give the lower one first",
    (1.0, 1.0, False): "link2.mass has the limits 1 and 1;",
    (0.0, float("inf"), False): "link2.mass has the limits 0 and inf; both must be finite",
    (float("nan"), 1.0, False): "both must be finite",
    (0.0, 1.0, True): "logarithmic scale from 0; start it above 0",
}


@pytest.mark.parametrize("limits, says", BAD_LIMITS.items())
def test_limits_that_cannot_be(limits, says):
    low, high, log = limits
    with pytest.raises(ValueError, match=re.escape(says)):
        parameter("link2.mass", low, high, log=log)


def test_limits_without_the_models_own_value_warn():
    with pytest.warns(UserWarning, match=r"link2\.mass is 0\.1 in the model, outside its limits 0\.5 and 1"):
        choose(robot("double-pendulum"), [parameter("link2.mass", 0.5, 1.0)])


def test_tied_parameters_and_functions_of_several():
    model = robot("panda-box")
    floor = [Parameter(f"{axis}{i}", -0.14, 0.14, unit="m") for i in (1, 2) for axis in "xy"]

    def weights(model, values):
        pos = model.bodies.pos
        for i in (1, 2):
            row = model.bodies.name.index(f"weight{i}")
            pos = pos.at[row, :2].set(jnp.stack([values[f"x{i}"], values[f"y{i}"]]))
        return replace(model, bodies=replace(model.bodies, pos=pos))

    both = parameter("universal_x.damping", 0.0, 0.15, "universal_y.damping")
    chosen = choose(model, [*floor, both], into=weights)
    placed = place(chosen, jnp.array([0.1, 0.02, -0.1, -0.03, 0.05]))
    first, second = (model.bodies.name.index(f"weight{i}") for i in (1, 2))
    np.testing.assert_allclose(placed.bodies.pos[first, :2], [0.1, 0.02])
    np.testing.assert_allclose(placed.bodies.pos[second, :2], [-0.1, -0.03])
    np.testing.assert_allclose(placed.joints.damping[-2:], 0.05)


def test_unit_box():
    chosen = choose(
        robot("double-pendulum"),
        [parameter("link2.mass", 0.05, 0.5), parameter("elbow.damping", 1e-5, 1e-1, log=True)],
    )
    np.testing.assert_allclose(from_unit(chosen, jnp.array([0.5, 0.5])), [0.275, 1e-3])
    points = jnp.asarray(sobol(chosen, 7))
    assert points.shape == (7, 2) and np.all((points > 0) & (points < 1))
    np.testing.assert_allclose(jax.vmap(lambda p: to_unit(chosen, from_unit(chosen, p)))(points), points, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_ten_numbers_are_a_body_that_can_exist(seed):
    ten = jnp.asarray(np.random.default_rng(seed).normal(size=10))
    mass, com, inertia = cholesky.decode(ten)
    moments = jnp.linalg.eigvalsh(symmetric(inertia))
    assert mass > 0 and moments[0] > 0 and moments[2] < moments[0] + moments[1]
    np.testing.assert_allclose(cholesky.encode(mass, com, inertia), ten, rtol=1e-9, atol=1e-9)


def test_several_of_the_ten_numbers_at_once_are_what_they_are_alone():
    model = robot("panda")
    values = {f"link3.logcholesky.{name}": 0.1 * i - 0.4 for i, name in enumerate(cholesky.NAMES)}
    chosen = choose(model, [parameter(path, -9.0, 9.0) for path in values])
    together = jax.jit(lambda v: place(chosen, v))(jnp.array(list(values.values())))
    alone = changed(model, {path: jnp.asarray(value) for path, value in values.items()})
    for field in ("mass", "com", "inertia"):
        np.testing.assert_allclose(getattr(together.bodies, field), getattr(alone.bodies, field), rtol=1e-9)
    assert impossible(together) == []


def test_a_body_that_cannot_exist_has_no_ten_numbers():
    model = changed(robot("double-pendulum"), {"link2.inertia.xx": 0.01})
    with pytest.raises(ValueError, match=r"link2 has no mass, or an inertia that no body can have"):
        choose(model, [parameter("link2.logcholesky.alpha", -5.0, 0.0)])


def test_changed_numbers_keep_every_digit():
    with jax.enable_x64(False):
        bodies = changed(robot("double-pendulum"), {"link2.mass": 0.123456789012}).bodies
    assert (bodies.mass.dtype, float(bodies.mass[1])) == (np.dtype("float64"), 0.123456789012)


def test_what_cannot_exist_is_said():
    model = robot("double-pendulum")
    assert impossible(model) == []
    heavy = replace(model.bodies, mass=np.array([-0.2, 0.1]), inertia=model.bodies.inertia * [[5, 1, 1, 1, 1, 1]])
    said = " ".join(impossible(replace(model, bodies=heavy)))
    assert "link1.mass: -0.2" in said and "link2.inertia" in said


IMPOSSIBLE = {
    "link2.mass": (-0.2, "link2.mass: -0.2 is below 0"),
    "link1.inertia.xx": (0.0011, "link1.inertia (no principal moment"),
    "elbow.damping": (-1e-3, "elbow.damping: -0.001 is below 0"),
    "timestep": (0.0, "timestep: 0"),
    "shoulder.armature": (float("nan"), "shoulder.armature: nan"),
}


@pytest.mark.parametrize("path", IMPOSSIBLE)
def test_each_impossible_number_is_named(path):
    value, says = IMPOSSIBLE[path]
    (said,) = impossible(changed(robot("double-pendulum"), {path: value}))
    assert said.startswith(says)


def test_reversed_joint_limits_and_negative_friction_are_impossible():
    said = impossible(changed(robot("hopper"), {"knee.lower": 3.0, "floor.friction": -0.1}))
    assert [s.split(":")[0] for s in said] == ["floor.friction", "knee.upper - knee.lower"]


@pytest.mark.parametrize("name", ["pendulum", "double-pendulum", "cartpole", "hopper", "panda", "panda-box"])
def test_the_models_that_come_along_can_exist(name):
    assert impossible(robot(name)) == []


def test_margins_have_gradients():
    """An inertia (a, a, c) is at the triangle's limit for c = 2 a; its margin is (a + a - c) / 2 of a + a + c."""
    model = robot("double-pendulum")
    chosen = choose(model, [parameter("link2.inertia.zz", 1e-5, 1e-2)])

    @jax.jit
    @jax.value_and_grad
    def margin(values):
        found = margins(place(chosen, values))
        return next(v for name, v in found.items() if name.startswith("link2.inertia"))

    a = float(model.bodies.inertia[1, 0])
    at = lambda c: (2 * a - c) / (2 * (2 * a + c)) + 1e-6  # noqa: E731
    for c in (1.5 * a, 2 * a, 3 * a):
        value, (slope,) = margin(jnp.array([c]))
        np.testing.assert_allclose([value, slope], [at(c), -2 * a / (2 * a + c) ** 2], rtol=1e-9)


def test_limits_are_in_order():
    chosen = choose(robot("double-pendulum"), [parameter("link2.mass", 0.05, 1.0), parameter("gravity.z", -11.0, -9.0)])
    np.testing.assert_array_equal(limits(chosen), [[0.05, -11.0], [1.0, -9.0]])
    assert [p.unit for p in chosen.chosen] == ["kg", "m/s^2"]
