"""States as points on a curved space: `retract` and `difference` undo each other, and are smooth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.mechanics import difference, retract
from plausim.mechanics.joints import JOINTS, parts, sizes

ALL = ("hinge", "ball", "slide", "free")


def random_state(kinds, rng):
    nq, nv = sizes(kinds)
    state = rng.normal(size=nq + nv)
    for kind, part in zip(kinds, parts(kinds), strict=True):
        if JOINTS[kind].positions >= 4:
            quaternion = state[part.positions][-4:]
            quaternion /= np.linalg.norm(quaternion)
    return state


def aligned(kinds, state, to):
    """Each quaternion with the sign of another: both are one rotation."""
    state = np.array(state)
    for kind, part in zip(kinds, parts(kinds), strict=True):
        if JOINTS[kind].positions >= 4:
            own = state[part.positions][-4:]
            own *= np.sign(own @ np.asarray(to)[part.positions][-4:])
    return state


@pytest.mark.parametrize("kinds", [(), *((k,) for k in ALL), ALL])
def test_retract_goes_the_difference(kinds):
    rng = np.random.default_rng(0)
    a, b = random_state(kinds, rng), random_state(kinds, rng)
    way = difference(kinds, a, b)
    assert way.shape == (2 * sizes(kinds)[1],)
    np.testing.assert_allclose(aligned(kinds, retract(kinds, a, way), b), b, atol=1e-12)
    np.testing.assert_allclose(difference(kinds, a, a), 0.0, atol=1e-15)


@pytest.mark.parametrize("kinds", [*((k,) for k in ALL), ALL])
def test_the_difference_is_what_was_retracted(kinds):
    rng = np.random.default_rng(1)
    a = random_state(kinds, rng)
    way = 0.9 * rng.uniform(-1, 1, 2 * sizes(kinds)[1])
    np.testing.assert_allclose(difference(kinds, a, retract(kinds, a, way)), way, atol=1e-12)
    np.testing.assert_allclose(  # and so is its derivative, where nothing has moved too
        jax.jacfwd(lambda d: difference(kinds, a, retract(kinds, a, d)))(jnp.zeros_like(way)),
        np.eye(way.size),
        atol=1e-9,
    )


def test_hinges_and_slides_are_plain_sums():
    kinds, rng = ("hinge", "slide", "hinge"), np.random.default_rng(2)
    a, b = rng.normal(size=(2, 6))
    np.testing.assert_array_equal(difference(kinds, a, b), b - a)
    np.testing.assert_array_equal(retract(kinds, a, b), a + b)


def test_wrong_sizes_are_named():
    with pytest.raises(ValueError, match=r"delta has the shape \(3,\).*takes 12"):
        retract(("free",), np.zeros(13), np.zeros(3))
    with pytest.raises(ValueError, match=r"start has the shape \(12,\).*takes 13"):
        difference(("free",), np.zeros(12), np.zeros(12))
