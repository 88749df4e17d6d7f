"""CSVGD against Algorithm 1 written out in NumPy, and on what its constraints must do."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from plausim.run import infer
from plausim.samplers import csvgd, svgd
from plausim.samplers.particles import CLIP, FINAL_RATE
from plausim.shooting import multiple
from plausim.studies import two_links
from plausim.target import Evaluation, Target, density

STIFFNESS = 4.0


def ring() -> Target:
    """A normal density with two constraints, one of them curved, in a box."""
    free = density(lambda x: -0.5 * jnp.sum((x / 0.5) ** 2), [-1.0] * 3, [1.0] * 3)

    def evaluate(x):
        return Evaluation(free.evaluate(x).logdensity, jnp.stack([x[0] + x[1] - 0.5, x @ x - 0.6]))

    return replace(free, evaluate=evaluate, stiffness=STIFFNESS)


def by_hand(points: np.ndarray, iterations: int, planned: int, schedule: str) -> tuple[np.ndarray, ...]:
    """Points and multipliers after so many iterations of so many that are planned (`alg:csvgd`)."""
    n, (first, middle, last), climb, rate = len(points), (0.01, 10.0, 100.0), 0.005, 0.02
    held, bound = np.zeros((n, 2)), np.zeros_like(points)
    mean, square = np.zeros_like(points), np.zeros_like(points)
    for t in range(iterations):
        staged, rise, on = schedule == "staged", min(t / planned / 0.7, 1.0), max((t / planned - 0.7) / 0.3, 0.0)
        c = STIFFNESS * (first * (middle / first) ** rise * (last / middle) ** on if staged else middle)
        inside = np.clip(points, -1.0, 1.0)
        limit = inside - points
        gaps = np.stack([inside[:, 0] + inside[:, 1] - 0.5, (inside**2).sum(1) - 0.6], 1)
        slope = np.stack([np.tile([1.0, 1.0, 0.0], (n, 1)), 2 * inside], 1)
        pull = np.einsum("ng,ngd->nd", held + c * gaps, slope)
        pull -= np.where(limit == 0, 0.0, bound + c * limit)  # g_lim falls as the point goes out
        squares = ((points[:, None] - points[None]) ** 2).sum(-1)
        h = np.sort(squares.ravel())[n * n // 2] / np.log(n + 1)
        kernel = np.exp(-squares / h)
        score = shortened(-inside / 0.5**2)
        phi = (kernel @ score + 2 / h * (kernel.sum(1)[:, None] * points - kernel @ points)) / n
        along = (n if staged else 1) * phi - shortened(pull)
        mean, square = 0.9 * mean + 0.1 * along, 0.99 * square + 0.01 * along**2
        adam = mean / (1 - 0.9 ** (t + 1)) / (np.sqrt(square / (1 - 0.99 ** (t + 1))) + 1e-8)
        cosine = FINAL_RATE + (1 - FINAL_RATE) * 0.5 * (1 + np.cos(np.pi * t / planned))
        points = points + rate * cosine * adam
        pace = (climb * c if t / planned >= 0.7 else 0.0) if staged else climb
        held, bound = held + pace * gaps, bound + pace * limit
    return points, held, bound


def shortened(slopes: np.ndarray) -> np.ndarray:
    norms = np.abs(slopes).max(1, keepdims=True)
    return slopes * np.minimum(1.0, CLIP * np.median(norms) / np.maximum(norms, 1e-300))


@pytest.mark.parametrize("schedule", ["staged", "paper"])
def test_the_algorithm_of_the_paper(schedule: str) -> None:
    target, planned = ring(), 20
    points = np.random.default_rng(0).uniform(-1.3, 1.3, size=(8, 3))  # some of them beyond the limits
    sampler = csvgd(schedule=schedule).make(target, planned)
    state, key = sampler.init(jax.random.key(0), jnp.asarray(points)), jax.random.key(1)
    step = jax.jit(sampler.step)
    for _ in range(18):
        state, _ = step(key, state)
    expected = by_hand(points, 18, planned, schedule)
    for found, hand in zip((state.points, state.gap_multiplier, state.limit_multiplier), expected, strict=True):
        np.testing.assert_allclose(found, hand, rtol=1e-4, atol=1e-6)  # the bandwidth is to float32
    assert np.abs(expected[1]).max() > 0 and np.abs(expected[2]).max() > 0


@pytest.mark.parametrize("schedule", ["staged", "paper"])
def test_constraints_are_met(schedule: str) -> None:
    """The summit of a normal density on the line x + y = 1 is at (1/2, 1/2)."""
    free = density(lambda x: -0.5 * jnp.sum(((x - 0.3) / 0.2) ** 2), [0.0] * 2, [1.0] * 2)

    def evaluate(x):
        return Evaluation(free.evaluate(x).logdensity, jnp.sum(x, keepdims=True) - 1.0)

    target = replace(free, evaluate=evaluate, stiffness=1e4)
    posterior = infer(target, csvgd(schedule=schedule), particles=50, iterations=2000)
    assert posterior.gaps.max() < 1e-3
    np.testing.assert_allclose(posterior.values.mean(0), 0.5, atol=0.02)


def test_without_constraints_it_is_svgd() -> None:
    """Within the limits, and not annealed."""
    target = density(lambda x: -0.5 * jnp.sum((x / 0.5) ** 2), [-9.0] * 2, [9.0] * 2)
    ours, plain = (infer(target, m, particles=20, iterations=50).values for m in (csvgd(), svgd(anneal=0.0)))
    np.testing.assert_allclose(ours, plain, rtol=1e-10)


def test_the_kernel_may_look_at_the_parameters_only() -> None:
    """Then nothing keeps other coordinates of particles apart: from one place they go to another one."""
    free = density(lambda x: -0.5 * jnp.sum(((x - 0.5) / 0.1) ** 2), [0.0] * 2, [1.0] * 2)
    start, found = jnp.stack([jnp.linspace(0.1, 0.9, 30), jnp.full(30, 0.3)], 1), {}
    for kernel in ("all", "parameters"):
        sampler = csvgd(kernel=kernel).make(replace(free, parameters=1), 500)
        step = lambda i, state, sampler=sampler: sampler.step(jax.random.key(0), state)[0]  # noqa: E731
        state = sampler.init(jax.random.key(0), start.at[:, 1].add(1e-6 * start[:, 0]))
        points = np.asarray(jax.lax.fori_loop(0, 500, step, state).points)
        np.testing.assert_allclose(points.mean(0), 0.5, atol=0.01)
        found[kernel] = points.std(0)
    assert found["all"].min() > 0.07 and found["parameters"][0] > 0.07
    assert found["parameters"][1] < 0.03


def windows(steps: int, count: int) -> Target:
    """Of a double pendulum's motion that was measured without any noise."""
    recordings = two_links.recorded([np.array([1.5, 2.0])], steps)
    clean = [replace(r, observed=r.states) for r in recordings]  # the sensors show the state
    return multiple(two_links.pendulum(), clean, two_links.NOISE, windows=count)


@pytest.mark.parametrize("steps, count, particles", [(100, 4, 30), pytest.param(400, 10, 100, marks=pytest.mark.slow)])
def test_windows_of_a_noise_free_pendulum_join(steps: int, count: int, particles: int) -> None:
    """Relative defect under 1e-3 of the states' spread, and no limit violated."""
    posterior = infer(windows(steps, count), csvgd(), particles=particles, iterations=2000)
    assert posterior.gaps.max() < 1e-3
    assert (posterior.values >= posterior.limits[:, 0]).all() and (posterior.values <= posterior.limits[:, 1]).all()
    np.testing.assert_allclose(posterior.values.mean(0), [1.5, 2.0], atol=0.01)


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="schedule 'fast'"):
        csvgd(schedule="fast")
    with pytest.raises(ValueError, match="kernel 'some'"):
        csvgd(kernel="some")
    with pytest.raises(ValueError, match="goes from 10 to 1 to 100; it must rise"):
        csvgd(penalty=(10.0, 1.0, 100.0))
