"""What Markov chains share, against SciPy; NUTS's adaptation against blackjax's own; what is said of bad input."""

import importlib.util
from dataclasses import replace
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from plausim.run import infer
from plausim.samplers import cem, chains, emcee, extras, nuts, sgld
from plausim.samplers.nuts import adaptation
from plausim.target import density

FLAT = density(lambda x: jnp.zeros((), x.dtype), [-1.0, 2.0], [1.0, 5.0])


def test_an_even_density_within_limits_is_a_logistic_one_without():
    free = chains.unlimited(FLAT)
    points = np.random.default_rng(0).normal(size=(20, 2)) * 10.0
    found = jax.vmap(free.logdensity)(jnp.asarray(points))
    np.testing.assert_allclose(found, stats.logistic.logpdf(points).sum(1), rtol=1e-12)
    inside = free.inside(jnp.asarray(points))
    assert (np.asarray(inside) >= FLAT.lower).all() and (np.asarray(inside) <= FLAT.upper).all()
    np.testing.assert_allclose(inside, FLAT.lower + (FLAT.upper - FLAT.lower) * stats.logistic.cdf(points), rtol=1e-12)
    near = jnp.asarray(0.1 * points)
    np.testing.assert_allclose(free.outside(free.inside(near)), near, rtol=1e-9)


def test_coordinates_without_limits_are_left_as_they_are():
    free = chains.unlimited(replace(FLAT, lower=np.array([-np.inf, 2.0]), upper=np.array([np.inf, 5.0])))
    points = jnp.asarray([[3.0, 0.0]])
    np.testing.assert_allclose(free.inside(points), [[3.0, 3.5]])
    np.testing.assert_allclose(free.logdensity(points[0]), np.log(0.25))


def test_a_limit_on_one_side_only_is_refused():
    with pytest.raises(ValueError, match="x1 has a limit on one side only"):
        chains.unlimited(replace(FLAT, upper=np.array([1.0, np.inf])))


def test_nothing_is_evaluated_beyond_the_limits():
    seen = []
    target = density(lambda x: jax.debug.callback(lambda x: seen.append(x), x) or -jnp.sum(x), [0.0], [1.0])
    found = chains.within(target)(jnp.asarray([[-1.0], [0.5], [2.0]]))
    jax.effects_barrier()
    np.testing.assert_array_equal(found, [-np.inf, -0.5, -np.inf])
    assert all(0 <= x <= 1 for x in np.ravel(seen))


def test_chains_begin_where_there_is_a_density():
    target = density(lambda x: jnp.where(x[0] < 0.4, jnp.nan, 0.0), [0.0], [1.0])
    points = jnp.asarray([[0.1], [0.5], [0.2], [0.6]])
    found = chains.begun(jax.random.key(0), target, points, 3)
    np.testing.assert_array_equal(found.points, [[0.5], [0.6], [0.5]])
    assert found.lost == 2


@pytest.mark.slow
def test_nuts_adapts_as_blackjax_does():
    """Its step size and mass matrix after warm-up, from the same random numbers."""
    deviation, iterations = jnp.asarray([0.1, 5.0]), 150

    def logdensity(x):
        return -0.5 * jnp.sum((x / deviation) ** 2)

    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        warmup = blackjax.window_adaptation(blackjax.nuts, logdensity, initial_step_size=0.01, max_num_doublings=8)
        run: Any = warmup.run
        found = run(jax.random.key(0), jnp.ones(2), num_steps=iterations)[0].parameters
        paced, adapted = adaptation(2, iterations, 0.8)
        adapted = jax.jit(adapted)
        kernel = jax.jit(lambda key, state, size, mass: blackjax.nuts.build_kernel()(
            key, state, logdensity, size, mass, 8))  # fmt: skip
        state, pace = blackjax.nuts.init(jnp.ones(2), logdensity), paced(jnp.ones(2))
        for i, key in enumerate(jax.random.split(jax.random.key(0), iterations)):
            state, info = kernel(key, state, pace.size, pace.variance)
            pace = adapted(pace, state.position, info.acceptance_rate, jnp.asarray(float(i)))
    np.testing.assert_allclose(pace.size, found["step_size"], rtol=1e-6)
    np.testing.assert_allclose(pace.variance, found["inverse_mass_matrix"], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method, iterations", [(emcee(), 300), (sgld(), 1500), (nuts(chains=50), 400)])
def test_a_density_that_is_cut_off_by_a_limit(method, iterations):
    target = density(lambda x: -jnp.sum(x) / 0.3, [0.0] * 2, [1.0] * 2)
    values = infer(target, method, particles=4000, iterations=iterations).values
    truth = stats.truncexpon(1 / 0.3, scale=0.3)
    np.testing.assert_allclose(values.mean(0), truth.mean(), atol=0.05 * truth.std())
    np.testing.assert_allclose(values.std(0), truth.std(), rtol=0.05)


def test_a_library_that_is_not_installed_is_said_before_anything_runs(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for method, library in ((emcee, "emcee"), (cem, "scikit-learn"), (sgld, "blackjax"), (nuts, "blackjax")):
        with pytest.raises(ModuleNotFoundError, match=rf"{library}, which is not.*pip install 'plausim\[samplers\]'"):
            method()
    assert importlib.util.find_spec("emcee")


def test_too_few_walkers():
    with pytest.raises(ValueError, match="3 particles are too few for 2 coordinates; use at least 4"):
        infer(FLAT, emcee(), particles=3, iterations=1)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: emcee(stretch=1.0), "stretch is 1"),
        (lambda: cem(kernels=0), "0 kernels"),
        (lambda: cem(elite=1.0), "elite 1"),
        (lambda: sgld(rate=0.1, last=0.2), "from 0.1 to 0.2; they must fall"),
        (lambda: nuts(chains=0), "0 chains"),
        (lambda: nuts(acceptance=1.0), "acceptance 1;"),
    ],
)
def test_settings_that_cannot_be(make, message):
    with pytest.raises(ValueError, match=message):
        make()
