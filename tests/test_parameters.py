"""Numbers of a model by path: found, limited, placed, refused."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import cholesky, robot
from plausim.mechanics.spatial import symmetric
from plausim.parameters import (
    Parameter,
    choose,
    from_unit,
    impossible,
    parameter,
    paths,
    place,
    sobol,
    to_unit,
)

EXAMPLES = {
    "double-pendulum": ("link2.mass", "link2.com.y", "link2.inertia.xx", "elbow.damping", "link2.pos.z", "gravity.z",
                        "timestep", "link1.logcholesky.d1", "link1.tilt.x"),
    "panda": ("servo1.kp", "servo1.kv", "joint3.frictionloss", "joint3.armature", "link4.inertia.xy"),
    "hopper": ("floor.friction", "geom:foot.stiffness", "knee.lower", "geom:foot.size.0"),
}  # fmt: skip


@pytest.mark.parametrize("name, path", [(name, path) for name, found in EXAMPLES.items() for path in found])
def test_a_path_reads_and_writes_one_number(name, path):
    model = robot(name)
    known = paths(model)
    found = known[path] if path in known else known[path.split(":", 1)[1]]
    before = float(found.read(model))
    after = found.write(model, jnp.asarray(before + 0.125))
    np.testing.assert_allclose(found.read(after), before + 0.125, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.read(model), before)  # the model itself stays


@pytest.mark.parametrize("name", ["double-pendulum", "cartpole", "hopper", "panda-box"])
def test_every_path_can_be_read(name):
    model = robot(name)
    for path in paths(model).values():
        assert np.ndim(path.read(model)) == 0, path.name


def test_unknown_paths_offer_the_closest():
    with pytest.raises(ValueError, match=r"no number link2\.mas; did you mean link2\.mass"):
        choose(robot("double-pendulum"), [parameter("link2.mas", 0.1, 1.0)])


def test_a_path_that_may_be_several_says_so():
    with pytest.raises(ValueError, match=r"foot\.pos\.x may be body:foot\.pos\.x or geom:foot\.pos\.x"):
        choose(robot("hopper"), [parameter("foot.pos.x", 0.0, 1.0)])


def test_duplicates():
    twice = [parameter("link2.mass", 0.05, 1.0), parameter("link2.mass", 0.05, 2.0)]
    with pytest.raises(ValueError, match=r"link2\.mass is given 2 times"):
        choose(robot("double-pendulum"), twice)


def test_reversed_limits():
    with pytest.raises(ValueError, match=r"link2\.mass has the limits 1 and 0\.1"):
        parameter("link2.mass", 1.0, 0.1)
    with pytest.raises(ValueError, match="logarithmic scale from 0"):
        parameter("elbow.damping", 0.0, 1.0, log=True)


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


def test_what_cannot_exist_is_said():
    model = robot("double-pendulum")
    assert impossible(model) == []
    heavy = replace(model.bodies, mass=np.array([-0.2, 0.1]), inertia=model.bodies.inertia * [[5, 1, 1, 1, 1, 1]])
    said = " ".join(impossible(replace(model, bodies=heavy)))
    assert "link1.mass: -0.2" in said and "link2.inertia" in said
