"""What recordings would look like: the rollout that `predict` has, and the noise that the likelihood has."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from plausim.parameters import choose, from_unit, parameter
from plausim.recordings import simulated
from plausim.shooting import Range, multiple, single
from plausim.studies import two_links
from plausim.systems import system
from plausim.target import Motion, Simulator, Target

STEPS, SIGMA = 40, np.array(list(two_links.NOISE.values()))


@pytest.fixture(scope="module")
def recordings():
    found = two_links.recorded([np.array([1.5, 2.0]), np.array([2.0, 1.5])], STEPS)
    found[1].known[5:, 1] = False
    return found


def parts(target: Target) -> tuple[Simulator, Motion]:
    assert target.simulator is not None and target.motion is not None
    return target.simulator, target.motion


def many(target: Target, point: np.ndarray, count: int = 4000) -> np.ndarray:
    simulate = jax.jit(jax.vmap(parts(target)[0].simulate, (0, None)))
    return np.asarray(simulate(jax.random.split(jax.random.key(0), count), jnp.asarray(point)), float)


def shot(shooting: str, recordings, noise=two_links.NOISE, **options) -> Target:
    windows = {"windows": 4} if shooting == "multiple" else {}
    return {"single": single, "multiple": multiple}[shooting](
        two_links.pendulum(), recordings, noise, **windows, **options
    )


@pytest.mark.parametrize("shooting", ["single", "multiple"])
def test_it_is_the_prediction_with_the_noise_of_the_likelihood(shooting: str, recordings) -> None:
    target = shot(shooting, recordings)
    simulator, motion = parts(target)
    point = target.starts(3)[2]
    away = many(target, point) - np.asarray(motion.predict(jnp.asarray(point)))
    known = motion.known
    assert_allclose((away.mean(0) / SIGMA)[known], 0.0, atol=5 / np.sqrt(len(away)))
    assert_allclose((away.std(0) / SIGMA)[known], 1.0, atol=5 / np.sqrt(2 * len(away)))
    inner = np.corrcoef((away / SIGMA)[:, 0, :5].reshape(len(away), -1).T) - np.eye(20)
    assert np.abs(inner).max() < 5 / np.sqrt(len(away))
    assert_allclose(simulator.observed, np.where(known, motion.observed, 0.0))


def test_what_was_not_measured_is_0(recordings) -> None:
    simulator, motion = parts(shot("single", recordings))
    assert (~motion.known).any()
    assert (many(shot("single", recordings), np.zeros(2), 3)[:, ~motion.known] == 0).all()
    assert (simulator.observed[~motion.known] == 0).all()


def test_window_starts_make_no_difference(recordings) -> None:
    target = shot("multiple", recordings)
    point = target.starts(1)[0]
    other = point + np.r_[np.zeros(target.parameters), np.ones(target.dimensions - target.parameters)]
    assert (many(target, point, 2) == many(target, other, 2)).all()


def test_noise_that_is_to_be_found_is_that_of_the_point(recordings) -> None:
    target = shot("single", recordings[:1], two_links.NOISE | {"angle1": Range(0.01, 0.1)})
    for unit, sd in ((0.0, 0.01), (0.5, np.sqrt(0.001)), (1.0, 0.1)):
        found = many(target, np.array([0.3, 0.6, unit])).std(0)[0]
        assert_allclose(found[:, 0], sd, rtol=0.06)
        assert_allclose(found[:, 1], 0.01, rtol=0.06)


def test_outliers_of_a_student_density(recordings) -> None:
    """Half of Student's noise of 4 degrees of freedom is within 0.741 of its scale, 95 % within 2.776."""
    target = shot("single", recordings[:1], student=4.0)
    point = np.array([0.3, 0.6])
    away = np.abs(many(target, point, 1000) - np.asarray(parts(target)[1].predict(jnp.asarray(point)))) / SIGMA
    assert_allclose([np.mean(away < 0.741), np.mean(away < 2.776)], [0.5, 0.95], atol=5e-3)


def test_first_states_that_are_to_be_found_are_drawn_about_the_measured_ones(recordings) -> None:
    """With about the noise of a channel: after one step it is still there."""
    target = shot("single", recordings[:1], first="inferred")
    plain = shot("single", recordings[:1])
    point = np.r_[0.3, 0.6, np.zeros(4)]
    found, measured = many(target, point), many(plain, point[:2])
    variances = (found.var(0) - measured.var(0))[0, 0] / SIGMA**2  # after one step
    assert (variances > 0.01).all()
    assert_allclose(found.mean(0)[0, 0], measured.mean(0)[0, 0], atol=6 * SIGMA.max() / np.sqrt(len(found)))


def test_the_prior_goes_along() -> None:
    arm = two_links.parameters()
    target = single(
        two_links.pendulum(), two_links.recorded([np.array([1.5, 2.0])], STEPS), two_links.NOISE,
        prior=lambda values: -jnp.sum(values),
    )  # fmt: skip
    simulator, point = parts(target)[0], jnp.array([0.3, 0.6])
    assert simulator.prior is not None
    assert_allclose(simulator.prior(point), -np.sum(np.asarray(from_unit(arm, point))))


def test_recordings_of_different_machines_cannot_be_simulated_together(recordings) -> None:
    assert shot("single", recordings, combine="sum").simulator is None
    assert shot("single", recordings[:1], combine="sum").simulator is not None


def test_controls_are_followed() -> None:
    """A driven rod, in one launch."""
    from plausim import mechanics

    model = mechanics.parse("""<mujoco><option timestep="0.01"/><worldbody><body name="rod">
      <joint name="pivot" type="hinge" axis="1 0 0"/><inertial mass="1" pos="0 0 -0.5" diaginertia="0.1 0.1 0.01"/>
      </body></worldbody><actuator><motor name="motor" joint="pivot"/></actuator>
      <sensor><jointpos name="angle" joint="pivot"/></sensor></mujoco>""")
    torque = np.sin(np.arange(30.0))[:, None]
    swing = simulated(model, np.array([0.8, 0.5]), torque, noise={"angle": 1e-6})
    target = single(system(choose(model, [parameter("rod.mass", 0.5, 1.5)])), [swing], {"angle": 1e-6})
    assert_allclose(many(target, np.array([0.5]), 2)[0, 0], swing.observed[1:], atol=1e-5)
