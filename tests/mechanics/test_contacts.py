"""Contacts against the laws of mechanics: rest, sliding, bouncing; and their gradients against finite differences."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from scipy.optimize import root_scalar

from plausim.mechanics import parse, simulate, start
from plausim.mechanics.contacts import between, contact_force, contact_forces, points
from plausim.mechanics.forces import pushed, rubbed
from plausim.mechanics.kinematics import frames
from plausim.mechanics.model import on_device
from plausim.paths import paths

GRAVITY = 9.81
SHAPES = {  # a geom of 1 kg, and the height of its middle when it just touches the floor
    "sphere": ('type="sphere" size="0.1"', 0.1),
    "capsule": ('type="capsule" size="0.1 0.2" euler="0 90 0"', 0.1),
    "box": ('type="box" size="0.1 0.2 0.3"', 0.3),
    "cylinder": ('type="cylinder" size="0.1 0.2"', 0.2),
    "cylinder on its side": ('type="cylinder" size="0.1 0.2" euler="90 0 0"', 0.1),
}
SPRINGS = {"sphere": 1, "capsule": 2, "box": 4, "cylinder": 4, "cylinder on its side": 2}  # points that carry it


def on_floor(
    geom: str, height: float, joints: str = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>'
):
    """A body of 1 kg over a plane."""
    model = parse(f"""<mujoco><option timestep="0.0005"/><default><geom friction="0.4"/></default><worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="thing" pos="0 0 {height}">{joints}<geom name="thing" {geom} mass="1"/></body></worldbody></mujoco>""")
    return with_geoms(model, stiffness=[40000.0, 40000.0], dissipation=[2.0, 2.0], slipspeed=[0.002, 0.002])


def with_geoms(model, **numbers):
    return replace(model, geoms=replace(model.geoms, **{name: np.array(n) for name, n in numbers.items()}))


@pytest.mark.parametrize("shape", SHAPES)
def test_rest_penetration(shape):
    """It sinks in until the springs carry its weight: two surfaces of 40 kN/m in series at each point."""
    model = on_floor(*SHAPES[shape])
    settled = simulate(model, start(model), steps=6000)[-1]
    assert abs(float(settled[3])) < 1e-3
    expected = GRAVITY / (SPRINGS[shape] * 20000.0)
    np.testing.assert_allclose(-settled[1], expected, rtol=0.02)


@pytest.mark.parametrize("shape", SHAPES)
def test_sliding_distance(shape):
    """v^2 / (2 mu g), for what slides without turning."""
    model = on_floor(*SHAPES[shape])
    settled = np.asarray(simulate(model, start(model), steps=6000)[-1])
    speed = 2.0
    moving = settled.copy()
    moving[2] = speed
    stopped = simulate(model, moving, steps=2200)[-1]
    np.testing.assert_allclose(stopped[0] - settled[0], speed**2 / (2 * 0.4 * GRAVITY), rtol=0.02)


def dissipation_for(restitution: float, speed: float) -> float:
    """The law's own energy balance without gravity: c v - ln(1 + c v) = -c w - ln(1 - c w), w = restitution * v."""

    def balance(x: float) -> float:  # x = c v
        return x - np.log1p(x) + restitution * x + np.log1p(-restitution * x)

    return root_scalar(balance, bracket=(1e-3, (1 - 1e-12) / restitution)).root / speed


@pytest.mark.parametrize("restitution", [0.9, 0.7, 0.5])
def test_bounce_height(restitution):
    """e^2 times the height it fell from. So stiff a floor that its weight does no work while it touches."""
    fallen = 0.2
    dissipation = dissipation_for(restitution, np.sqrt(2 * GRAVITY * fallen))
    model = with_geoms(on_floor(*SHAPES["sphere"]), dissipation=[dissipation] * 2, stiffness=[4e6] * 2)
    model = replace(model, timestep=np.array(1e-5))
    drop = start(model)
    drop[1] = fallen
    flight = np.asarray(simulate(model, drop, steps=60000)[:, 1])
    landed = int(np.argmax(flight < 0))
    np.testing.assert_allclose(flight[landed:].max(), restitution**2 * fallen, rtol=0.02)


PAIRS = [("sphere", "plane"), ("capsule", "plane"), ("box", "plane"), ("cylinder", "plane"),
         ("sphere", "sphere"), ("capsule", "sphere"), ("capsule", "capsule")]  # fmt: skip
SIZES = {"plane": "5 5 1", "sphere": "0.3", "capsule": "0.2 0.4", "box": "0.2 0.3 0.4", "cylinder": "0.2 0.4"}


