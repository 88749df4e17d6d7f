"""BayesSim on problems whose posterior is known; and what it learns from."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from plausim.run import infer
from plausim.samplers import bayessim
from plausim.samplers.lessons import lessons, standardised
from plausim.samplers.summaries import SUMMARIES
from plausim.shooting import multiple, single
from plausim.studies import two_links
from plausim.target import Simulator, Target, density

QUICK: dict[str, Any] = {"simulations": 4000, "rate": 5e-3, "batch": 250}


def line(sd: float = 0.1, prior: Any = None) -> Target:
    """A slope and an offset, from noisy points on their line: the posterior is normal. The third number is not seen."""
    rows = design()

    def simulate(key: jax.Array, point: jax.Array) -> jax.Array:
        return (jnp.asarray(rows) @ point[:2] + sd * jax.random.normal(key, (len(rows),)))[None, :, None]

    return density(
        lambda x: -0.5 * jnp.sum((jnp.asarray(rows) @ (x[:2] - 0.4)) ** 2) / sd**2, [0.0, 0.0, 2.0], [1.0, 1.0, 4.0],
        simulator=Simulator(simulate, (rows @ np.array([0.4, 0.4]))[None, :, None], prior),
    )  # fmt: skip


def design() -> np.ndarray:
    return np.stack([np.linspace(-1.0, 1.0, 8), np.ones(8)], 1)


@pytest.mark.parametrize(
    "model", ["mdn", *(pytest.param(m, marks=pytest.mark.slow) for m in ("mdrff-rbf", "mdrff-matern"))]
)
def test_a_linear_problem(model: str) -> None:
    """And what the data do not tell keeps its prior, to the edges."""
    covariance = np.linalg.inv(design().T @ design()) * 0.1**2
    posterior = infer(line(), bayessim(model=model, stride=1, **QUICK), particles=2000, iterations=60)
    found, unseen = posterior.values[:, :2], posterior.values[:, 2]
    assert_allclose((found.mean(0) - 0.4) / np.sqrt(np.diag(covariance)), 0.0, atol=0.4 if model == "mdn" else 1.0)
    assert_allclose(found.std(0) / np.sqrt(np.diag(covariance)), 1.0, atol=0.25)
    assert_allclose(
        np.quantile(unseen, [0.05, 0.25, 0.5, 0.75, 0.95]),
        [2.1, 2.5, 3.0, 3.5, 3.9],
        atol=0.15 if model == "mdn" else 0.3,
    )
    information = -0.5 * np.linalg.slogdet(2 * np.pi * np.e * covariance)[1]
    assert posterior.history["best"][-1] == pytest.approx(information, abs=0.3)  # a little more is beyond the limits


def test_a_prior_beside_the_limits_counts() -> None:
    """Of half the variance of the likelihood and a mean of 0.6, on the offset."""
    sd = 0.3 / np.sqrt(8)
    target = line(0.3, lambda x: -((x[1] - 0.6) ** 2) / sd**2)
    values = infer(target, bayessim(stride=1, **QUICK), particles=2000, iterations=60).values
    assert values[:, 1].mean() == pytest.approx((0.4 + 2 * 0.6) / 3, abs=0.4 * sd)
    assert values[:, 1].std() == pytest.approx(sd / np.sqrt(3), rel=0.2)


def test_without_any_kept_apart_the_last_network_is_drawn_from() -> None:
    """And simulations are counted once."""
    history = infer(line(), bayessim(stride=1, held=0.0, **QUICK), particles=10, iterations=30).history
    assert (history["held"] == history["logdensity"]).all() and len(set(history["logdensity"])) == 30
    assert history["simulations"].tolist() == [4000, *[0] * 29] and not history["lost"].any()


def test_learning_ends_when_nothing_becomes_better() -> None:
    """Of forty simulations, which are soon known by heart."""
    settings = {"simulations": 40, "batch": 10, "rate": 3e-2, "stride": 1}
    history = infer(line(), bayessim(**settings), particles=10, iterations=400).history
    last, top = history["held"], int(np.argmax(history["held"]))
    assert history["best"][-1] == last[top] > last[-1]
    assert top < 350 and (last[top + 41 :] == last[-1]).all()


def test_parameters_fill_their_limits_and_the_rest_stays_as_measured() -> None:
    recordings = two_links.recorded([np.array([1.5, 2.0])], 40)
    target = multiple(two_links.pendulum(), recordings, two_links.NOISE, windows=4)
    sampler = bayessim(simulations=500).make(target, 5)
    state = jax.jit(sampler.init)(jax.random.key(0), jnp.asarray(target.starts(7)))
    unit = ndtr(np.asarray(state.pairs.free))
    assert_allclose(unit.mean(0), 0.5, atol=0.01)
    assert unit.min() < 0.01 and unit.max() > 0.99
    drawn = np.asarray(sampler.draw(jax.random.key(1), state, 20))
    assert (drawn[:, 2:] == 0).all() and len(np.unique(drawn[:, 0])) == 20


def test_what_is_learned_from_is_simulated_and_summarised() -> None:
    recordings = two_links.recorded([np.array([1.5, 2.0])], 40)
    target = single(two_links.pendulum(), recordings, two_links.NOISE)
    assert target.simulator is not None
    found = lessons(
        jax.random.key(0), target.simulator, target, jnp.asarray(target.starts(1)[0]), 300, lambda x: x[:, -1].ravel()
    )
    keys = jax.random.split(jax.random.key(0), 300)
    motions = jax.vmap(target.simulator.simulate)(keys, jnp.asarray(found.unit))
    last = np.concatenate([np.asarray(motions)[:, 0, -1], target.simulator.observed[:, -1]])
    low, middle, high = np.percentile(last[:300], [16, 50, 84], axis=0)
    assert_allclose(found.rows, np.clip((last - middle) / ((high - low) / 2), -5, 5), atol=1e-4)
    assert_allclose(found.weight, 1.0)


def test_outliers_and_failures_leave_the_scale_alone() -> None:
    rows = np.random.default_rng(0).normal(2.0, 3.0, (1000, 2))
    rows[:50] = 1e9
    rows[50:60] = np.nan
    found = np.asarray(standardised(jnp.asarray(rows), jnp.arange(1000) >= 60, jnp.array([2.0, 1e30])))
    assert np.isfinite(found).all() and np.abs(found).max() == 5
    assert_allclose(found[60:].std(0), 1.0, atol=0.15)
    assert abs(found[-1, 0]) < 0.1 and found[-1, 1] == 5


@pytest.mark.slow
@pytest.mark.parametrize("summary", SUMMARIES)
def test_two_lengths_of_a_pendulum(summary: str) -> None:
    """`fig:bayessim-twoparam`: with two parameters it finds them."""
    recordings = two_links.recorded([np.array([1.5, 2.0])], 200)
    target = single(two_links.pendulum(), recordings, two_links.NOISE)
    values = infer(target, bayessim(summary=summary), particles=1000, iterations=300).values
    assert_allclose(np.median(values, 0), [1.5, 2.0], atol=0.1)


# ---- what goes wrong


def test_a_target_that_cannot_be_simulated() -> None:
    with pytest.raises(ValueError, match=r"bayessim learns from simulations .* density\(\.\.\., simulator=\.\.\.\)"):
        infer(density(lambda x: x[0], [0.0], [1.0]), bayessim())
    recordings = two_links.recorded([np.array([1.5, 2.0]), np.array([2.0, 1.5])], 12)
    with pytest.raises(ValueError, match='of several recordings there is one with combine="product" only'):
        infer(single(two_links.pendulum(), recordings, two_links.NOISE, combine="sum"), bayessim())


def test_nothing_can_be_simulated() -> None:
    target = density(
        lambda x: x[0], [0.0], [1.0],
        simulator=Simulator(lambda key, x: jnp.full((1, 1, 1), jnp.nan), np.zeros((1, 1, 1))),
    )  # fmt: skip
    with pytest.raises(ValueError, match="is not finite at any of the 64 starts"):
        infer(target, bayessim(simulations=64), particles=10, iterations=5)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "summary": ({"summary": "raw"}, r"summary 'raw', model 'mdn'; there are \('downsampled', 'difference'"),
    "model": ({"model": "maf"}, r"model 'maf'; there are .* \('mdn', 'mdrff-rbf', 'mdrff-matern'\)"),
    "few": ({"simulations": 1, "stride": 0}, "simulations is 1, at least 2; stride is 0, at least 1"),
    "rate": ({"rate": 0.0}, r"rate 0, held 0.1; the first is above 0, the second a part"),
    "held": ({"held": 1.0}, r"rate 0.001, held 1; the first is above 0, the second a part"),
}


@pytest.mark.parametrize("settings, said", MISTAKES.values(), ids=MISTAKES.keys())
def test_settings_that_are_none(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        bayessim(**settings)
