"""How far measurements stray from what is simulated: one standard deviation for each channel, known or to be found.

Normal (`eq:combinedlikelihood`), or Student's where outliers are to be expected. Always with the normaliser, so that
levels can be found and log-likelihoods compare.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from .stacks import Stack

Number = Float[Array, ""]
Unit = Float[Array, " levels"]  # levels to be found, in their unit box
Channels = Float[Array, " channels"]


class Range(NamedTuple):
    """A noise level that is to be found, between two limits, on a logarithmic scale."""

    low: float
    high: float


class Noise(NamedTuple):
    given: Float[np.ndarray, " channels"]  # where it is to be found: the middle of the range
    found: tuple[int, ...]  # the channels whose level is to be found
    ranges: tuple[Range, ...]
    channels: tuple[str, ...]
    student: float | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"noise.{self.channels[c]}" for c in self.found)

    @property
    def units(self) -> tuple[str, ...]:
        return ("",) * len(self.found)

    def values(self, unit: Unit) -> Unit:
        """The levels, from their unit box."""
        ends = np.log(np.array(self.ranges).reshape(-1, 2).T)
        low, high = jnp.asarray(ends, unit.dtype)
        return jnp.exp(low + (high - low) * unit)

    def sigma(self, unit: Unit) -> Channels:
        """The standard deviation of every channel."""
        return jnp.asarray(self.given, unit.dtype).at[np.array(self.found, int)].set(self.values(unit))

    def stiffness(self, stack: Stack) -> float:
        """How much log-density a window has for each squared unit of spread that its states are off."""
        ratio = (stack.channel_spread / self.given) ** 2
        return float(np.sum(stack.known * ratio) / (stack.known.shape[0] * stack.known.shape[1] * len(ratio)))

    def first(self, stack: Stack) -> Float[np.ndarray, " tangent"]:
        """The standard deviation of a first state, in units of the spread: that of the median channel."""
        return np.full(stack.tangent, float(np.median(self.given / stack.channel_spread)))


def noise_levels(noise: Mapping[str, float | Range], channels: Sequence[str], student: float | None) -> Noise:
    """Check the levels of all channels."""
    for name in noise:
        if name not in channels:
            near = difflib.get_close_matches(name, channels, n=3, cutoff=0.4) or channels
            raise ValueError(f"noise is given for {name}, which no recording has; there are {', '.join(near)}.")
    missing = [c for c in channels if c not in noise]
    if missing:
        raise ValueError(f"no noise is given for {', '.join(missing)}; give each channel its standard deviation.")
    for name, level in noise.items():
        low, high = level if isinstance(level, Range) else (level, level)
        if not (0 < low <= high < np.inf) or (isinstance(level, Range) and low == high):
            raise ValueError(f"the noise of {name} is {level}; give a number above 0, or Range(low, high).")
    if student is not None and not student > 0:
        raise ValueError(f"a Student density of {student:g} degrees of freedom; give a number above 0, such as 4.")
    levels = [noise[c] for c in channels]
    found = [c for c, level in enumerate(levels) if isinstance(level, Range)]
    given = [np.sqrt(level.low * level.high) if isinstance(level, Range) else float(level) for level in levels]
    ranges = tuple(level for level in levels if isinstance(level, Range))
    return Noise(np.array(given), tuple(found), ranges, tuple(channels), student)


def weigh(levels: Noise, residual: Channels, sigma: Channels, known: Channels) -> Number:
    """The log-density of one sample's residuals, of what was measured (`eq:combinedlikelihood`)."""
    scaled = residual / sigma
    if levels.student is None:
        each = -0.5 * scaled * scaled - float(0.5 * np.log(2.0 * np.pi))
    else:
        nu = jnp.asarray(levels.student, residual.dtype)
        half = 0.5 * (nu + 1.0)
        normaliser = gammaln(half) - gammaln(0.5 * nu) - 0.5 * jnp.log(nu * jnp.pi)
        each = normaliser - half * jnp.log1p(scaled * scaled / nu)
    return jnp.sum(jnp.where(known > 0, each - jnp.log(sigma), jnp.zeros_like(each)))
