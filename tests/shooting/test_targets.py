"""Targets against a pendulum that NumPy integrates and densities that SciPy has."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from plausim import fuse, mechanics
from plausim.parameters import choose, from_unit, parameter, to_unit
from plausim.recordings import Recording, simulated
from plausim.shooting import Range, multiple, single
from plausim.systems import System, system
from plausim.target import Target, soften

MASS, LENGTH, INERTIA, DT, STEPS, WINDOWS = 1.3, 0.5, 0.08, 0.01, 24, 4
SIGMA = {"angle": 0.02, "rate": 0.1}
MJCF = f"""<mujoco>
  <option timestep="{DT}"><flag eulerdamp="disable"/></option>
  <worldbody><body name="rod">
    <joint name="pivot" type="hinge" axis="1 0 0" damping="0.05"/>
    <inertial mass="{MASS}" pos="0 0 -{LENGTH}" diaginertia="{INERTIA} 0.08 0.001"/>
  </body></worldbody>
  <actuator><motor name="motor" joint="pivot"/></actuator>
  <sensor><jointpos name="angle" joint="pivot"/><jointvel name="rate" joint="pivot"/></sensor>
</mujoco>"""
CHOSEN = [parameter("rod.mass", 0.5, 2.0), parameter("pivot.damping", 0.005, 0.5, log=True)]
MODEL = mechanics.parse(MJCF)
NAMES = ("one", "other")


def rod() -> System:
    return system(choose(MODEL, CHOSEN))


def recorded(count: int = 2, steps: int = STEPS) -> list[Recording]:
    """Two swings, with holes in what was measured and noisy states to start from."""
    rng, found = np.random.default_rng(5), []
    for i in range(count):
        torque = 0.4 * rng.standard_normal((steps, 1))
        swing = simulated(MODEL, np.array([0.8 - i, 0.5 * i]), torque, noise=SIGMA, seed=i, name=NAMES[i])
        known = rng.random(swing.observed.shape) > 0.2
        states = swing.states + 0.01 * rng.standard_normal(swing.states.shape)
        found.append(replace(swing, known=known, observed=np.where(known, swing.observed, 0.0), states=states))
    return found


def swung(mass: float, damping: float, start: np.ndarray, torques: np.ndarray) -> np.ndarray:
    """The states after each step: semi-implicit Euler (`eq:dynamics`), by hand."""
    (angle, rate), rows = start, []
    for (torque,) in torques:
        moment = torque - damping * rate - mass * 9.81 * LENGTH * np.sin(angle)
        rate = rate + DT * moment / (INERTIA + mass * LENGTH**2)
        angle = angle + DT * rate
        rows.append((angle, rate))
    return np.array(rows)


def spread(recordings: list[Recording]) -> np.ndarray:
    return np.concatenate([r.states - r.states[0] for r in recordings]).std(0)


def seen(r: Recording, at: slice, states: np.ndarray, density: Any) -> float:
    """The log-density of all that was measured after the steps of a slice."""
    each = density.logpdf(r.observed[1:][at], states, list(SIGMA.values()) if density is stats.norm else None)
    return float(each[r.known[1:][at]].sum())


def by_hand(
    recordings: list[Recording],
    mass: float,
    damping: float,
    deltas: np.ndarray,
    windows: int,
    density: Any = stats.norm,
) -> tuple[np.ndarray, np.ndarray]:
    """The log-likelihood of each recording, and its gaps: all in units of the spread."""
    steps, scale, each, gaps = STEPS // windows, spread(recordings), [], []
    for r, delta in zip(recordings, deltas, strict=True):
        starts, ends, total = r.states[:-1:steps] + scale * delta, [], 0.0
        for w in range(windows):
            at = slice(w * steps, (w + 1) * steps)
            states = swung(mass, damping, starts[w], r.controls[at])
            ends.append(states[-1])
            total += seen(r, at, states, density)
        each.append(total)
        gaps.append((starts[1:] - np.array(ends)[:-1]) / scale)
    return np.array(each), np.array(gaps)


def combined(how: str, each: np.ndarray) -> float:
    return float(each.sum() if how == "product" else np.asarray(logsumexp(each, b=1 / 2)))


def point_of(target: Target, seed: int = 0, far: float = 0.05) -> np.ndarray:
    """Parameters inside of their box, window starts about the measured ones."""
    rng = np.random.default_rng(seed)
    rest = far * rng.standard_normal(target.dimensions - target.parameters)
    return np.r_[rng.uniform(0.3, 0.7, target.parameters), rest]


def values_of(point: np.ndarray) -> tuple[float, float]:
    return 0.5 + 1.5 * point[0], 0.005 * (0.5 / 0.005) ** point[1]


def found(target: Target, point: np.ndarray) -> tuple[float, np.ndarray]:
    logdensity, gaps = jax.jit(target.evaluate)(jnp.asarray(point))
    return float(logdensity), np.asarray(gaps)


CLOSE: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("combine", ["product", "sum"])
def test_single_shooting(combine: str) -> None:
    """`eq:ss_likelihood`, over two recordings as `eq:traj_likelihood_prod` and as `eq:traj_likelihood`."""
    recordings = recorded()
    target = single(rod(), recordings, SIGMA, combine=combine)
    assert target.names == ("rod.mass", "pivot.damping") and target.dimensions == 2
    point = point_of(target)
    each, _ = by_hand(recordings, *values_of(point), np.zeros((2, 1, 2)), 1)
    expected = combined(combine, each)
    logdensity, gaps = found(target, point)
    np.testing.assert_allclose(logdensity, expected, **CLOSE)
    assert gaps.shape == (0,)


@pytest.mark.parametrize("combine, defect", [("product", "gap"), ("sum", "squared")])
def test_multiple_shooting(combine: str, defect: str) -> None:
    """`eq:ms_likelihood`, its constraints as gaps and as the squares of `sec:mmdm`."""
    recordings = recorded()
    target = multiple(rod(), recordings, SIGMA, windows=WINDOWS, combine=combine, defect=defect, defect_sigma=0.03)
    assert target.dimensions == 2 + 2 * (WINDOWS - 1) * 2
    assert target.names[2:4] == ("one@1.pivot.position", "one@1.pivot.velocity")
    assert target.names[-1] == "other@3.pivot.velocity"
    point = point_of(target)
    deltas = np.pad(point[2:].reshape(2, WINDOWS - 1, 2), ((0, 0), (1, 0), (0, 0)))
    each, gaps = by_hand(recordings, *values_of(point), deltas, WINDOWS)
    logdensity, constraints = found(target, point)
    np.testing.assert_allclose(logdensity, combined(combine, each), **CLOSE)
    squares = (gaps**2).sum(-1) / 0.03**2
    np.testing.assert_allclose(constraints, (gaps if defect == "gap" else squares).ravel(), **CLOSE)


def test_windows_that_join_say_what_one_rollout_says() -> None:
    recordings, parameters = recorded(), rod().parameters
    together, apart = multiple(rod(), recordings, SIGMA, windows=WINDOWS), single(rod(), recordings, SIGMA)
    point = point_of(apart)
    scale, steps, deltas = spread(recordings), STEPS // WINDOWS, []
    for r in recordings:
        states = swung(*values_of(point), r.states[0], r.controls)
        deltas.append((states[steps - 1 : -1 : steps] - r.states[steps:-1:steps]) / scale)
    logdensity, gaps = found(together, np.r_[point, np.ravel(deltas)])
    np.testing.assert_allclose(gaps, 0.0, atol=1e-12)
    np.testing.assert_allclose(logdensity, found(apart, point)[0], **CLOSE)
    values = jnp.asarray(values_of(point))
    np.testing.assert_allclose(to_unit(parameters, values), point, **CLOSE)
    np.testing.assert_allclose(from_unit(parameters, jnp.asarray(point)), values, **CLOSE)


def test_one_window_is_single_shooting() -> None:
    recordings = recorded(1)
    one, single_one = multiple(rod(), recordings, SIGMA, windows=1), single(rod(), recordings, SIGMA)
    point = point_of(single_one)
    assert found(one, point)[0] == found(single_one, point)[0] and one.dimensions == 2


def test_noise_that_is_found_with_the_parameters() -> None:
    """With the normaliser, or it would be found to be infinite."""
    recordings = recorded()
    target = single(rod(), recordings, {"angle": 0.02, "rate": Range(0.01, 1.0)})
    assert target.names == ("rod.mass", "pivot.damping", "noise.rate") and target.parameters == 3
    point = np.array([0.4, 0.6, 0.25])
    level = 0.01 * 100**0.25
    expected = 0.0
    for r in recordings:
        away = stats.norm.logpdf(r.observed[1:], swung(*values_of(point), r.states[0], r.controls), [0.02, level])
        expected += away[r.known[1:]].sum()
    np.testing.assert_allclose(found(target, point)[0], expected, **CLOSE)
    np.testing.assert_allclose(target.values(jnp.asarray(point[None]))[0], [*values_of(point), level], **CLOSE)


def test_student() -> None:
    recordings = recorded()
    target = single(rod(), recordings, SIGMA, student=4.0)
    point, expected = point_of(target), 0.0
    for r in recordings:
        states = swung(*values_of(point), r.states[0], r.controls)
        each = stats.t.logpdf(r.observed[1:], 4.0, states, list(SIGMA.values()))
        expected += each[r.known[1:]].sum()
    np.testing.assert_allclose(found(target, point)[0], expected, **CLOSE)


def test_a_student_density_forgives_an_outlier() -> None:
    """The most plausible mass of a spoilt recording: near the truth, or far away."""
    swing = simulated(MODEL, np.array([0.8, 0.0]), steps=STEPS, noise=SIGMA, name="swing")
    spoilt = swing.observed.copy()
    spoilt[-6:] += 0.8
    masses = jnp.linspace(0.0, 1.0, 201)
    best = {}
    for student in (None, 3.0):
        target = single(rod(), [replace(swing, observed=spoilt)], SIGMA, student=student)
        heights = jax.vmap(lambda m, target=target: target.evaluate(jnp.stack([m, jnp.full_like(m, 0.5)])).logdensity)(
            masses
        )
        best[student] = 0.5 + 1.5 * float(masses[jnp.argmax(heights)])
    assert abs(best[3.0] - MASS) < abs(best[None] - MASS)


def test_a_prior_is_of_the_values_in_their_units() -> None:
    recordings = recorded(1)
    plain = single(rod(), recordings, SIGMA)
    target = single(rod(), recordings, SIGMA, prior=lambda values: -0.5 * jnp.sum(((values - 1.0) / 0.3) ** 2))
    point = point_of(plain)
    expected = -0.5 * np.sum(((np.array(values_of(point)) - 1.0) / 0.3) ** 2)
    np.testing.assert_allclose(found(target, point)[0] - found(plain, point)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("windows", [1, WINDOWS])
def test_first_states_that_are_found_too(windows: int) -> None:
    """Each is normal about the measured one, as far away as the noise of the median channel in its spread."""
    recordings = recorded()
    make = single if windows == 1 else lambda *a, **k: multiple(*a, windows=windows, **k)
    target = make(rod(), recordings, SIGMA, first="inferred")
    assert target.dimensions == 2 + 2 * windows * 2 and target.names[2] == "one@0.pivot.position"
    point = point_of(target)
    deltas = point[2:].reshape(2, windows, 2)
    each, _ = by_hand(recordings, *values_of(point), deltas, windows)
    measured = np.concatenate([np.where(r.known, r.observed, np.nan) for r in recordings])
    sd = np.median(np.array(list(SIGMA.values())) / np.nanstd(measured, 0))
    expected = each.sum() + stats.norm.logpdf(deltas[:, 0], 0.0, sd).sum()
    np.testing.assert_allclose(found(target, point)[0], expected, **CLOSE)


def test_softened_gaps_are_a_normal_density() -> None:
    """`eq:likelihood-defect`."""
    target = multiple(rod(), recorded(), SIGMA, windows=WINDOWS)
    point = point_of(target)
    logdensity, gaps = found(target, point)
    softened, none = found(soften(target, 0.05), point)
    np.testing.assert_allclose(softened, logdensity + stats.norm.logpdf(gaps, 0.0, 0.05).sum(), **CLOSE)
    assert none.shape == (0,)
    with pytest.raises(ValueError, match="standard deviation is 0; give a number above 0"):
        soften(target, 0.0)


def test_what_is_predicted_starts_at_the_measured_state() -> None:
    recordings = recorded()
    target = multiple(rod(), recordings, SIGMA, windows=WINDOWS)
    point = point_of(target)
    assert target.motion is not None
    predicted = np.asarray(target.motion.predict(jnp.asarray(point)))
    for r, rows in zip(recordings, predicted, strict=True):
        np.testing.assert_allclose(rows, swung(*values_of(point), r.states[0], r.controls), **CLOSE)
    np.testing.assert_allclose(target.motion.time, DT * np.arange(1, STEPS + 1))
    np.testing.assert_array_equal(target.motion.known, [r.known[1:] for r in recordings])


SETTINGS: list[dict[str, Any]] = [
    {"defect": "gap", "combine": "product", "student": 4.0, "first": "inferred"},
    {"defect": "squared", "combine": "sum", "student": None, "first": "given"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: s["defect"])
def test_gradients(settings: dict[str, Any]) -> None:
    """Against central differences, in float64; with `jax.lax.scan` all is the same."""
    noise = {"angle": Range(0.005, 0.5), "rate": 0.1}
    prior = lambda values: -0.5 * jnp.sum(values**2)  # noqa: E731
    targets = [
        multiple(rod(), recorded(), noise, windows=2, prior=prior, scan=scan, **settings)
        for scan in (fuse.scan, jax.lax.scan)
    ]
    point = jnp.asarray(point_of(targets[0]))

    def number(target: Target, point: jax.Array) -> jax.Array:
        logdensity, gaps = target.evaluate(point)
        return 1e-2 * logdensity + jnp.sum(jnp.sin(gaps + 1.0))

    (value, gradient), (plain, same) = (
        jax.jit(jax.value_and_grad(lambda p, t=t: number(t, p)))(point) for t in targets
    )
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    np.testing.assert_allclose(gradient, same, rtol=1e-9, atol=1e-10)
    alone = jax.jit(lambda p: number(targets[0], p))
    for i in range(len(point)):
        step = jnp.zeros_like(point).at[i].set(1e-6)
        np.testing.assert_allclose(
            (alone(point + step) - alone(point - step)) / 2e-6, gradient[i], rtol=2e-5, atol=1e-6
        )


def test_stiffness_is_what_states_off_by_a_spread_cost_a_window() -> None:
    """The scale of penalties: log-density for each squared unit, of a window's mean state."""
    recordings = [replace(r, known=np.ones_like(r.known)) for r in recorded(1)]
    target = multiple(rod(), recordings, SIGMA, windows=WINDOWS)
    ratio = recordings[0].observed.std(0) / np.array(list(SIGMA.values()))
    np.testing.assert_allclose(target.stiffness, STEPS / WINDOWS * np.mean(ratio**2), rtol=1e-9)
