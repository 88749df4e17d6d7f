"""BayesSim (Ramos et al. 2019; `sec:likelihoodfree`): learn from simulations what parameters a motion comes from.

Draw parameters from the prior, simulate each, and fit a density q(parameters | summary of the motion) to all pairs; the
posterior is q at the recordings' own summary. It knows no likelihood: noise is part of the simulations. They are all
made before the first iteration, and an iteration is an epoch: once through all of them. Parameters are mapped to where
their uniform prior is a standard normal density, so no draw is beyond the limits, and what the data do not tell is
simply the kernels' first shape.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float

from plausim.target import Number, Point, Points, Simulator, Target, clamp, spread

from . import networks
from .chains import limited
from .networks import MODELS, Weights
from .particles import moved, optimiser
from .protocol import Info, Key, Method, Sampler
from .summaries import SUMMARIES

AT_ONCE = 2000  # simulations side by side: of more, only summaries are in memory
SOME = 5000  # simulations that say how large the numbers of a summary are
FAR = 5.0  # usual deviations: chaotic simulations beyond them look like those there


class State(NamedTuple):
    features: Float[Array, "simulations features"]  # what the network sees of each simulation
    seen: Float[Array, "1 features"]  # and of the recordings
    free: Float[Array, "simulations parameters"]  # what was simulated, where the prior is a standard normal
    weight: Float[Array, " simulations"]  # 0 of those that came to nothing
    weights: Weights
    memory: Any  # Adam's
    best: Number
    start: Point  # what is not a parameter stays as it is here
    fresh: Number  # 1 before the first iteration


def bayessim(
    summary: str = "downsampled",
    model: str = "mdrff-matern",
    simulations: int = 10_000,
    kernels: int = 4,
    features: int = 200,
    rate: float = 1e-3,
    batch: int = 1000,
    stride: int = 20,
    depth: int = 3,
) -> Method:
    """BayesSim; an iteration is an epoch of Adam.

    Args:
        summary: what is seen of a motion: `downsampled`, `difference`, `summary` or `signature`.
        model: the density network: `mdn`, `mdrff-rbf` or `mdrff-matern`.
        simulations: how many, all before the first iteration.
        kernels: how many normal densities the mixture has.
        features: random Fourier features, of the two models that have them.
        rate: Adam's first learning rate; it falls to a hundredth along a cosine.
        batch: simulations in each of its steps.
        stride: steps between the samples that `downsampled` and `difference` keep.
        depth: of `signature`, how many integrals are iterated.

    """
    if summary not in SUMMARIES or model not in MODELS:
        raise ValueError(f"summary {summary!r}, model {model!r}; there are {tuple(SUMMARIES)} and {tuple(MODELS)}.")
    settings = {
        "summary": summary, "model": model, "simulations": simulations, "kernels": kernels, "features": features,
        "rate": rate, "batch": batch, "stride": stride, "depth": depth,
    }  # fmt: skip
    few = [f"{name} {settings[name]}" for name in ("simulations", "kernels", "features", "batch", "stride", "depth")
           if settings[name] < 1 + (name in ("simulations", "features"))]  # fmt: skip
    if few or not rate > 0:
        raise ValueError(f"{', '.join(few) or f'rate {rate:g}'}; give at least 1, at least 2 simulations and features.")
    network = MODELS[model]

    def make(target: Target, iterations: int) -> Sampler:
        simulator, answer = simulated(target), target.parameters
        low, width = target.lower[:answer], (target.upper - target.lower)[:answer]
        size = min(batch, simulations)
        count = simulations // size  # of steps in an epoch: what is left over is another part in each
        adam = optimiser(rate, iterations * count)
        parameters = np.asarray(spread(simulations, answer))

        def seen(motions: Float[Array, "recordings steps channels"]) -> Float[Array, " numbers"]:
            each = jax.vmap(lambda motion: SUMMARIES[summary](motion, stride, depth))(motions)
            return each.ravel().astype(jnp.float32)

        def placed(start: Point, unit: Float[Array, "n parameters"]) -> Points:
            values = jnp.asarray(low, start.dtype)[None] + jnp.asarray(width, start.dtype)[None] * unit
            return jnp.tile(start, (len(unit), 1)).at[:, :answer].set(values)

        def init(key: Key, points: Points) -> State:
            noise, wave, first = jax.random.split(key, 3)
            start, unit = points[0], jnp.asarray(parameters, points.dtype)
            rows, weight = jax.lax.map(
                lambda each: summarised(simulator, seen, *each),
                (jax.random.split(noise, simulations), placed(start, unit)), batch_size=AT_ONCE,
            )  # fmt: skip
            weight = weight / jnp.maximum(jnp.mean(weight), 1e-30)
            rows = standardised(rows, weight > 0, seen(jnp.asarray(simulator.observed, jnp.float32)))
            expanded = network.expand(wave, rows, features)
            weights = networks.begun(first, (expanded.shape[1], *network.hidden), kernels, answer)
            return State(
                expanded[:-1], expanded[-1:], ndtri(unit).astype(jnp.float32), weight.astype(jnp.float32), weights,
                adam.init(weights), jnp.asarray(-jnp.inf, jnp.float32), start, jnp.ones((), jnp.float32),
            )  # fmt: skip

        def loglikelihood(weights: Weights, rows: Any) -> Number:
            """Mean log q of simulations, in the unit box: 0 is the prior."""
            head, free, weight = networks.output(weights, rows[0]), rows[1], rows[2]
            found = networks.logdensity(networks.mixture(head, kernels, answer), free)
            prior = jnp.sum(-0.5 * free * free, 1) - float(0.5 * answer * np.log(2.0 * np.pi))
            return jnp.mean(weight * (found - prior))

        def step(key: Key, state: State) -> tuple[State, Info]:
            order = jax.random.permutation(key, simulations)[: count * size].reshape(count, size)

            def learn(carry: tuple[Weights, Any], some: Array) -> tuple[tuple[Weights, Any], Number]:
                weights, memory = carry
                rows = state.features[some], state.free[some], state.weight[some]
                found, slopes = jax.value_and_grad(loglikelihood)(weights, rows)
                return moved(adam, weights, slopes, memory), found

            (weights, memory), found = jax.lax.scan(learn, (state.weights, state.memory), order)
            mean = jnp.mean(found)
            best = jnp.maximum(mean, state.best)
            said = {
                "logdensity": mean,
                "best": best,
                "simulations": simulations * state.fresh,
                "lost": jnp.sum(state.weight == 0).astype(jnp.float32) * state.fresh,
            }
            state = state._replace(weights=weights, memory=memory, best=best, fresh=jnp.zeros_like(state.fresh))
            return state, {name: number.astype(state.start.dtype) for name, number in said.items()}

        def draw(key: Key, state: State, n: int) -> Points:
            head = networks.output(state.weights, state.seen)
            free = networks.draws(key, networks.mixture(head, kernels, answer), n)
            return clamp(target, placed(state.start, ndtr(free.astype(state.start.dtype))))

        return Sampler("bayessim", init, step, draw, tries=simulations)

    return Method("bayessim", settings, make, gradients=False)


def simulated(target: Target) -> Simulator:
    if target.simulator is None:
        raise ValueError(
            "bayessim learns from simulations with noise, and this target has no simulator: give it one, as in "
            'density(..., simulator=...); of several recordings, there is one with combine="product" only.'
        )
    endless = [n for n, boxed in zip(target.names[: target.parameters], limited(target), strict=False) if not boxed]
    if endless:
        raise ValueError(f"bayessim draws between limits, and {', '.join(endless)} has none; give it some.")
    return target.simulator


def summarised(simulator: Simulator, seen: Any, key: Key, point: Point) -> tuple[Float[Array, " numbers"], Number]:
    """What is seen of a simulation, and how much it counts: as much as the prior says, or nothing if it failed."""
    row = seen(simulator.simulate(key, point))
    alive = jnp.all(jnp.isfinite(row))
    weight = jnp.ones((), point.dtype) if simulator.prior is None else jnp.exp(simulator.prior(point))
    return jnp.where(alive, row, 0.0), jnp.where(alive, weight, 0.0)


def standardised(
    rows: Float[Array, "simulations numbers"], alive: Array, observed: Float[Array, " numbers"]
) -> Float[Array, "rows numbers"]:
    """All rows and the observed one as the last, in units of how far rows usually are from their median."""
    every = -(-len(rows) // SOME)
    some = jnp.where(alive[:, None], rows, jnp.nan)[::every]
    lowest, middle, highest = jnp.nanpercentile(some, jnp.asarray([16.0, 50.0, 84.0], rows.dtype), 0)
    spread = jnp.where(highest > lowest, 0.5 * (highest - lowest), 1.0)
    rows = jnp.concatenate([jnp.where(alive[:, None], rows, middle[None]), observed[None]])
    return jnp.clip((rows - middle[None]) / spread[None], -FAR, FAR)
