"""Scores of predicted motion against second implementations, closed forms, and sums by hand."""

import numpy as np
import pytest
import scoringrules
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.metrics.pairwise import rbf_kernel

from plausim import metrics
from plausim.scores import CALM, LEVEL, THIN, Heldout, Scores, coverage, judged, over_time

UNITS = ("rad", "rad", "rad/s")
SPREAD, SIGMA = np.array([0.5, 2.0, 10.0]), np.array([0.1, 0.2, 3.0])


def drawn(seed: int, draws: int, motions: int = 5, steps: int = 12) -> tuple[Heldout, np.ndarray, np.ndarray]:
    """Motions, and honest draws: paths, and what would be measured. All are of one distribution for each motion."""
    rng = np.random.default_rng(seed)
    centre = 3.0 * SPREAD * rng.normal(size=(motions, steps, 3))
    paths = centre + SPREAD * rng.normal(size=(draws + 1, motions, 1, 3))
    measured = paths + SIGMA * rng.normal(size=paths.shape)
    return Heldout(measured[0], np.ones(measured[0].shape, bool), SPREAD, SIGMA, UNITS), paths[1:], measured[1:]


def gappy(heldout: Heldout, filler: float = 1e6) -> Heldout:
    """A third is not measured; what stands there means nothing."""
    known = np.random.default_rng(7).random(heldout.known.shape) > 1 / 3
    return heldout._replace(known=known, observed=np.where(known, heldout.observed, filler))


