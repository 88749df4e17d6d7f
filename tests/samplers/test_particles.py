"""SVGD and CSVGD on densities that are known, and on a pendulum without noise."""

import subprocess
import sys
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from plausim.run import infer
from plausim.samplers import csvgd, svgd
from plausim.shooting import multiple
from plausim.studies import two_links
from plausim.target import Evaluation, density

METHODS = {"svgd": svgd, "csvgd": csvgd}


def gaussian(dimensions):
    rng = np.random.default_rng(dimensions)
    root = rng.normal(size=(dimensions, dimensions))
    covariance = root @ root.T / dimensions + 0.3 * np.eye(dimensions)
    mean, precision = rng.normal(size=dimensions), jnp.asarray(np.linalg.inv(covariance))

    def logdensity(x):
        away = x - jnp.asarray(mean)
        return -0.5 * away @ precision @ away

    return density(logdensity, [-8.0] * dimensions, [8.0] * dimensions), mean, covariance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dimensions, least", [(2, 0.9), (10, 0.65)])
def test_moments_of_a_gaussian(method, dimensions, least):
    """The mean is met; the spread of 100 particles is known to be too small in many dimensions."""
    target, mean, covariance = gaussian(dimensions)
    values = infer(target, METHODS[method](rate=0.1), particles=100, iterations=1000).values
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs((values.mean(0) - mean) / deviation).max() < 0.05
    spread = values.std(0) / deviation
    assert least < spread.min() and spread.max() < 1.05


@pytest.mark.parametrize("method", METHODS)
def test_both_modes_are_found(method):
    def logdensity(x):
        return jnp.logaddexp(-2.0 * jnp.sum((x - 2.0) ** 2), -2.0 * jnp.sum((x + 2.0) ** 2))

    values = infer(
        density(logdensity, [-5.0] * 2, [5.0] * 2), METHODS[method](rate=0.05), particles=100, iterations=1000
    ).values
    right = values[:, 0] > 0
    assert 0.35 < right.mean() < 0.65
    for mode, side in ((2.0, right), (-2.0, ~right)):
        np.testing.assert_allclose(values[side].mean(0), mode, atol=0.05 * 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_draws_keep_to_the_limits(method):
    """A density that rises beyond them."""
    target = density(lambda x: 3.0 * jnp.sum(x), [0.0, 0.0], [1.0, 1.0])
    values = infer(target, METHODS[method](), particles=30, iterations=300).values
    assert values.min() >= 0.0 and values.max() <= 1.0 and values.mean() > 0.6


@pytest.mark.parametrize("method", METHODS)
def test_regions_without_a_density_are_left(method):
    target = density(
        lambda x: jnp.where(x[0] < 0, jnp.nan, -0.5 * jnp.sum(((x - 1.0) / 0.3) ** 2)), [-2.0, -2.0], [3.0, 3.0]
    )
    posterior = infer(target, METHODS[method](), particles=40, iterations=500)
    assert np.isfinite(posterior.logdensity).all()
    assert posterior.history["lost"][0] > 0 and posterior.history["lost"][-1] == 0
    np.testing.assert_allclose(posterior.values.mean(0), 1.0, atol=0.05)


@pytest.mark.parametrize("schedule", ["staged", "paper"])
def test_constraints_are_met(schedule):
    """The summit of a normal density on the line x + y = 1 is at (1/2, 1/2)."""
    free = density(lambda x: -0.5 * jnp.sum((x / 0.5) ** 2), [-3.0, -3.0], [3.0, 3.0])

    def evaluate(x):
        return Evaluation(free.evaluate(x).logdensity, jnp.sum(x, keepdims=True) - 1.0)

    target = replace(free, evaluate=evaluate, stiffness=4.0)
    posterior = infer(target, csvgd(schedule=schedule), particles=50, iterations=2000)
    assert posterior.gaps.max() < 2e-2
    np.testing.assert_allclose(posterior.values.mean(0), 0.5, atol=0.03)


@pytest.mark.slow
def test_windows_of_a_noise_free_pendulum_join():
    """Relative defect under 1e-3 of the states' spread, and no limit violated."""
    recordings = two_links.recorded([np.array([1.5, 2.0])], 400)
    clean = [replace(r, observed=r.states) for r in recordings]  # the sensors show the state
    target = multiple(two_links.pendulum(), clean, two_links.NOISE, windows=10)
    posterior = infer(target, csvgd(), particles=100, iterations=2000)
    assert posterior.gaps.max() < 1e-3
    assert (posterior.values >= posterior.limits[:, 0]).all() and (posterior.values <= posterior.limits[:, 1]).all()


MANY = """
import resource
import jax.numpy as jnp
from plausim.run import infer
from plausim.samplers import csvgd
from plausim.target import density
infer(density(lambda x: -0.5 * jnp.sum(x * x), [-5.0] * 11, [5.0] * 11), csvgd(), particles=20_000, iterations=2)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_20000_particles_stay_within_8_gib():
    run = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 8 * 2**20  # in KiB


def test_settings_that_cannot_be():
    with pytest.raises(ValueError, match="schedule 'fast'"):
        csvgd(schedule="fast")
    with pytest.raises(ValueError, match="goes from 10 to 1; it must rise"):
        csvgd(penalty=(10.0, 1.0))
    with pytest.raises(ValueError, match="anneal is 1"):
        svgd(anneal=1.0)
