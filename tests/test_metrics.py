"""The metrics against closed forms, against second implementations, and for what must not change them."""

import tracemalloc

import arviz_base
import arviz_stats
import hypothesis.strategies as st
import numpy as np
import pytest
import scoringrules
from hypothesis import given
from numpy.testing import assert_allclose
from scipy.special import digamma
from scipy.stats import multivariate_normal, norm
from sklearn.metrics.pairwise import rbf_kernel

from plausim import metrics
from plausim.metrics import coverage, energy_score, knn_kl, log_likelihood, log_mean_exp, mmd

SEEDS = st.integers(0, 2**32 - 1)


def normals(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def kl_of_normals(m0: np.ndarray, s0: np.ndarray, m1: np.ndarray, s1: np.ndarray) -> float:
    """d_KL of the first from the second, by the textbook."""
    precision, gap = np.linalg.inv(s1), m1 - m0
    logs = np.linalg.slogdet(s1)[1] - np.linalg.slogdet(s0)[1]
    return 0.5 * float(np.trace(precision @ s0) + gap @ precision @ gap - len(m0) + logs)


# d_KL(P || Q) from samples


@pytest.mark.parametrize("size, shift, correlation", [(2, 0.8, 0.3), (5, 0.5, 0.1)])
def test_knn_kl_of_normals_both_ways(size: int, shift: float, correlation: float) -> None:
    """P and Q differ in mean and shape. The mean over seeds is within three standard deviations of one estimate.

    Closer it cannot be asked to be: the estimator is biased where one distribution has the thinner tail.
    """
    here, there = np.zeros(size), np.full(size, shift / np.sqrt(size))
    round_, long = np.eye(size), (1 - correlation) * np.eye(size) + correlation
    forth, back = [], []
    for seed in range(8):
        p = normals(seed, 3000, size)
        q = there + normals(100 + seed, 3000, size) @ np.linalg.cholesky(long).T
        forth.append(knn_kl(p, q))
        back.append(knn_kl(q, p))
    assert abs(np.mean(forth) - kl_of_normals(here, round_, there, long)) < 3 * np.std(forth) < 0.15
    assert abs(np.mean(back) - kl_of_normals(there, long, here, round_)) < 3 * np.std(back) < 0.15
    assert np.mean(forth) < np.mean(back)  # 0.30 and 0.37; 0.13 and 0.17: the arguments are not swapped


def test_knn_kl_of_a_box_in_a_box() -> None:
    """Half as wide in two directions: log 4."""
    rng = np.random.default_rng(0)
    estimates = [knn_kl(0.25 + 0.5 * rng.random((4000, 2)), rng.random((4000, 2))) for _ in range(8)]
    assert abs(np.mean(estimates) - np.log(4)) < 3 * np.std(estimates)


@pytest.mark.parametrize("k, l", [(1, 1), (3, 3), (2, 5)])
@pytest.mark.parametrize("size", [1, 3, metrics.WIDE + 10])
def test_knn_kl_is_the_formula(size: int, k: int, l: int) -> None:  # noqa: E741
    p, q = normals(0, 40, size), 0.3 + 2.0 * normals(1, 30, size)
    total = 0.0
    for i in range(40):
        to_q = sorted(np.linalg.norm(p[i] - q, axis=1))[k - 1]
        to_p = sorted(np.linalg.norm(p[i] - np.delete(p, i, axis=0), axis=1))[l - 1]
        total += size * np.log(to_q / to_p) + digamma(l) - digamma(k)
    assert_allclose(knn_kl(p, q, k, l), total / 40 + np.log(30 / 39), rtol=1e-12)


@pytest.mark.parametrize("size, noise", [(1, 5e-3), (3, 1e-4), (metrics.WIDE + 10, 1e-4)])
def test_knn_kl_of_first_neighbours_is_that_of_arviz(size: int, noise: float) -> None:
    """Theirs adds noise of 1e-6 standard deviations to all points, takes samples of one size, and is never below 0."""
    p, q = normals(0, 200, size), 0.5 + 1.5 * normals(1, 200, size)
    one, other = (arviz_base.from_dict({"posterior": {"x": points[None]}}) for points in (p, q))
    theirs = [
        arviz_stats.kl_divergence(*pair, num_samples=200, round_to="none") for pair in ((one, other), (other, one))
    ]
    ours = np.array([knn_kl(p, q, 1, 1), knn_kl(q, p, 1, 1)])
    assert_allclose(np.maximum(ours, 0.0), theirs, atol=noise)
    assert ours.max() > 0


def test_knn_kl_is_nan_where_it_does_not_exist() -> None:
    p, q = normals(0, 20, 2), normals(1, 20, 2)
    collapsed = np.repeat(p[:1], 20, axis=0)
    for few in (knn_kl(p[:3], q), knn_kl(p, q[:2]), knn_kl(p[:1], q)):
        assert np.isnan(few)
    for zero in (knn_kl(collapsed, q), knn_kl(q, np.repeat(q[:1], 20, axis=0)), knn_kl(collapsed, collapsed)):
        assert np.isnan(zero)
    assert np.isfinite(knn_kl(p[:4], q[:3]))
    assert np.isfinite(
        knn_kl(p, collapsed + 9.0)
    )  # of P from Q, a Q that has collapsed elsewhere is far, not undefined
    assert np.isnan(knn_kl(np.repeat(p, 4, axis=0), q))  # a chain that stands still for four samples at a time


@given(SEEDS, st.floats(1e-6, 1e6))
def test_knn_kl_knows_neither_order_nor_place_nor_scale(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    p, q, shift = rng.normal(size=(20, 3)), rng.normal(size=(25, 3)), rng.normal(size=3)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moved_p, moved_q = (scale * (rng.permutation(x) @ rotation + shift) for x in (p, q))
    assert_allclose(knn_kl(moved_p, moved_q), knn_kl(p, q), rtol=1e-6, atol=1e-6)


# Maximum mean discrepancy


@pytest.mark.parametrize("size", [1, 4])
def test_mmd_is_that_of_scikit_learns_kernel(size: int) -> None:
    p, q, bandwidth = normals(0, 30, size), 0.5 + normals(1, 45, size), 0.7
    within_p, within_q, between = (rbf_kernel(a, b, gamma=0.5 / bandwidth**2) for a, b in [(p, p), (q, q), (p, q)])
    biased = within_p.mean() + within_q.mean() - 2 * between.mean()
    pairs_p, pairs_q = within_p[~np.eye(30, dtype=bool)], within_q[~np.eye(45, dtype=bool)]
    unbiased = pairs_p.mean() + pairs_q.mean() - 2 * between.mean()
    assert_allclose(mmd(p, q, bandwidth, unbiased=False), biased, rtol=1e-12)
    assert_allclose(mmd(p, q, bandwidth), unbiased, rtol=1e-10)


def test_mmd_of_normals_is_unbiased() -> None:
    """The kernel's mean over two normals is a normal density of the gap between their means."""

    def mean_kernel(gap: float, variance: float) -> float:
        return (h**2 / (h**2 + variance)) * np.exp(-(gap**2) / (2 * (h**2 + variance)))

    h, gap, spread = 0.9, 0.8, 1.4
    truth = mean_kernel(0, 2) + mean_kernel(0, 2 * spread**2) - 2 * mean_kernel(gap, 1 + spread**2)
    ours = [
        mmd(normals(s, 100, 2), np.array([gap, 0.0]) + spread * normals(1000 + s, 80, 2), h, unbiased)
        for unbiased in (True, False)
        for s in range(60)
    ]
    unbiased, biased = np.reshape(ours, (2, 60))
    assert abs(unbiased.mean() - truth) < 3 * unbiased.std() / np.sqrt(60)
    extra = (1 - mean_kernel(0, 2)) / 100 + (1 - mean_kernel(0, 2 * spread**2)) / 80
    assert abs(biased.mean() - truth - extra) < 3 * biased.std() / np.sqrt(60)


def test_mmd_takes_the_median_distance() -> None:
    p, q = normals(0, 30, 3), normals(1, 31, 3)
    pooled = np.concatenate([p, q])
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(pooled) for b in pooled[:i]]
    assert_allclose(mmd(p, q), mmd(p, q, float(np.median(pairs))), rtol=1e-12)
    many = normals(2, 5000, 3)
    assert_allclose(metrics.median_distance(many), np.sqrt(2 * 2.366), rtol=0.01)  # of chi squared with 3 degrees


def test_mmd_is_nan_where_it_does_not_exist() -> None:
    p, one = normals(0, 20, 2), np.zeros((20, 2))
    assert np.isnan(mmd(one, one))
    assert np.isnan(mmd(p[:1], p))
    assert mmd(one, one, bandwidth=1.0) == 0.0
    assert np.isfinite(mmd(p[:1], p, unbiased=False))
    with pytest.raises(ValueError, match="the bandwidth is 0; it must be above 0"):
        mmd(p, p, bandwidth=0.0)


@given(SEEDS, st.floats(1e-6, 1e6), st.booleans())
def test_mmd_knows_neither_order_nor_place_nor_scale(seed: int, scale: float, unbiased: bool) -> None:
    rng = np.random.default_rng(seed)
    p, q, shift = rng.normal(size=(20, 3)), rng.normal(size=(25, 3)), rng.normal(size=3)
    truth = mmd(p, q, unbiased=unbiased)
    assert_allclose(mmd(scale * (rng.permutation(p) + shift), scale * (q + shift), unbiased=unbiased), truth, atol=1e-9)
    assert_allclose(mmd(q, p, unbiased=unbiased), truth, atol=1e-12)
    assert unbiased or truth >= 0


# Samples against what came about


@pytest.mark.parametrize("fair", [True, False])
def test_energy_score_is_that_of_scoringrules(fair: bool) -> None:
    samples, truth = normals(0, 4, 5, 12, 3), normals(1, 4, 5, 3)
    theirs = np.asarray(scoringrules.es_ensemble(truth, samples, estimator="fair" if fair else "nrg", backend="numpy"))
    ours = energy_score(samples, truth, fair)
    assert ours.shape == (4, 5)
    assert_allclose(ours, theirs, rtol=1e-12)


def test_energy_score_of_a_normal() -> None:
    """In one dimension it is the continuous ranked probability score; in two, E||X|| is Rayleigh's mean."""
    y = 0.7
    crps = y * (2 * norm.cdf(y) - 1) + 2 * norm.pdf(y) - 1 / np.sqrt(np.pi)
    few = energy_score(normals(0, 4000, 5, 1), np.full((4000, 1), y))
    assert abs(few.mean() - crps) < 3 * few.std() / np.sqrt(4000)  # fair: right on average, with five samples too
    assert_allclose(energy_score(normals(1, 2000, 2), np.zeros(2)), np.sqrt(np.pi / 2) * (1 - np.sqrt(0.5)), rtol=0.03)
    assert np.isnan(energy_score(np.zeros((1, 2)), np.ones(2)))
    assert_allclose(energy_score(np.zeros((1, 2)), np.ones(2), fair=False), np.sqrt(2))


@given(SEEDS, st.floats(1e-6, 1e6))
def test_energy_score_scales_and_knows_neither_order_nor_place(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    samples, truth, shift = rng.normal(size=(15, 3)), rng.normal(size=3), rng.normal(size=3)
    moved = energy_score(scale * (rng.permutation(samples) + shift), scale * (truth + shift))
    assert_allclose(moved, scale * energy_score(samples, truth), rtol=1e-9, atol=1e-9 * scale)
    assert energy_score(samples, truth, fair=False) >= 0


@pytest.mark.parametrize("count", [3, 20, 99, 100])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_coverage_is_exact_for_any_number_of_samples(count: int, level: float) -> None:
    drawn = np.random.default_rng(count).exponential(size=(2000, count + 1, 2))
    got = coverage(drawn[:, 1:], drawn[:, 0], level)
    if count == 3 and level == 0.9:
        assert np.isnan(got)  # three samples cannot say what is outside of nine tenths
    else:
        assert abs(got - level) < 4 * np.sqrt(level * (1 - level) / 4000)


def test_coverage_tells_too_narrow_from_too_wide() -> None:
    truth, samples = normals(0, 3000, 1), normals(1, 3000, 400, 1)
    for width in (0.5, 2.0):
        expected = 2 * norm.cdf(norm.ppf(0.95) * width) - 1  # of the interval that the samples make
        assert abs(coverage(width * samples, truth) - expected) < 4 * np.sqrt(expected * (1 - expected) / 3000) + 0.002
    assert coverage(np.zeros((100, 1)), np.ones(1)) == 0.0  # collapsed beside the truth
    assert np.isfinite(coverage(samples[0, :19], truth[0])) and np.isnan(coverage(samples[0, :18], truth[0]))
    with pytest.raises(ValueError, match="the level is 90; it must be between 0 and 1"):
        coverage(samples, truth, level=90.0)


@given(SEEDS)
def test_coverage_knows_order_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples, truth = rng.integers(-3, 4, (4, 25, 2)).astype(float), rng.integers(-3, 4, (4, 2)).astype(float)
    assert_allclose(coverage(np.exp(rng.permutation(samples, axis=1)), np.exp(truth)), coverage(samples, truth))


# Recordings under trajectories


def test_log_likelihood_is_a_normal_density() -> None:
    observed, predicted, sigma = normals(0, 7, 3), normals(1, 5, 7, 3), np.array([0.1, 1.0, 20.0])
    known = normals(2, 7, 3) > -0.5
    total = log_likelihood(observed, predicted, sigma)
    part = log_likelihood(np.where(known, observed, np.nan), predicted, sigma, known)
    for i in range(5):
        densities = norm.logpdf(observed, predicted[i], sigma)
        together = multivariate_normal(predicted[i].ravel(), np.diag(np.tile(sigma**2, 7)))  # pyright: ignore
        assert_allclose(total[i], together.logpdf(observed.ravel()), rtol=1e-10)
        assert_allclose(part[i], densities[known].sum(), rtol=1e-12)
    assert log_likelihood(observed, predicted[0], sigma).shape == ()
    assert log_likelihood(observed, np.full((7, 3), 1e149), np.full(3, 1e-10)) == -np.inf


@given(SEEDS, st.floats(1e-6, 1e6))
def test_log_likelihood_changes_with_the_unit_as_a_density_does(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    observed, predicted, sigma = rng.normal(size=(6, 2)), rng.normal(size=(3, 6, 2)), rng.uniform(0.5, 2, 2)
    order = rng.permutation(6)
    moved = log_likelihood(scale * observed[order] + 1, scale * predicted[:, order] + 1, scale * sigma)
    assert_allclose(moved, log_likelihood(observed, predicted, sigma) - 12 * np.log(scale), rtol=1e-6, atol=1e-6)


def test_log_mean_exp_where_exp_would_be_zero() -> None:
    assert_allclose(log_mean_exp(np.array([[-1e6, -1e6 + 1], [3.0, 3.0]])), [-1e6 + np.log((1 + np.e) / 2), 3.0])
    assert_allclose(log_mean_exp(np.array([-np.inf, 0.0])), -np.log(2))
    assert log_mean_exp(np.full(3, -np.inf)) == -np.inf
    with pytest.raises(ValueError, match=r"1 of 2 log-likelihoods are NaN or \+inf"):
        log_mean_exp(np.array([0.0, np.nan]))


# Bad input, and large


def test_bad_input_is_named() -> None:
    good, bad = normals(0, 20, 2), normals(1, 20, 2)
    bad[7, 1], bad[9, 0] = np.nan, 1e200
    for call in (lambda: knn_kl(good, bad), lambda: mmd(good, bad)):
        with pytest.raises(ValueError, match=r"the second sample: 2 of 40 numbers .* the first one at \[7, 1\]; leave"):
            call()
    with pytest.raises(ValueError, match=r"samples: 2 of 40 .* \[7, 1\]"):
        energy_score(bad, good[0])
    with pytest.raises(ValueError, match=r"samples: 2 of 40"):
        coverage(bad, good[0])
    with pytest.raises(ValueError, match=r"predicted: 2 of 40"):
        log_likelihood(good, bad, np.ones(2))
    with pytest.raises(ValueError, match="the noise of channel 1 is 0; it must be above 0"):
        log_likelihood(good, good, np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="points of 2 and of 3 dimensions cannot be compared"):
        knn_kl(good, normals(0, 5, 3))
    with pytest.raises(ValueError, match="the samples have 20 and 0 points"):
        mmd(good, good[:0])
    with pytest.raises(ValueError, match="k is 0 and l is 3"):
        knn_kl(good, good + 1, k=0)


def test_float32_is_computed_in_float64() -> None:
    p, q = (normals(seed, 50, 3).astype(np.float32) for seed in (0, 1))
    wide = p.astype(np.float64), q.astype(np.float64)
    assert knn_kl(p, q) == knn_kl(*wide) and mmd(p, q) == mmd(*wide)
    assert energy_score(p, q[0]) == energy_score(wide[0], wide[1][0])


def test_small_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = normals(0, 60, 70), normals(1, 50, 70)

    def everything() -> list[float]:
        return [knn_kl(p, q), mmd(p, q), mmd(p, q, 3.0, unbiased=False), float(energy_score(p, q[0]))]

    whole = everything()
    monkeypatch.setattr(metrics, "BLOCK", 130)
    assert_allclose(everything(), whole, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
def test_twenty_thousand_points_hold_no_matrix_of_pairs() -> None:
    p, q = normals(0, 20_000, 4), normals(1, 20_000, 4)
    tracemalloc.start()
    values = knn_kl(p, q), mmd(p, q), float(energy_score(p, q[0]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.all(np.isfinite(values))
    assert peak < 300e6  # all pairs would be 3,200e6
