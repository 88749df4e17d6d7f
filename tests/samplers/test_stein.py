"""The direction of SVGD against its formula in two loops; what keeps one particle from spoiling the rest."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.samplers import particles, stein


def by_loops(points, score, features):
    """`eq:svgd_update`, term by term."""
    n, rest = len(points), points.shape[1] - features.shape[1]
    squares = ((features[:, None] - features[None]) ** 2).sum(-1)
    h = np.sort(squares.ravel())[squares.size // 2] / np.log(n + 1)
    phi = np.zeros_like(points)
    for i in range(n):
        for j in range(n):
            k = np.exp(-squares[i, j] / h)
            away = np.pad(2 / h * k * (features[i] - features[j]), (0, rest))
            phi[i] += (k * score[j] + away) / n
    return phi, h


@pytest.mark.parametrize("of", [5, 2])
@pytest.mark.parametrize("whole", [2000, 20])
def test_direction_is_the_formula(monkeypatch, of, whole):
    monkeypatch.setattr(stein, "WHOLE", whole)  # beyond it, in blocks, which 37 does not divide into
    monkeypatch.setattr(stein, "BLOCK", 10)
    rng = np.random.default_rng(0)
    points, score = rng.normal(size=(37, 5)), rng.normal(size=(37, 5))
    phi, h = by_loops(points, score, points[:, :of])
    if whole < 37:  # the bandwidth of many is that of some, evenly spaced
        some = points[::2, :of]
        squares = ((some[:, None] - some[None]) ** 2).sum(-1)
        h = np.sort(squares.ravel())[squares.size // 2] / np.log(38)
    found = jax.jit(lambda *args: stein.direction(*args))(
        jnp.asarray(points), jnp.asarray(score), jnp.asarray(points[:, :of])
    )
    np.testing.assert_allclose(found.bandwidth, h, rtol=1e-6)
    if whole == 2000:
        np.testing.assert_allclose(found.phi, phi, rtol=1e-5, atol=1e-6)
    else:
        monkeypatch.setattr(stein, "WHOLE", 2000)
        monkeypatch.setattr(stein, "bandwidth", lambda features: jnp.asarray(h))
        at_once = stein.direction(jnp.asarray(points), jnp.asarray(score), jnp.asarray(points[:, :of]))
        np.testing.assert_allclose(found.phi, at_once.phi, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(3, 3), (40, 41), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_median_is_the_upper_one(shape, dtype):
    values = np.random.default_rng(1).exponential(size=shape).astype(dtype) * 10.0
    expected = np.sort(values.ravel())[values.size // 2]
    np.testing.assert_allclose(stein.median(jnp.asarray(values)), expected, rtol=1e-6)


def test_particles_in_one_place_have_a_direction():
    points = jnp.ones((10, 3))
    found = stein.direction(points, jnp.ones((10, 3)), points)
    np.testing.assert_allclose(found.phi, 1.0)


def test_a_cloud_far_from_zero_keeps_its_digits():
    rng = np.random.default_rng(2)
    points, score = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    near, far = (stein.direction(*map(jnp.asarray, (p, score, p))).phi for p in (points, points + 1e6))
    np.testing.assert_allclose(near, far, rtol=1e-5, atol=1e-6)


def test_a_score_of_1e200_is_shortened_and_the_rest_is_left_alone():
    slopes = np.random.default_rng(3).normal(size=(20, 4))
    slopes[7] = 1e200
    found = np.asarray(particles.clipped(jnp.asarray(slopes)))
    assert np.abs(found[7]).max() == pytest.approx(10 * np.median(np.abs(slopes).max(1)))
    keep = np.arange(20) != 7
    np.testing.assert_array_equal(found[keep], slopes[keep])


def test_lost_particles_go_on_from_living_ones():
    alive = jnp.asarray([True, False, True, False])
    found = particles.rescued(jax.random.key(0), alive)
    heirs = np.asarray(found.heir)
    assert heirs[0] == 0 and heirs[2] == 2 and set(heirs[[1, 3]]) <= {0, 2}
    np.testing.assert_array_equal(found.lost, ~np.asarray(alive))


def test_where_none_lives_nothing_breaks():
    assert np.asarray(particles.rescued(jax.random.key(0), jnp.zeros(3, bool)).heir).shape == (3,)
