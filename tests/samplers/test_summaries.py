"""What likelihood-free methods see of a motion, against NumPy, closed forms and another implementation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from plausim.samplers.summaries import LAGS, SUMMARIES, difference, downsampled, signature, summary


def motion(steps: int = 120, channels: int = 3) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(steps, channels)).cumsum(0))


@pytest.mark.parametrize("name", SUMMARIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_summary_is_flat_finite_and_of_the_motions_type(name: str, dtype) -> None:
    motions = jnp.stack([motion(), 0.0 * motion()]).astype(dtype)  # one does not move at all
    found = jax.jit(jax.vmap(lambda m: SUMMARIES[name](m, 20, 3)))(motions)
    assert found.ndim == 2 and found.dtype == dtype and np.isfinite(found).all()


def test_every_so_many_samples_the_last_is_one_of_them() -> None:
    x = motion(400, 4)
    assert_allclose(downsampled(x), np.asarray(x)[19::20].ravel())
    assert_allclose(downsampled(x, 7), np.asarray(x)[0::7].ravel())  # 399 = 57 * 7
    assert_allclose(downsampled(x[:1]), np.asarray(x)[0])


def test_differences() -> None:
    x = np.asarray(motion())
    d = np.diff(x, axis=0)
    assert_allclose(difference(jnp.asarray(x), 20), np.r_[d[18::20].ravel(), d.mean(0), d.var(0)])


def test_statistics_against_numpy() -> None:
    x = np.asarray(motion())
    found = summary(jnp.asarray(x))
    away = x - x.mean(0)
    correlations = np.corrcoef(x.T)[np.triu_indices(3, 1)]
    auto = [[np.dot(a[lag:], a[:-lag]) / np.dot(a, a) for a in away.T] for lag in LAGS]
    assert_allclose(found, np.r_[x.mean(0), x.var(0), correlations, np.ravel(auto)], rtol=1e-12)
    assert len(summary(jnp.asarray(x[:20]))) == len(found) - 3 * sum(lag >= 20 for lag in LAGS)


def test_what_does_not_move_goes_along_with_nothing() -> None:
    x = motion().at[:, 1].set(0.1)
    assert_allclose(np.asarray(summary(x))[[4, 6, 8]], 0.0)  # its variance, its correlations


def test_the_signature_of_a_straight_line_is_an_exponential() -> None:
    """However it is cut into steps."""
    way, cuts = np.array([0.3, -1.0]), np.array([0.0, 0.1, 0.15, 0.7, 1.0])
    found = signature(jnp.asarray(cuts[:, None] * way), depth=3)
    second, third = np.multiply.outer(way, way) / 2, np.multiply.outer(np.multiply.outer(way, way), way) / 6
    assert_allclose(found, np.r_[way, second.ravel(), third.ravel()], atol=1e-15)


def test_the_second_level_has_the_area() -> None:
    """Around the unit circle once: nothing but an area of pi (Levy's)."""
    angle = np.linspace(0.0, 2 * np.pi, 2001)
    first, second = np.split(np.asarray(signature(jnp.stack([jnp.cos(angle), jnp.sin(angle)], 1), depth=2)), [2])
    assert_allclose(first, 0.0, atol=1e-12)
    assert_allclose(second, [0.0, np.pi, -np.pi, 0.0], atol=1e-5)


def test_the_product_of_two_levels_is_their_shuffle() -> None:
    x = motion(60, 3)
    a, b, c = np.split(np.asarray(signature(x, depth=3)), [3, 12])
    b, c = b.reshape(3, 3), c.reshape(3, 3, 3)
    assert_allclose(np.multiply.outer(a, a), b + b.T, rtol=1e-9, atol=1e-9)
    shuffled = c + np.einsum("jik->ijk", c) + np.einsum("jki->ijk", c)
    assert_allclose(np.multiply.outer(a, b), shuffled, rtol=1e-9, atol=1e-9)


def test_the_signature_against_signax() -> None:
    signax = pytest.importorskip("signax")
    x = motion(60, 3)
    for depth in (1, 2, 3, 4):
        assert_allclose(signature(x, depth), signax.signature(x, depth), rtol=1e-9, atol=1e-9)
