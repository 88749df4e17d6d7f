"""Constrained Stein variational gradient descent (`alg:csvgd`): SVGD, minus the pull of the constraints.

Constraints g(z) = 0 are the gaps of the target and g_lim(z) = clamp(z) - z. Each particle has multipliers of its own
(modified differential multiplier method, `eq:mdmm-loss`):

    z      += rate [phi - (lambda + c g) dg/dz]         with rate by Adam
    lambda += pace g

The likelihood is only ever evaluated within the limits. Two schedules. `paper` is Algorithm 1 as it stands: c and pace
are constant from the first iteration (on real data multipliers wind up before the particles are near: see
docs/samplers.md). `staged`: the sum over particles in phi is not divided by their number, so that it weighs as much
as each one's own constraints; c rises geometrically until particles are near, then multipliers climb, too, at a pace in
units of c. It must end above what the kernel pushes particles apart with, or they buckle off the constraints.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from plausim.target import Evaluation, Number, Points, Target, clamp

from .particles import clipped, moved, optimiser, rescued
from .protocol import Info, Key, Method, Sampler
from .stein import direction
from .svgd import drawn, warmth

Multipliers = Array  # one row for each particle
RISE = 0.7  # of the iterations: how long the penalty rises before multipliers climb, too
SCHEDULES = ("staged", "paper")
KERNELS = ("all", "parameters")


class State(NamedTuple):
    points: Points
    memory: Any  # Adam's
    gap_multiplier: Multipliers
    limit_multiplier: Multipliers
    iteration: Array


def csvgd(
    rate: float = 0.02,
    penalty: tuple[float, float, float] = (0.01, 10.0, 100.0),
    climb: float = 0.005,
    schedule: str = "staged",
    kernel: str = "all",
    anneal: float = 0.0,
) -> Method:
    """CSVGD with Adam.

    Args:
        rate: the first learning rate, in units of the unit box; it falls to a hundredth along a cosine.
        penalty: c at first, where multipliers begin to climb, and at last, in units of the target's stiffness; `paper`
            uses the second one throughout.
        climb: how far multipliers move in one iteration, in units of c g; with `paper`, of g.
        schedule: `staged` or `paper`, see above.
        kernel: whether particles are kept apart in `all` coordinates or in the `parameters` only.
        anneal: for which part of the iterations the scores are weighted down, as `svgd` does; 0 is not at all.

    Example:
        >>> import plausim
        >>> method = plausim.csvgd(schedule="paper")
        >>> method.constraints, method.settings["penalty"]
        (True, (0.01, 10.0, 100.0))

    """
    if schedule not in SCHEDULES or kernel not in KERNELS:
        raise ValueError(f"schedule {schedule!r}, kernel {kernel!r}; there are {SCHEDULES} and {KERNELS}.")
    if not 0 <= anneal < 1:
        raise ValueError(f"anneal is {anneal:g}; it is a part of the iterations: from 0, for none of them, to below 1.")
    if not 0 < penalty[0] <= penalty[1] <= penalty[2]:
        way = " to ".join(f"{p:g}" for p in penalty)
        raise ValueError(f"the penalty goes from {way}; it must rise, from above 0.")

    def make(target: Target, iterations: int) -> Sampler:
        adam = optimiser(rate, iterations)
        evaluate = jax.vmap(target.evaluate)
        features = target.parameters if kernel == "parameters" else target.dimensions

        def init(key: Key, points: Points) -> State:
            gaps = jax.eval_shape(evaluate, points).gaps
            return State(
                points, adam.init(points), jnp.zeros(gaps.shape, gaps.dtype), jnp.zeros_like(points),
                jnp.zeros((), points.dtype),
            )  # fmt: skip

        def step(key: Key, state: State) -> tuple[State, Info]:
            c, pace = scheduled(state.iteration / iterations)
            inside = clamp(target, state.points)
            outside = inside - state.points  # g_lim, `sec:mmdm`
            logdensity, gaps, score, pull = slopes(evaluate, inside, state.gap_multiplier, c)
            pull = pull - jnp.where(outside == 0, 0.0, state.limit_multiplier + c * outside)
            alive = jnp.isfinite(logdensity) & jnp.all(jnp.isfinite(score) & jnp.isfinite(pull), 1)
            found = rescued(key, alive)
            points, score, pull, logdensity, gaps, outside, held, bound = (
                x[found.heir]
                for x in (state.points, score, pull, logdensity, gaps, outside, state.gap_multiplier,
                          state.limit_multiplier)
            )  # fmt: skip
            weight = warmth(state.iteration / iterations, anneal)
            phi, bandwidth = direction(points, weight * clipped(score), points[:, :features])
            phi = phi if schedule == "paper" else len(points) * phi
            points, memory = moved(adam, points, phi - clipped(pull), state.memory)
            info = {
                "logdensity": jnp.mean(logdensity),
                "best": jnp.max(logdensity),
                "gap": jnp.sqrt(jnp.mean(jnp.square(gaps))) if gaps.size else jnp.zeros_like(c),
                "outside": jnp.max(jnp.abs(outside)),
                "bandwidth": bandwidth,
                "simulations": jnp.asarray(len(points), points.dtype),
                "lost": jnp.sum(found.lost).astype(points.dtype),
            }
            return State(points, memory, held + pace * gaps, bound + pace * outside, state.iteration + 1), info

        def scheduled(progress: Number) -> tuple[Number, Number]:
            """The penalty c, and the pace of multipliers."""
            first, middle, last = (target.stiffness * p for p in penalty)
            if schedule == "paper":
                return jnp.full_like(progress, middle), jnp.full_like(progress, climb)
            rise, on = jnp.minimum(progress / RISE, 1.0), jnp.maximum((progress - RISE) / (1.0 - RISE), 0.0)
            c = first * (middle / first) ** rise * (last / middle) ** on
            return c, jnp.where(progress < RISE, 0.0, climb * c)

        return Sampler("csvgd", init, step, lambda key, state, n: drawn(key, target, state.points, n))

    settings = {
        "rate": rate, "penalty": penalty, "climb": climb, "schedule": schedule, "kernel": kernel, "anneal": anneal
    }  # fmt: skip
    return Method("csvgd", settings, make, constraints=True)


def slopes(
    evaluate: Callable[[Points], Evaluation], points: Points, multiplier: Multipliers, c: Number
) -> tuple[Array, Multipliers, Points, Points]:
    """Log-density, gaps, score, and the gaps' pull (lambda + c g) dg/dz; both slopes in one launch."""
    (logdensity, gaps), back = jax.vjp(evaluate, points)
    by_density = Evaluation(jnp.ones_like(logdensity), jnp.zeros_like(gaps))
    if not gaps.size:
        (score,) = back(by_density)
        return logdensity, gaps, score, jnp.zeros_like(points)
    by_gaps = Evaluation(jnp.zeros_like(logdensity), multiplier + c * gaps)
    ((score, pull),) = jax.vmap(back)(jax.tree.map(lambda *both: jnp.stack(both), by_density, by_gaps))
    return logdensity, gaps, score, pull
