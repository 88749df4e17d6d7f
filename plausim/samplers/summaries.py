"""What likelihood-free inference sees of a motion: a few numbers instead of all samples (`sec:bayessim-input`).

    summary: (motion) -> numbers        of one recording, for any motion of the same length

`SUMMARIES` has every one of them, with the settings that any of them may use: the stride and the depth.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

Motion = Float[Array, "steps channels"]
Numbers = Float[Array, " numbers"]

LAGS = (5, 10, 20, 50, 100)  # steps


def downsampled(motion: Motion, stride: int = 20) -> Numbers:
    """Every so many samples: those of the steps that the stride divides, counted from the end."""
    return motion[(len(motion) - 1) % stride :: stride].ravel()


def difference(motion: Motion, stride: int = 20) -> Numbers:
    """Differences of consecutive samples: every so many, and mean and variance of all (Ramos et al. 2019, eq. 22)."""
    steps = motion[1:] - motion[:-1]
    return jnp.concatenate([downsampled(steps, stride), jnp.mean(steps, 0), jnp.var(steps, 0)])


def summary(motion: Motion) -> Numbers:
    """Of each channel mean, variance and autocorrelations; of each two their correlation."""
    mean, variance = jnp.mean(motion, 0), jnp.var(motion - motion[:1], 0)  # 0, not nearly so, of what does not move
    still = variance == 0  # goes along with nothing
    away = jnp.where(still, 0.0, 1.0 / jnp.sqrt(jnp.where(still, 1.0, variance)))[None] * (motion - mean[None])
    cross = (away.T @ away / len(motion))[np.triu_indices(motion.shape[1], 1)]
    auto = [jnp.sum(away[lag:] * away[:-lag], 0) / len(motion) for lag in LAGS if lag < len(motion)]
    return jnp.concatenate([mean, variance, cross, *auto])


def signature(motion: Motion, depth: int = 3) -> Numbers:
    """Iterated integrals of the path, up to so many of them (Chen's identity, step by step).

    A straight step d has the signature 1 + d + d d / 2 + d d d / 6 + ...; that of a path and one more step is the
    product of theirs. Level m of it, by Horner's scheme: s_m + (s_{m-1} + (s_{m-2} + ...) d / 2) d.
    """
    channels = motion.shape[1]

    def longer(levels: tuple[Array, ...], step: Float[Array, " channels"]) -> tuple[tuple[Array, ...], None]:
        found = []
        for m in range(1, depth + 1):
            term = step / m
            for k in range(1, m):
                term = jnp.tensordot(levels[k - 1] + term, step / (m - k), 0)
            found.append(levels[m - 1] + term)
        return tuple(found), None

    nothing = tuple(jnp.zeros((channels,) * m, motion.dtype) for m in range(1, depth + 1))
    levels, _ = jax.lax.scan(longer, nothing, motion[1:] - motion[:-1])
    return jnp.concatenate([level.ravel() for level in levels])


SUMMARIES: dict[str, Callable[[Motion, int, int], Numbers]] = {
    "downsampled": lambda motion, stride, depth: downsampled(motion, stride),
    "difference": lambda motion, stride, depth: difference(motion, stride),
    "summary": lambda motion, stride, depth: summary(motion),
    "signature": lambda motion, stride, depth: signature(motion, depth),
}
