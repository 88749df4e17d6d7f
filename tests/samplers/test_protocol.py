"""Every method of inference keeps one protocol, and finds densities that are known. A new one is a line in `TABLE`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.run import SOFT, infer
from plausim.samplers import SAMPLERS, Method, bayessim, cem, csvgd, emcee, nuts, sgld, svgd
from plausim.target import Evaluation, Simulator, Target, density


class Row(NamedTuple):
    """A method with its settings, how many particles and iterations it needs, and what it promises for them."""

    method: Method
    particles: int = 100
    iterations: int = 1000
    spread: tuple[float, float] = (0.95, 1.05)  # least and most standard deviation, in units of the true one
    spread_of_10: tuple[float, float] = (0.95, 1.05)  # the same in 10 dimensions
    right: tuple[float, float] = (0.35, 0.65)  # least and most of the draws at one of two equal modes
    mean: float = 0.05  # how far it may be off, in standard deviations
    mean_of_10: float = 0.05
    gap: float = 5e-2  # how far it may be from a constraint that is softened to a hundredth


TABLE = {  # independent draws in the thousands, since the mean of 100 is 10 % of a standard deviation off
    "svgd": Row(svgd(), spread=(0.9, 1.05), spread_of_10=(0.6, 1.05)),
    "csvgd": Row(csvgd(), spread=(0.9, 1.05), spread_of_10=(0.6, 1.05)),
    "emcee": Row(emcee(), 4000, 250),
    "cem": Row(cem(), 500, 100, spread=(0.0, 0.01), spread_of_10=(0.0, 0.01), right=(0.0, 1.0)),  # one summit
    "sgld": Row(sgld(), 4000, 900),
    "nuts": Row(nuts(chains=50), 4000, 400),
    "bayessim": Row(  # a network's guess, and quick: means and spreads are as measured, with room
        bayessim(rate=5e-3, batch=250), 10_000, 50,
        spread=(0.9, 1.2), spread_of_10=(0.9, 1.6), mean=0.3, mean_of_10=0.7, gap=0.2,
    ),
}  # fmt: skip
EACH = pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())


def test_every_method_is_in_the_table() -> None:
    assert {row.method.name for row in TABLE.values()} == SAMPLERS.keys()


def runner(row: Row, target: Target, dtype: Any = np.float64) -> Callable[[int, int], np.ndarray]:
    """(seed, number of draws) -> draws, by nothing but the protocol."""
    sampler = row.method.make(target, row.iterations)

    def step(key: jax.Array, i: int | jax.Array, state: Any) -> Any:
        return sampler.step(jax.random.fold_in(key, i), state)[0]

    @jax.jit
    def together(key: jax.Array, state: Any) -> Any:
        return jax.lax.fori_loop(1, row.iterations + 1, lambda i, state: step(key, i, state), state)

    def drawn(seed: int, draws: int) -> np.ndarray:
        key = jax.random.key(seed)
        state = sampler.init(key, jnp.asarray(target.starts(row.particles), dtype))
        if sampler.traced:
            state = together(key, state)
        else:
            for i in range(1, row.iterations + 1):
                state = step(key, i, state)
        return np.asarray(sampler.draw(key, state, draws))

    return drawn


def measured(noise: Callable[[jax.Array, jax.Array], jax.Array], observed: Any) -> Simulator:
    """A point with noise, in one recording of one step."""
    return Simulator(lambda key, x: (x + noise(key, x))[None, None], np.asarray(observed, float)[None, None])


def normal(key: jax.Array, x: jax.Array) -> jax.Array:
    return jax.random.normal(key, x.shape, x.dtype)


def gaussian(dimensions: int) -> tuple[Target, np.ndarray, np.ndarray]:
    """In the unit box, with correlations; and its mean and standard deviations."""
    rng = np.random.default_rng(dimensions)
    root = rng.normal(size=(dimensions, dimensions)) / np.sqrt(dimensions)
    covariance = 0.07**2 * (root @ root.T + 0.5 * np.eye(dimensions))
    mean, precision = rng.uniform(0.4, 0.6, size=dimensions), np.linalg.inv(covariance)

    def logdensity(x):
        away = x - jnp.asarray(mean, x.dtype)
        return -0.5 * away @ jnp.asarray(precision, x.dtype) @ away

    lower = np.linalg.cholesky(covariance)
    simulator = measured(lambda key, x: jnp.asarray(lower, x.dtype) @ normal(key, x), mean)
    target = density(logdensity, [0.0] * dimensions, [1.0] * dimensions, simulator=simulator)
    return target, mean, np.sqrt(np.diag(covariance))


@EACH
@pytest.mark.parametrize(
    "dimensions, dtype",
    [(2, np.float32), (2, np.float64), (10, np.float64), pytest.param(10, np.float32, marks=pytest.mark.slow)],
)
def test_the_moments_of_a_gaussian(row: Row, dimensions: int, dtype: Any) -> None:
    target, mean, deviation = gaussian(dimensions)
    draws = runner(row, target, dtype)(0, row.particles)
    assert draws.dtype == dtype and draws.shape == (row.particles, dimensions)
    assert np.abs((draws.mean(0) - mean) / deviation).max() < (row.mean if dimensions == 2 else row.mean_of_10)
    least, most = row.spread if dimensions == 2 else row.spread_of_10
    spread = draws.std(0) / deviation
    assert least < spread.min() + 1e-9 and spread.max() < most


@EACH
def test_both_modes(row: Row) -> None:
    """Two normal densities of one weight, eight standard deviations apart."""
    sd, modes = 0.06, (0.25, 0.75)

    def logdensity(x):
        return jnp.logaddexp(*(-0.5 * jnp.sum(((x - m) / sd) ** 2) for m in modes))

    def either(key, x):
        left, away = jax.random.bernoulli(key), jax.random.fold_in(key, 1)
        return jnp.where(left, -0.25, 0.25).astype(x.dtype) + sd * normal(away, x)

    target = density(logdensity, [0.0] * 2, [1.0] * 2, simulator=measured(either, [0.5, 0.5]))
    draws = runner(row, target)(0, row.particles)
    right = draws[:, 0] > 0.5
    assert row.right[0] <= right.mean() <= row.right[1]
    for mode, side in zip(modes, (~right, right), strict=True):
        if side.any():
            np.testing.assert_allclose(draws[side].mean(0), mode, atol=row.mean * sd)


@EACH
def test_draws_keep_to_the_limits(row: Row) -> None:
    """Of a density that rises beyond them; as many as are asked for."""

    def below(key, x):
        return jax.random.exponential(key, x.shape, x.dtype) / 30.0

    target = density(lambda x: 30.0 * jnp.sum(x), [0.0, -1.0], [1.0, 1.0], simulator=measured(below, [1.0, 1.0]))
    drawn = runner(row._replace(iterations=200), target)
    for draws in (1, row.particles, 250):
        values = drawn(0, draws)
        assert values.shape == (draws, 2)
        assert (values >= target.lower).all() and (values <= target.upper).all() and values.mean() > 0.6


@EACH
def test_where_there_is_no_density_nothing_stays(row: Row) -> None:
    """Starts in a region of NaN are lost, counted, and go on elsewhere."""

    def logdensity(x):
        return jnp.where(x[0] < 0.4, jnp.nan, -0.5 * jnp.sum(((x - 0.7) / 0.06) ** 2))

    def broken(key, x):
        return jnp.where(x[0] < 0.4, jnp.nan, 0.06 * normal(key, x))

    target = density(logdensity, [0.0] * 2, [1.0] * 2, simulator=measured(broken, [0.7, 0.7]))
    posterior = infer(target, row.method, particles=row.particles, iterations=row.iterations)
    assert np.isfinite(posterior.logdensity).all()
    assert posterior.history["lost"][0] == np.sum(target.starts(row.particles)[:, 0] < 0.4)
    assert posterior.history["lost"][-1] == 0
    np.testing.assert_allclose(posterior.values.mean(0), 0.7, atol=row.mean * 0.06)


@EACH
def test_the_seed_decides(row: Row) -> None:
    target, *_ = gaussian(2)
    drawn = runner(row._replace(iterations=50), target)
    assert drawn(3, row.particles).tobytes() == drawn(3, row.particles).tobytes()


@EACH
def test_an_iteration_says_numbers(row: Row) -> None:
    """At least those that progress and reports show."""
    target, *_ = gaussian(2)
    sampler, key = row.method.make(target, 10), jax.random.key(0)
    step = jax.jit(sampler.step) if sampler.traced else sampler.step
    _, info = step(key, sampler.init(key, jnp.asarray(target.starts(row.particles))))
    assert {"logdensity", "best", "simulations", "lost"} <= info.keys()
    assert all(number.shape == () and np.isfinite(number) for number in info.values())


@EACH
def test_constraints_are_kept_by_every_method(row: Row) -> None:
    """Of itself, or softened. The summit of a normal density on the line x + y = 1 is at (1/2, 1/2)."""
    free = density(lambda x: -0.5 * jnp.sum(((x - 0.3) / 0.2) ** 2), [0.0] * 2, [1.0] * 2)

    def evaluate(x):
        return Evaluation(free.evaluate(x).logdensity, jnp.sum(x, keepdims=True) - 1.0)

    def observed(key, x):
        gap = jnp.sum(x, keepdims=True) - 1.0
        noise = normal(key, jnp.zeros(3, x.dtype))
        return jnp.concatenate([x + 0.2 * noise[:2], gap + SOFT * noise[2:]])[None, None]

    simulator = Simulator(observed, np.array([[[0.3, 0.3, 0.0]]]))
    target = replace(free, evaluate=evaluate, simulator=simulator, stiffness=1 / SOFT**2)
    values = infer(target, row.method, particles=row.particles, iterations=2 * row.iterations).values
    assert np.abs(values.sum(1) - 1.0).max() < row.gap
    np.testing.assert_allclose(values.mean(0), 0.5, atol=0.02)


@EACH
def test_gradients_that_are_not_there(row: Row) -> None:
    """A method that needs them says so; one that does not goes on without."""
    target = replace(gaussian(2)[0], differentiable=False)
    if row.method.gradients:
        with pytest.raises(ValueError, match=f"{row.method.name} needs gradients, which this target has not"):
            infer(target, row.method)
    else:
        assert infer(target, row.method, particles=row.particles, iterations=5).values.shape == (row.particles, 2)


@EACH
def test_settings_are_plain(row: Row) -> None:
    """They are written into checkpoints and results."""
    assert isinstance(row.method.settings, dict)
    assert SAMPLERS[row.method.name](**row.method.settings).settings == row.method.settings
