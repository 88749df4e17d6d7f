"""How good a posterior is: arrays in, number out, in float64 (`sec:metrics`).

Two samples of one distribution each, a row a sample:     knn_kl  mmd
Samples against the one truth that came about:            energy_score  coverage
A recording under predicted trajectories:                 log_likelihood, then log_mean_exp over particles

A number that does not exist is NaN, and each docstring says when. Input that is not finite is an error: whoever calls
knows which simulations failed and how to count them. Units are the caller's business: distances add up over columns,
so bring them to a common scale first. Nothing here holds an array of all pairs.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist, pdist
from scipy.special import digamma, logsumexp

BLOCK = 2**22  # distances held at a time: 32 MiB
WIDE = 50  # dimensions from which a tree is slower than looking at every pair
LARGEST = 1e150  # its square is still a number
REPRESENTATIVES = 2000  # samples whose median distance is the bandwidth

Sample = Float[np.ndarray, "_ _"]


def knn_kl(p: Sample, q: Sample, k: int = 3, l: int = 3) -> float:  # noqa: E741, the paper's letter
    """How far P is from Q, d_KL(P || Q), from distances to the k-th neighbour in Q and the l-th in P (`eq:knn-kl`).

    NaN where it does not exist: with fewer than l + 1 points of P or k of Q, and where points coincide so that one of
    the distances is 0, as in a posterior that has collapsed or a chain that stood still.
    """
    p, q = same_width(p, q)
    if k < 1 or l < 1:
        raise ValueError(f"neighbours are counted from 1; k is {k} and l is {l}.")
    if len(p) < l + 1 or len(q) < k:
        return np.nan
    to_q = nearest(p, q, k)
    to_p = nearest(p, p, l + 1)  # the first is the point itself
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = p.shape[1] * np.mean(np.log(to_q) - np.log(to_p))
    divergence = float(spread + digamma(l) - digamma(k) + np.log(len(q) / (len(p) - 1)))
    return divergence if np.isfinite(divergence) else np.nan


def mmd(p: Sample, q: Sample, bandwidth: float | None = None, unbiased: bool = True) -> float:
    """The squared maximum mean discrepancy under exp(-d^2 / (2 bandwidth^2)); unbiased, it can be below 0.

    The bandwidth is the median distance in both samples together, unless given. NaN where more than half of all pairs
    coincide, so that this median is 0, and where `unbiased` has fewer than two points to work with.
    """
    p, q = same_width(p, q)
    if bandwidth is None:
        bandwidth = median_distance(np.concatenate([p, q]))
    elif not (np.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"the bandwidth is {bandwidth:g}; it must be above 0.")
    if not bandwidth > 0 or (unbiased and min(len(p), len(q)) < 2):
        return np.nan

    def total_kernel(a: Sample, b: Sample) -> float:
        with np.errstate(over="ignore"):  # far enough apart, the kernel is 0
            return sum(float(np.sum(np.exp(-0.5 * (d / bandwidth) ** 2))) for d in distances(a, b))

    n, m = len(p), len(q)
    within_p, within_q, between = total_kernel(p, p), total_kernel(q, q), total_kernel(p, q) / (n * m)
    if unbiased:  # without each point's kernel with itself, which is 1
        return (within_p - n) / (n * (n - 1)) + (within_q - m) / (m * (m - 1)) - 2 * between
    return within_p / n**2 + within_q / m**2 - 2 * between


def median_distance(points: Sample) -> float:
    """The median over pairs; beyond 2,000 points, over 2,000 that are evenly spaced among them."""
    points = as_finite("points", points)
    if len(points) > REPRESENTATIVES:
        points = points[np.linspace(0, len(points) - 1, REPRESENTATIVES).astype(int)]
    return float(np.median(pdist(points))) if len(points) > 1 else np.nan


def energy_score(
    samples: Float[np.ndarray, "*starts samples channels"],
    truth: Float[np.ndarray, "*starts channels"],
    fair: bool = True,
) -> Float[np.ndarray, "*starts"]:
    """E||X - y|| - E||X - X'|| / 2: lower is better, lowest on average for the distribution that y came from.

    `fair` averages X' over the other samples, so that few samples score as well as many of the same distribution do.
    Without, over all of them: then it is never below 0. NaN for a single sample if fair.
    """
    samples, truth = as_finite("samples", samples), as_finite("truth", truth)
    score = np.empty(truth.shape[:-1])
    for start in np.ndindex(score.shape):
        x, n = samples[start], samples.shape[-2]
        pairs = n * (n - 1) if fair else n * n
        apart = sum(float(np.sum(d)) for d in distances(x, x)) / pairs if pairs else np.nan
        score[start] = np.mean(cdist(x, truth[start][None])) - 0.5 * apart
    return score


def coverage(
    samples: Float[np.ndarray, "*starts samples channels"],
    truth: Float[np.ndarray, "*starts channels"],
    level: float = 0.9,
) -> float:
    """How often the central interval holds the truth, over all starts and channels: `level`, if the spread is honest.

    Exact for any number of samples. A truth with j of n samples below it lies, as far as they can tell, anywhere
    between the quantiles j / (n + 1) and (j + 1) / (n + 1) of their distribution, and counts by the part of that
    within the central `level`. NaN where there are too few samples (19 for 0.9) to tell inside from outside.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level is {level:g}; it must be between 0 and 1, as 0.9 is.")
    samples, truth = as_finite("samples", samples), as_finite("truth", truth)
    n, tail = samples.shape[-2], (1 - level) / 2
    if tail * (n + 1) < 1 - 1e-9:
        return np.nan
    low = np.sum(samples < truth[..., None, :], axis=-2) / (n + 1)
    high = (np.sum(samples <= truth[..., None, :], axis=-2) + 1) / (n + 1)
    within = np.minimum(high, 1 - tail) - np.maximum(low, tail)
    return float(np.mean(np.maximum(within, 0.0) / (high - low)))


