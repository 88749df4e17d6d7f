"""BayesSim (Ramos et al. 2019; `sec:likelihoodfree`): learn from simulations which parameters a motion comes from.

Draw parameters from the prior, simulate each, and fit a density q(parameters | summary of the motion) to all pairs. The
posterior is q at the recordings' own summary. No likelihood is known: noise is part of the simulations. They are all
made at the start, and an iteration is an epoch: once through all of them. Parameters are mapped to where their uniform
prior is a standard normal density: no draw is beyond the limits, and what data do not tell stays a standard normal.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float
from scipy.special import ndtri  # of constants: XLA would fold it away for longer than the rest compiles

from plausim.target import Number, Point, Points, Target

from . import networks
from .lessons import lessons, placed, simulated, surviving
from .networks import MODELS, Features, Weights
from .particles import moved, optimiser
from .protocol import Info, Key, Method, Sampler
from .summaries import SUMMARIES

TRIES = 4  # of each draw, before one is taken that cannot be simulated
PATIENCE = 0.1  # of the iterations: without anything better for so long, learning ends
LEAST = {"simulations": 2, "kernels": 1, "features": 2, "batch": 1, "stride": 1, "depth": 1}


class Pairs(NamedTuple):
    """Simulations; those at the end are kept apart."""

    features: Features  # what the network sees of each
    free: Float[Array, "simulations parameters"]  # its parameters, where their prior is a standard normal
    weight: Float[Array, " simulations"]


class Learned(NamedTuple):
    weights: Weights
    memory: Any  # Adam's
    kept: Weights  # those that draws come from
    mean: Number  # log q of the epoch
    held: Number  # of what is kept apart
    best: Number
    rested: Number  # epochs since the best


class State(NamedTuple):
    pairs: Pairs
    seen: Features  # what the network sees of the recordings
    learned: Learned
    start: Point  # what is not a parameter stays as it is here
    lost: Number  # simulations that came to nothing, and that no iteration has reported yet
    simulations: Number  # the same of all


def bayessim(
    summary: str = "downsampled",
    model: str = "mdn",
    simulations: int = 10_000,
    kernels: int = 4,
    features: int = 200,
    held: float = 0.1,
    rate: float = 1e-3,
    batch: int = 1000,
    stride: int = 20,
    depth: int = 3,
) -> Method:
    """BayesSim; an iteration is an epoch of Adam.

    Args:
        summary: what is seen of a motion: `downsampled`, `difference`, `summary` or `signature`.
        model: the density network: `mdn`, `mdrff-rbf` or `mdrff-matern`.
        simulations: how many, all at the start.
        kernels: how many normal densities the mixture has.
        features: random Fourier features, for the two models that have them.
        held: which part of the simulations is kept apart. The network that is best on these is the result, and learning
            ends when none has been better for a tenth of the iterations. 0: the last one is.
        rate: Adam's first learning rate; it falls to a hundredth along a cosine.
        batch: simulations in each of its steps.
        stride: steps between the samples that `downsampled` and `difference` keep.
        depth: how many integrals `signature` iterates.

    """
    if summary not in SUMMARIES or model not in MODELS:
        raise ValueError(f"summary {summary!r}, model {model!r}; there are {tuple(SUMMARIES)} and {tuple(MODELS)}.")
    settings = {
        "summary": summary, "model": model, "simulations": simulations, "kernels": kernels, "features": features,
        "held": held, "rate": rate, "batch": batch, "stride": stride, "depth": depth,
    }  # fmt: skip
    if few := [f"{name} is {settings[name]}, at least {n}" for name, n in LEAST.items() if settings[name] < n]:
        raise ValueError(f"too little for bayessim: {'; '.join(few)}.")
    if not rate > 0 or not 0 <= held < 1:
        raise ValueError(f"rate {rate:g}, held {held:g}; the first is above 0, the second a part from 0 to below 1.")

    def look(motions: Float[Array, "recordings steps channels"]) -> Float[Array, " numbers"]:
        each = jax.vmap(lambda motion: SUMMARIES[summary](motion, stride, depth))(motions)
        return each.ravel().astype(jnp.float32)

    def make(target: Target, iterations: int) -> Sampler:
        simulator, network, answer = simulated("bayessim", target), MODELS[model], target.parameters
        taught = max(simulations - round(held * simulations), 1)
        size = min(batch, taught)
        count = taught // size  # of steps in an epoch; what is left over is another part in each
        adam = optimiser(rate, iterations * count)

        def init(key: Key, points: Points) -> State:
            noise, wave, first = jax.random.split(key, 3)
            found = lessons(noise, simulator, target, points[0], simulations, look)
            rows = network.expand(wave, found.rows, features)
            weights = networks.begun(first, (rows.shape[1], *network.hidden), kernels, answer)
            pairs = Pairs(rows[:-1], jnp.asarray(ndtri(found.unit), jnp.float32), found.weight)
            low, none = jnp.full((), -jnp.inf, jnp.float32), jnp.zeros((), jnp.float32)
            learned = Learned(weights, adam.init(weights), weights, low, low, low, none)
            return State(pairs, rows[-1:], learned, points[0], found.lost, none + simulations)

        def mixture(weights: Weights, rows: Features) -> networks.Mixture:
            return networks.mixture(networks.output(weights, rows), kernels, answer)

        def score(weights: Weights, pairs: Pairs) -> Number:
            """Mean log q in the unit box: that of the prior is 0."""
            found = mixture(weights, pairs.features)
            prior = -0.5 * jnp.sum(pairs.free**2, 1) - float(0.5 * answer * np.log(2.0 * np.pi))
            return jnp.mean(pairs.weight * (networks.logdensity(found, pairs.free) - prior))

        def epoch(key: Key, pairs: Pairs, last: Learned) -> Learned:
            order = jax.random.permutation(key, taught)[: count * size].reshape(count, size)

            def learn(now: tuple[Weights, Any], some: Array) -> tuple[tuple[Weights, Any], Number]:
                mean, slopes = jax.value_and_grad(score)(now[0], Pairs(*(x[some] for x in pairs)))
                return moved(adam, now[0], slopes, now[1]), mean

            (weights, memory), means = jax.lax.scan(learn, (last.weights, last.memory), order)
            mean = jnp.mean(means)
            apart = score(weights, Pairs(*(x[taught:] for x in pairs))) if taught < simulations else mean
            better = apart > last.best
            keep = better if taught < simulations else jnp.ones_like(better)
            kept = jax.tree.map(lambda new, old: jnp.where(keep, new, old), weights, last.kept)
            rested = jnp.where(keep, 0.0, last.rested + 1.0)
            return Learned(weights, memory, kept, mean, apart, jnp.maximum(apart, last.best), rested)

        def step(key: Key, state: State) -> tuple[State, Info]:
            learned = jax.lax.cond(
                state.learned.rested < max(PATIENCE * iterations, 1.0),
                epoch, lambda key, pairs, last: last, key, state.pairs, state.learned,
            )  # fmt: skip
            info = {
                "logdensity": learned.mean,
                "held": learned.held,
                "best": learned.best,
                "simulations": state.simulations,
                "lost": state.lost,
            }
            none = jnp.zeros_like(state.lost)
            state = state._replace(learned=learned, lost=none, simulations=none)
            return state, {name: number.astype(state.start.dtype) for name, number in info.items()}

        @partial(jax.jit, static_argnums=2)
        def draw(key: Key, state: State, n: int) -> Points:
            found, (way, noise) = mixture(state.learned.kept, state.seen), jax.random.split(key)
            unit = ndtr(networks.draws(way, found, TRIES * n).astype(state.start.dtype))
            return surviving(noise, simulator, placed(target, state.start, unit).reshape(TRIES, n, -1))

        return Sampler("bayessim", init, step, draw, tries=simulations)

    return Method("bayessim", settings, make, gradients=False)
