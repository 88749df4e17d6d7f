"""The cross-entropy method (Rubinstein 1997): draw from a mixture, fit the mixture to the best draws, and again.

It seeks the summit, not the posterior: the mixture narrows at each iteration until all of it sits on one best estimate,
or on several equal ones. Needs no gradients. The fit is scikit-learn's, from the last mixture on.
"""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim.target import Points, Target, clamp

from .chains import within
from .extras import need
from .protocol import Info, Key, Method, Sampler

TRIES = 8  # draws of each point, before one beyond the limits is moved to them
NARROWEST = 1e-5  # the least standard deviation of a kernel: it may narrow to a point, and must stay one
ROUGHNESS = 1e-3  # variance that is added to kernels, where that of all best draws is 1
ROUNDS = 5  # of expectation and maximisation: the next iteration goes on from there


class Mixture(NamedTuple):
    weights: Float[Array, " kernels"]
    means: Float[Array, "kernels dimensions"]
    roots: Float[Array, "kernels dimensions dimensions"]  # of the covariances, lower triangles


class State(NamedTuple):
    points: Points  # drawn, and not evaluated yet
    mixture: Mixture


def cem(kernels: int = 3, elite: float = 0.2) -> Method:
    """CEM with a mixture of normal densities.

    Args:
        kernels: how many the mixture has.
        elite: which part of the draws the mixture is fitted to.

    """
    if kernels < 1 or not 0 < elite < 1:
        raise ValueError(f"{kernels} kernels, elite {elite:g}; there is at least 1, and a part between 0 and 1.")
    need("cem", "scikit-learn", "sklearn")

    def make(target: Target, iterations: int) -> Sampler:
        import sklearn.mixture  # noqa: F401  # with the libraries that are to be held back
        from threadpoolctl import ThreadpoolController

        threads = ThreadpoolController()  # BLAS takes longer to share so little work than to do it
        logdensity = jax.jit(within(target))
        draw = jax.jit(lambda key, mixture, count: drawn(key, target, mixture, count), static_argnums=2)

        @jax.jit
        def init(key: Key, points: Points) -> State:
            return State(points, even(points, kernels))

        def step(key: Key, state: State) -> tuple[State, Info]:
            count, dtype = state.points.shape[0], state.points.dtype
            found = np.asarray(logdensity(state.points))
            alive = np.isfinite(found)
            order = np.argsort(-found, kind="stable")[: max(round(elite * count), kernels + 1)]
            best = np.asarray(state.points, float)[order[alive[order]]]
            mixture = state.mixture
            if len(best) > kernels:
                with threads.limit(limits=1):
                    mixture = fitted(best, mixture)
            numbers = {
                "logdensity": np.mean(found, where=alive) if alive.any() else -np.inf,
                "best": np.max(found),
                "spread": np.mean(np.std(best, 0)) if len(best) else 0.0,
                "simulations": count,
                "lost": np.sum(~alive),
            }
            state = State(draw(key, mixture, count), mixture)
            return state, {name: jnp.asarray(number, dtype) for name, number in numbers.items()}

        return Sampler("cem", init, step, lambda key, state, n: draw(key, state.mixture, n), traced=False)

    return Method("cem", {"kernels": kernels, "elite": elite}, make, gradients=False)


def even(points: Points, kernels: int) -> Mixture:
    """Kernels at some of the points, each as wide as all of them."""
    means = points[jnp.arange(kernels) * len(points) // kernels]
    root = jnp.diag(jnp.std(points, 0) + NARROWEST)
    return Mixture(jnp.full(kernels, 1.0 / kernels, points.dtype), means, jnp.tile(root, (kernels, 1, 1)))


def drawn(key: Key, target: Target, mixture: Mixture, count: int) -> Float[Array, "count dimensions"]:
    """The first of some tries that is within the limits; where none is, the nearest point that is."""
    which, noise = jax.random.split(key)
    kernel = jax.random.categorical(which, jnp.log(mixture.weights), shape=(TRIES, count))
    away = jax.random.normal(noise, (TRIES, count, target.dimensions), mixture.means.dtype)
    tries = mixture.means[kernel] + jnp.einsum("tcij,tcj->tci", mixture.roots[kernel], away)
    inside = clamp(target, tries)
    return inside[jnp.argmax(jnp.all(inside == tries, -1), 0), jnp.arange(count)]


def fitted(points: np.ndarray, last: Mixture) -> Mixture:
    """The mixture of the points, in units of their spread: in these, kernels are of one size."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    middle, spread = points.mean(0), points.std(0) + NARROWEST
    weights, means, roots = (np.asarray(x, float) for x in last)
    inverses = np.linalg.inv(roots / spread[:, None])
    mixture: Any = GaussianMixture(
        len(weights), reg_covar=ROUGHNESS, max_iter=ROUNDS, weights_init=weights / weights.sum(),
        means_init=(means - middle) / spread, precisions_init=np.swapaxes(inverses, 1, 2) @ inverses,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough fit will do
        mixture.fit((points - middle) / spread)
    roots = spread[:, None] * np.linalg.cholesky(mixture.covariances_)
    new = (mixture.weights_, middle + spread * mixture.means_, roots)
    return Mixture(*(jnp.asarray(x, last.means.dtype) for x in new))