def assert_same(one: Scores, other: Scores) -> None:
    for ours, theirs in zip(one, other, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_the_energy_score_is_that_of_scoringrules(gaps: bool) -> None:
    """Each motion is one point, of what was measured of it."""
    heldout, paths, predicted = drawn(0, 40)
    heldout = gappy(heldout) if gaps else heldout
    theirs = []
    for i, known in enumerate(heldout.known):
        real, simulated = (heldout.observed[i] / SPREAD)[known], (predicted[:, i] / SPREAD)[:, known]
        score = scoringrules.es_ensemble(real, simulated, estimator="fair", backend="numpy")
        theirs.append(np.asarray(score) / np.sqrt(np.sum(known)))
    assert_allclose(judged(paths, predicted, heldout).energy, np.mean(theirs), rtol=1e-12)


def test_honest_draws_cover_nine_tenths() -> None:
    """Many motions of one sample each, since samples of one motion go together. The share has a binomial sd."""
    heldout, _, predicted = drawn(1, 99, motions=3000, steps=1)
    assert abs(coverage(predicted, heldout) - LEVEL) < 4 * np.sqrt(0.09 / 9000)
    assert abs(coverage(predicted, gappy(heldout)) - LEVEL) < 4 * np.sqrt(0.09 / 6000)
    middle = predicted.mean(axis=0)
    inside = 2 * norm.cdf(0.5 * norm.ppf(0.95)) - 1  # of an interval half as wide
    assert abs(coverage(middle + 0.5 * (predicted - middle), heldout) - inside) < 0.02


def test_coverage_and_rms_count_what_they_say() -> None:
    """Coverage is of measured predictions, rms of paths, by unit: rms of a path on a motion, then the median."""
    heldout, paths, predicted = drawn(2, 25)
    for given in (heldout, gappy(heldout)):
        found = judged(paths, predicted, given)
        each: dict[str, list[float]] = {"rad": [], "rad/s": []}
        for draw in paths:
            for path, real, known in zip(draw, given.observed, given.known, strict=True):
                for unit, own in (("rad", slice(0, 2)), ("rad/s", slice(2, 3))):
                    away = (path - real)[:, own][known[:, own]]
                    each[unit].append(float(np.sqrt(np.mean(away**2))))
        assert found.rms == pytest.approx({unit: np.median(numbers) for unit, numbers in each.items()}, rel=1e-12)
        flags = [metrics.coverage(predicted[:, m, s, c, None], given.observed[m, s, c, None], LEVEL)
                 for m, s, c in np.argwhere(given.known)]  # fmt: skip
        assert_allclose(found.coverage, np.mean(flags), rtol=1e-12)


def test_log_p_is_of_the_mixture_of_all_draws() -> None:
    heldout, paths, predicted = drawn(3, 30)
    for given in (heldout, gappy(heldout)):
        density = np.where(given.known, norm.logpdf(given.observed, paths, SIGMA), 0.0).sum(axis=(2, 3))
        mixture = logsumexp(density, axis=0) - np.log(30)
        truth = mixture.sum() / given.known.sum()
        assert_allclose(judged(paths, predicted, given).log_likelihood, truth, rtol=1e-10)


def test_what_is_pooled_are_trajectories_of_all_motions() -> None:
    """In spreads, every few samples; the kernel's width is the median distance of the real ones."""
    heldout, paths, predicted = drawn(4, 20)
    for given in (heldout, gappy(heldout)):
        seen = given.known[:, ::THIN] / SPREAD
        truth = np.reshape(given.observed[:, ::THIN] * seen, (5, -1))
        together = np.reshape(paths[:, :, ::THIN] * seen, (100, -1))
        found = judged(paths, predicted, given)
        assert_allclose(found.kl_real_sim, metrics.knn_kl(truth, together, 3, 3), rtol=1e-10)
        assert_allclose(found.kl_sim_real, metrics.knn_kl(together, truth, 3, 3), rtol=1e-10)
        apart = [np.linalg.norm(a - b) for i, a in enumerate(truth) for b in truth[:i]]
        gamma = 0.5 / np.median(apart) ** 2
        kernels = [rbf_kernel(a, b, gamma=gamma) for a, b in [(truth, truth), (together, together), (truth, together)]]
        assert_allclose(found.mmd, np.dot([1, 1, -2], [k.mean() for k in kernels]), rtol=1e-9)


def test_units_change_nothing_but_the_numbers_that_have_them() -> None:
    heldout, paths, predicted = drawn(5, 20)
    degrees = np.array([180 / np.pi, 180 / np.pi, 1.0])
    turned = heldout._replace(
        observed=degrees * heldout.observed, spread=degrees * SPREAD, sigma=degrees * SIGMA, units=("°", "°", "rad/s")
    )
    one, other = judged(paths, predicted, heldout), judged(degrees * paths, degrees * predicted, turned)
    assert other.rms == pytest.approx({"°": one.rms["rad"] * degrees[0], "rad/s": one.rms["rad/s"]})
    assert other.log_likelihood == pytest.approx(one.log_likelihood - np.mean(np.log(degrees)))
    assert_same(one._replace(rms={}, log_likelihood=0.0), other._replace(rms={}, log_likelihood=0.0))


@pytest.mark.parametrize("gone", [np.nan, np.inf, -2 * CALM * SPREAD[2]], ids=["nan", "inf", "far"])
def test_draws_that_fail_are_left_out_and_counted(gone: float) -> None:
    heldout, paths, predicted = drawn(6, 22)
    paths[3, 1, -1, 2] = gone  # at its end, of one motion
    predicted[[3, 8], 0, 4, 1] = gone
    rest = np.delete(np.arange(22), [3, 8])
    found = judged(paths, predicted, heldout)
    assert found.failed == 2
    assert_same(found._replace(failed=0), judged(paths[rest], predicted[rest], heldout))


def test_where_every_draw_fails_there_is_no_number() -> None:
    heldout, paths, predicted = drawn(6, 4)
    found = judged(np.full_like(paths, np.nan), predicted, heldout)
    assert found.failed == 4 and list(found.rms) == ["rad", "rad/s"]
    assert np.isnan([*found.rms.values(), *(x for x in found._replace(failed=0)[:2]), *found[3:7]]).all()
    assert all(np.isnan(line).all() for line in over_time(np.full_like(paths, np.nan), heldout).values())


def test_a_collapsed_posterior_has_no_divergence_and_no_infinity() -> None:
    heldout, paths, _ = drawn(8, 30)
    one = np.repeat(paths[:1], 30, axis=0)
    found = judged(one, one, heldout)
    assert np.isnan(found.kl_sim_real)
    assert np.isfinite([found.energy, found.coverage, found.log_likelihood, found.kl_real_sim, found.mmd]).all()
    assert found.coverage < 0.3


@pytest.mark.parametrize("motions, there", [(1, (0, 0, 0)), (2, (0, 0, 1)), (3, (0, 1, 1)), (4, (1, 1, 1))])
def test_few_motions_have_no_pooled_numbers(motions: int, there: tuple[bool, ...]) -> None:
    """Each of the divergences takes three neighbours, of a real motion among the others one more."""
    heldout, paths, predicted = drawn(9, 30, motions=motions)
    found = judged(paths, predicted, heldout)
    assert np.array_equal(np.isfinite([found.kl_real_sim, found.kl_sim_real, found.mmd]), there)
    assert np.isfinite([found.energy, found.coverage, found.log_likelihood, *found.rms.values()]).all()


def test_few_draws_have_no_interval() -> None:
    heldout, paths, predicted = drawn(10, 19)
    assert np.isfinite(judged(paths, predicted, heldout).coverage)
    assert np.isnan(judged(paths[:18], predicted[:18], heldout).coverage)
    assert np.isnan(judged(paths[:1], predicted[:1], heldout).energy)


def test_what_was_not_measured_takes_no_part() -> None:
    """Whatever is written there; a channel that no motion has is one that is not there."""
    heldout, paths, predicted = drawn(11, 20)
    given = gappy(heldout)
    assert_same(judged(paths, predicted, given), judged(paths, predicted, gappy(heldout, filler=0.0)))
    without = given._replace(known=given.known & (np.arange(3) < 2))
    found = judged(paths, predicted, without)
    assert np.isnan(found.rms.pop("rad/s"))
    angles = Heldout(without.observed[..., :2], without.known[..., :2], SPREAD[:2], SIGMA[:2], UNITS[:2])
    expected = judged(paths[..., :2], predicted[..., :2], angles)
    assert_same(found, expected)  # the divergences, too: they grow with the number of dimensions


def test_a_log_slower_than_the_model_has_pooled_numbers() -> None:
    """Every tenth sample is measured, none of which is a fifth one."""
    heldout, paths, predicted = drawn(13, 20, steps=60)
    known = heldout.known & (np.arange(1, 61) % 10 == 0)[:, None]
    sparse = heldout._replace(known=known)
    real, simulated = ((x[..., 9 :: 10 * THIN, :] / SPREAD).reshape(-1, 6) for x in (heldout.observed, paths))
    one = judged(paths, predicted, sparse)
    assert_allclose(one.kl_real_sim, metrics.knn_kl(real, simulated), rtol=1e-10)
    assert np.isfinite(one.mmd)


def test_motions_that_are_one_and_the_same_have_no_mmd() -> None:
    heldout, paths, predicted = drawn(14, 20, motions=2)
    twins = heldout._replace(observed=heldout.observed[[0, 0]])
    assert np.isnan(judged(paths, predicted, twins).mmd)


def test_over_time_is_the_same_by_the_sample() -> None:
    heldout, paths, _ = drawn(12, 15)
    lines = over_time(paths, heldout)
    at = np.sqrt(np.mean((paths - heldout.observed)[:, :, 4, :2] ** 2, axis=-1))
    assert_allclose(lines["rad"][4], np.median(at), rtol=1e-12)
    assert {unit: line.shape for unit, line in lines.items()} == {"rad": (12,), "rad/s": (12,)}