def log_likelihood(
    observed: Float[np.ndarray, "steps channels"],
    predicted: Float[np.ndarray, "*particles steps channels"],
    sigma: Float[np.ndarray, " channels"],
    known: Bool[np.ndarray, "steps channels"] | None = None,
) -> Float[np.ndarray, "*particles"]:
    """The log-density of a recording under each predicted trajectory, its normaliser included (`eq:ss_likelihood`).

    What is not `known` takes no part, whatever is written there; all is known unless said.
    """
    known = np.ones(observed.shape, bool) if known is None else known
    sigma = as_finite("sigma", sigma)
    if np.any(sigma <= 0):
        raise ValueError(f"the noise of channel {np.argmin(sigma)} is {np.min(sigma):g}; it must be above 0.")
    observed = as_finite("observed", np.where(known, observed, 0.0))
    predicted = as_finite("predicted", np.where(known, predicted, 0.0))
    with np.errstate(over="ignore"):  # a density of 0 is a density
        misfit = np.sum(((predicted - observed) / sigma) ** 2, axis=(-2, -1))
    return np.asarray(-0.5 * misfit - np.sum(known * (np.log(sigma) + 0.5 * np.log(2 * np.pi))))


def log_mean_exp(values: Float[np.ndarray, "*batch particles"]) -> Float[np.ndarray, "*batch"]:
    """log of the mean of exp over the last axis: of log-likelihoods, the predictive density's. -inf is 0."""
    values = np.asarray(values, np.float64)
    if np.any(np.isnan(values)) or np.any(values == np.inf):
        raise ValueError(
            f"{np.sum(~(values < np.inf))} of {values.size} log-likelihoods are NaN or +inf; leave them out."
        )
    return np.asarray(logsumexp(values, axis=-1) - np.log(values.shape[-1]))


def nearest(points: Sample, among: Sample, rank: int) -> Float[np.ndarray, " points"]:
    """The distance from each point to its `rank`-th nearest, counted from 1."""
    if points.shape[1] <= WIDE:
        return KDTree(among).query(points, [rank])[0][:, 0]  # pyright: ignore[reportArgumentType]: SciPy takes a list
    return np.concatenate([np.partition(d, rank - 1, axis=1)[:, rank - 1] for d in distances(points, among)])


def distances(a: Sample, b: Sample) -> Iterator[Float[np.ndarray, "rows _"]]:
    """All distances from a to b, some rows at a time. By differences: near points keep their digits."""
    rows = max(1, BLOCK // max(len(b), 1))
    for i in range(0, len(a), rows):
        yield cdist(a[i : i + rows], b)


def same_width(p: Sample, q: Sample) -> tuple[Sample, Sample]:
    if p.shape[1] != q.shape[1]:
        raise ValueError(f"points of {p.shape[1]} and of {q.shape[1]} dimensions cannot be compared.")
    if not (len(p) and len(q)):
        raise ValueError(f"the samples have {len(p)} and {len(q)} points; each needs at least one.")
    return as_finite("the first sample", p), as_finite("the second sample", q)


def as_finite(name: str, values: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """The same in float64; NaN, infinities and what would overflow are an error that says where the first one is."""
    values = np.asarray(values, np.float64)
    bad = ~(np.abs(values) < LARGEST)
    if np.any(bad):
        first = ", ".join(str(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name}: {np.sum(bad)} of {values.size} numbers are not finite or beyond {LARGEST:g}, the first one at "
            f"[{first}]; leave out the simulations that failed, and count them."
        )
    return values
