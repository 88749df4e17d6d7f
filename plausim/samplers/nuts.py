"""The No-U-Turn Sampler (Hoffman and Gelman 2014): Hamiltonian chains that stop before they turn back.

blackjax's kernel, with Stan's adaptation of step size and mass matrix during the first half of the iterations. The
draws are the last samples of all chains together. Limits are mapped away, see `chains`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from plausim.target import Number, Point, Points, Target

from .chains import LEAST, begun, latest, unlimited
from .extras import need
from .protocol import Info, Key, Method, Sampler
from .svgd import drawn

WARMUP = 0.5  # of the iterations: how long step size and mass matrix are adapted
FIRST = 0.01  # the first step size


class Pace(NamedTuple):
    """How a chain steps, and what the adaptation remembers of its way."""

    size: Number
    variance: Point  # inverse mass
    sizes: Any  # blackjax's dual averaging
    variances: Any  # its estimator


class State(NamedTuple):
    chains: Any  # blackjax's
    pace: Pace
    samples: Points  # the last ones, within the limits
    lost: Number  # starts without density that no iteration has reported yet
    iteration: Array


def nuts(chains: int = 4, doublings: int = 8, acceptance: float = 0.8) -> Method:
    """NUTS.

    Args:
        chains: how many run side by side, from the first starts.
        doublings: how often a trajectory may double: an iteration takes up to 2^doublings simulations of each chain.
        acceptance: the acceptance rate that the step size is adapted to.

    """
    if chains < 1 or doublings < 1 or not 0 < acceptance < 1:
        raise ValueError(
            f"{chains} chains, {doublings} doublings, acceptance {acceptance:g}; there is at least 1 of the first two, "
            "and the last is between 0 and 1."
        )
    need("nuts", "blackjax", "blackjax")

    def make(target: Target, iterations: int) -> Sampler:
        from blackjax.mcmc import hmc
        from blackjax.mcmc.nuts import build_kernel

        free, kernel = unlimited(target), cast(Callable, build_kernel())
        paced, adapted = adaptation(target.dimensions, round(WARMUP * iterations), acceptance)

        def logdensity(point: Point) -> Number:
            found = free.logdensity(point)
            return jnp.where(jnp.isfinite(found), found, LEAST)

        @jax.jit
        def init(key: Key, points: Points) -> State:
            starts, lost = begun(key, target, points, chains)
            starts = free.outside(starts).astype(float)  # JAX's own precision, which blackjax counts in
            first = jax.vmap(lambda x: hmc.init(x, logdensity))(starts)
            return State(first, jax.vmap(paced)(starts), points, lost, jnp.zeros((), points.dtype))

        def one(key: Key, chain: Any, pace: Pace, iteration: Array) -> tuple[Any, Pace, Any]:
            chain, info = kernel(key, chain, logdensity, pace.size, pace.variance, doublings)
            return chain, adapted(pace, chain.position, info.acceptance_rate, iteration), info

        def step(key: Key, state: State) -> tuple[State, Info]:
            keys = jax.random.split(key, chains)
            with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
                found, pace, info = jax.vmap(one, (0, 0, 0, None))(keys, state.chains, state.pace, state.iteration)
            new = free.inside(found.position).astype(state.samples.dtype)
            said = {
                "logdensity": jnp.mean(found.logdensity),
                "best": jnp.max(found.logdensity),
                "acceptance": jnp.mean(info.acceptance_rate),
                "diverged": jnp.sum(info.is_divergent),
                "size": jnp.mean(pace.size),
                "simulations": jnp.sum(info.num_integration_steps),
                "lost": state.lost,
            }
            state = State(found, pace, latest(state.samples, new), jnp.zeros_like(state.lost), state.iteration + 1)
            return state, {name: number.astype(new.dtype) for name, number in said.items()}

        return Sampler("nuts", init, step, lambda key, state, n: drawn(key, target, state.samples, n))

    return Method("nuts", {"chains": chains, "doublings": doublings, "acceptance": acceptance}, make)


def adaptation(dimensions: int, warmup: int, acceptance: float) -> tuple[Callable, Callable]:
    """Stan's, one iteration at a time.

    (start) -> pace, and (pace, position, acceptance, iteration) -> pace, which stands still after so many iterations.
    """
    from blackjax.adaptation.mass_matrix import mass_matrix_adaptation
    from blackjax.adaptation.step_size import dual_averaging_adaptation
    from blackjax.adaptation.window_adaptation import build_schedule

    sizes_init, sizes_update, sizes_final = dual_averaging_adaptation(acceptance)
    variances_init, variances_update, variances_final = mass_matrix_adaptation()
    with jax.numpy_dtype_promotion("standard"):
        schedule = np.asarray(build_schedule(warmup)).reshape(-1, 2)
    slow, closes = np.pad(schedule, ((0, 1), (0, 0))).T.astype(bool)

    def paced(start: Point) -> Pace:
        variances = variances_init(dimensions)
        return _as(start.dtype, Pace(jnp.asarray(FIRST), variances.inverse_mass_matrix, sizes_init(FIRST), variances))

    def adapted(pace: Pace, position: Point, rate: Number, iteration: Array) -> Pace:
        at = jnp.minimum(iteration, warmup).astype(jnp.int32)
        is_slow, closing = jnp.asarray(slow)[at], jnp.asarray(closes)[at]
        sizes = sizes_update(pace.sizes, rate)
        variances = _either(is_slow, variances_update(pace.variances, position), pace.variances)
        closed = variances_final(variances)
        sizes = _either(closing, sizes_init(sizes_final(sizes)), sizes)
        size = jnp.where(iteration == warmup - 1, sizes_final(sizes), jnp.exp(sizes.log_step_size))
        variance = jnp.where(closing, closed.inverse_mass_matrix, pace.variance)
        new = _as(position.dtype, Pace(size, variance, sizes, _either(closing, closed, variances)))
        return _either(iteration < warmup, new, pace)

    return paced, adapted


def _either(which: Array, one: Any, other: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(which, a, b).astype(jnp.result_type(b)), one, other)


def _as(dtype: Any, tree: Any) -> Any:
    """Numbers of one type: blackjax mixes them."""
    is_float = lambda x: jnp.issubdtype(jnp.result_type(x), jnp.floating)  # noqa: E731
    return jax.tree.map(lambda x: jnp.asarray(x, dtype if is_float(x) else None), tree)
