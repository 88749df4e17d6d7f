"""Density networks: mixtures against SciPy, features against the kernels that they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from plausim.samplers import networks
from plausim.samplers.networks import MODELS, Mixture

KERNELS, DIMENSIONS = 3, 4


def head(rows: int = 5) -> jax.Array:
    outputs = KERNELS * (1 + 2 * DIMENSIONS + DIMENSIONS * (DIMENSIONS - 1) // 2)
    return jnp.asarray(np.random.default_rng(1).normal(size=(rows, outputs)))


def moments(found: Mixture, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances, by the definition of a head."""
    lower = np.zeros((KERNELS, DIMENSIONS, DIMENSIONS))
    lower[:, *np.tril_indices(DIMENSIONS, -1)] = found.below[row]
    root = np.exp(np.asarray(found.logscales)[row])[:, :, None] * (np.eye(DIMENSIONS) + lower)
    covariances = np.linalg.inv(np.swapaxes(root, 1, 2) @ root)
    return np.exp(np.asarray(found.logits)[row]), np.asarray(found.means)[row], covariances


def test_the_density_is_that_of_a_mixture() -> None:
    found = networks.mixture(head(), KERNELS, DIMENSIONS)
    points = np.random.default_rng(2).normal(size=(5, DIMENSIONS))
    expected = []
    for row, point in enumerate(points):
        each = zip(*moments(found, row), strict=True)
        expected.append(logsumexp([np.log(w) + multivariate_normal(m, c).logpdf(point) for w, m, c in each]))
    assert_allclose(networks.logdensity(found, jnp.asarray(points)), expected, rtol=1e-10)


def test_draws_have_its_moments() -> None:
    found = networks.mixture(0.5 * head(1), KERNELS, DIMENSIONS)
    weights, means, covariances = moments(found, 0)
    mean = weights @ means
    away = means - mean
    covariance = np.einsum("k,kij->ij", weights, covariances + away[:, :, None] * away[:, None])
    drawn = np.asarray(networks.draws(jax.random.key(0), found, 200_000))
    error = np.sqrt(np.diag(covariance))
    assert_allclose(drawn.mean(0) / error, mean / error, atol=0.02)
    assert_allclose(np.cov(drawn.T) / np.outer(error, error), covariance / np.outer(error, error), atol=0.03)


@pytest.mark.parametrize(
    "model, kernel",
    {
        "mdrff-rbf": lambda r: np.exp(-0.5 * r**2),
        "mdrff-matern": lambda r: (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r),  # nu = 5/2
    }.items(),
)
def test_random_features_multiply_to_their_kernel(model: str, kernel) -> None:
    rows = jnp.asarray(np.random.default_rng(3).normal(size=(30, 6)))
    features = np.asarray(MODELS[model].expand(jax.random.key(0), rows, 40_000))
    distance = np.linalg.norm(np.asarray(rows)[:, None] - np.asarray(rows)[None], axis=2)
    width = np.median(distance[np.triu_indices(30, 1)])
    assert features.shape == (30, 40_000)
    assert_allclose(features @ features.T / 20_000, kernel(distance / width), atol=0.03)


def test_rows_that_are_all_the_same_have_features_too() -> None:
    features = MODELS["mdrff-rbf"].expand(jax.random.key(0), jnp.ones((10, 2)), 8)
    assert np.isfinite(features).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_first_density_is_nearly_the_same_everywhere(model: str) -> None:
    rows = jnp.asarray(np.random.default_rng(4).normal(size=(50, 6)), jnp.float32)
    features = MODELS[model].expand(jax.random.key(0), rows, 200)
    weights = networks.begun(jax.random.key(1), (features.shape[1], *MODELS[model].hidden), KERNELS, DIMENSIONS)
    found = networks.output(weights, features)
    assert np.std(found, 0).max() < 0.1 and found.shape == (50, head().shape[1])