@pytest.mark.parametrize("first, second", PAIRS)
def test_depth_is_mujocos(first, second):
    """The deepest point of a pair, in random poses in which it touches."""
    rng, seen = np.random.default_rng(5), 0
    fixed = f'<geom name="b" type="{second}" size="{SIZES[second]}"/>' if second == "plane" else ""
    other = "" if fixed else f'<body><freejoint/><geom name="b" type="{second}" size="{SIZES[second]}"/></body>'
    text = f"""<mujoco><worldbody>{fixed}{other}
    <body><freejoint/><geom name="a" type="{first}" size="{SIZES[first]}"/></body></worldbody></mujoco>"""
    compiled = mujoco.MjModel.from_xml_string(text)
    data, model = mujoco.MjData(compiled), on_device(parse(text))
    depths = jax.jit(lambda q: jnp.stack([p.depth for _, p in points(model, q)]))
    while seen < 10:
        data.qpos[:] = rng.normal(size=compiled.nq) * 0.3
        mujoco.mj_normalizeQuat(compiled, data.qpos)
        mujoco.mj_forward(compiled, data)
        if data.ncon and data.contact.dist.min() > -0.15:
            seen += 1
            deepest = depths(jnp.asarray(data.qpos.copy())).max()
            np.testing.assert_allclose(deepest, -data.contact.dist.min(), atol=2e-6)


def test_forces_between_bodies_are_equal_and_opposite():
    """In the world, and their moments about its origin too."""
    text = """<mujoco><worldbody>
    <body pos="0 0 0" euler="20 30 0"><freejoint/><geom type="capsule" size="0.2 0.4"/></body>
    <body pos="0.3 0.1 0" euler="0 40 50"><freejoint/><geom type="sphere" size="0.2"/></body></worldbody></mujoco>"""
    model = on_device(parse(text))
    q = jnp.asarray(start(model)[:14])
    wrenches = contact_forces(model, q, jnp.arange(12.0) / 100)
    total = {}
    for body, (turn, pos) in enumerate(frames(model, q)):
        torque, force = turn @ wrenches[body][:3], turn @ wrenches[body][3:]
        total[body] = np.concatenate([torque + np.cross(pos, force), force])
    np.testing.assert_allclose(total[0], -total[1], atol=1e-12)
    assert np.linalg.norm(total[0][3:]) > 1


RULES = {  # of the ball: condim, priority, friction; which friction of the pair holds, the floor's being 0.4
    "the larger": (3, 0, 0.1, 0.4), "the larger, the other": (3, 0, 0.7, 0.7), "that of priority": (3, 1, 0.1, 0.1),
    "none": (1, 1, 0.7, 0.0), "one of them has some": (1, 0, 0.1, 0.4),
}  # fmt: skip


@pytest.mark.parametrize("condim, priority, friction, holds", RULES.values(), ids=RULES.keys())
def test_friction_of_a_pair_is_mujocos(condim, priority, friction, holds):
    text = f"""<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1" friction="0.4"/>
    <body pos="0 0 0.09"><freejoint/>
    <geom name="ball" size="0.1" condim="{condim}" priority="{priority}" friction="{friction}"/></body>
    </worldbody></mujoco>"""
    compiled = mujoco.MjModel.from_xml_string(text)
    data, model = mujoco.MjData(compiled), on_device(parse(text))
    mujoco.mj_forward(compiled, data)
    assert (data.contact.friction[0, 0] if data.contact.dim[0] > 1 else 0.0) == holds
    assert float(between(model, 0).friction) == holds
    sliding = jnp.array([2.0, 0, 0, 0, 0, 0])
    force = contact_forces(model, jnp.asarray(data.qpos.copy()), sliding)[0][3:]
    np.testing.assert_allclose(-force[0] / force[2], holds, rtol=1e-4)
    there = {"floor.friction", "ball.friction", "ball.slipspeed"} & set(paths(model))
    assert there == {f"{model.geoms.name[i]}.friction" for i in model.geoms.rough[0]} | (
        {"ball.slipspeed"} if holds else set()
    )


def test_laws():
    stiffness, dissipation = jnp.array(100.0), jnp.array(2.0)
    assert pushed(jnp.array(-0.1), jnp.array(1.0), stiffness, dissipation) == 0
    assert pushed(jnp.array(0.1), jnp.array(-9.0), stiffness, dissipation) == 0  # it never pulls
    np.testing.assert_allclose(pushed(jnp.array(0.1), jnp.array(0.5), stiffness, dissipation), 20.0)
    np.testing.assert_allclose(jnp.linalg.norm(rubbed(jnp.array([3.0, 4.0]), jnp.array(1e-6))), 1.0)
    np.testing.assert_allclose(rubbed(jnp.array([0.1]), jnp.array(0.1)), 1 / np.sqrt(2))
    assert callable(contact_force)


NUMBERS = {
    "friction": ("geoms", 1.0),
    "stiffness": ("geoms", 1e5),
    "dissipation": ("geoms", 1.0),
    "mass": ("bodies", 1.0),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_gradients(what):
    """By what a contact is made of, where the ball slides and stays on the floor."""
    model = on_floor(*SHAPES["sphere"])
    begin = start(model)
    begin[1], begin[2] = -0.0006, 1.0

    part, scale = NUMBERS[what]
    device = on_device(model)

    def place(value):
        elements = getattr(device, part)
        return replace(device, **{part: replace(elements, **{what: getattr(elements, what).at[0].set(scale * value)})})

    def reached(value):
        return simulate(place(value), begin, steps=300)[-1] @ jnp.array([1.0, 10.0, 0.1, 0.1])

    at, h = 0.6, 1e-6
    slope = jax.grad(reached)(at)
    expected = (reached(at + h) - reached(at - h)) / (2 * h)
    assert abs(float(expected)) > 1e-8
    np.testing.assert_allclose(slope, expected, rtol=1e-4)
