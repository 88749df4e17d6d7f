"""Targets from recordings: how plausible a motion is under parameters, by single and by multiple shooting.

    single(system, recordings, noise)              one rollout for each recording, from its first state
    multiple(system, recordings, noise, windows)   many short ones, whose start states are found, too; gaps between the
                                                   end of one and the start of the next are the constraints

Samples are compared after each step, so each counts once: where the gaps are zero, both say the same. A point is (the
parameters in their unit box, unknown noise levels in theirs, start states as steps from the measured ones in units of
the recordings' spread).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausim import fuse
from plausim.parameters import Values, from_unit, place
from plausim.recordings import Recording
from plausim.rollout import Control, Params, State
from plausim.systems import System
from plausim.target import Evaluation, Motion, Number, Point, Target, spread

from .noise import Noise, Range, noise_levels, weigh
from .simulators import predicted, simulator
from .stacks import Stack, stacked

Prior = Callable[[Values], Number]
Scan = Callable[..., tuple[Any, Any]]
Starts = Float[Array, "recordings windows tangent"]
Junctions = Float[Array, "recordings junctions tangent"]

COMBINE: dict[str, Callable[[Float[Array, " recordings"]], Number]] = {
    "product": jnp.sum,  # `eq:traj_likelihood_prod`
    "sum": lambda each: jax.nn.logsumexp(each) - float(np.log(each.shape[0])),  # `eq:traj_likelihood`, of mean weight
}
DEFECTS: dict[str, Callable[[Junctions, float], Float[Array, "recordings junctions numbers"]]] = {
    "gap": lambda gaps, sigma: gaps,
    "squared": lambda gaps, sigma: jnp.sum((gaps / sigma) ** 2, 2, keepdims=True),  # `sec:mmdm`, g_def
}


def single(
    system: System,
    recordings: Sequence[Recording],
    noise: Mapping[str, float | Range],
    *,
    combine: str = "product",
    student: float | None = None,
    first: str = "given",
    prior: Prior | None = None,
    scan: Scan = fuse.scan,
) -> Target:
    """Rollouts over whole recordings, from their first states (`eq:ss_likelihood`).

    Args:
        system: the simulator and its parameters in doubt, see `plausim.system`.
        recordings: what was measured; each at the model's step.
        noise: the standard deviation of each channel, in its unit; or `Range(low, high)` where it is to be found.
        combine: `product` of the recordings' likelihoods: one machine made them all; `sum`: each may be another.
        student: degrees of freedom of a Student density, where outliers are to be expected; normal if none.
        first: whether the first states are `given` by the recordings, or `inferred` with the parameters.
        prior: a further log-density of the parameters in their units, beside the limits.
        scan: what runs the rollouts: `fuse.scan`, or `jax.lax.scan` for a step that cannot be compiled.

    Example:
        >>> import numpy as np, plausim
        >>> from plausim.recordings import simulated
        >>> arm = plausim.robot("double-pendulum")
        >>> swing = simulated(arm, np.array([1.5, 0.5, 0.0, 0.0]), steps=20, noise=0.01)
        >>> system = plausim.system(plausim.choose(arm, [plausim.parameter("link2.mass", 0.05, 0.5)]))
        >>> plausim.single(system, [swing], dict.fromkeys(swing.channels, 0.01)).names
        ('link2.mass',)

    """
    stack = stacked(system, recordings, 1)
    return _target(system, stack, noise, combine, student, first, prior, scan, "gap", 1e-2)


def multiple(
    system: System,
    recordings: Sequence[Recording],
    noise: Mapping[str, float | Range],
    *,
    windows: int = 10,
    defect: str = "gap",
    defect_sigma: float = 1e-2,
    combine: str = "product",
    student: float | None = None,
    first: str = "given",
    prior: Prior | None = None,
    scan: Scan = fuse.scan,
) -> Target:
    """Rollouts over windows, tied together by constraints (`eq:ms_likelihood`).

    Args:
        system: the simulator and its parameters in doubt, see `plausim.system`.
        recordings: what was measured; each at the model's step.
        noise: the standard deviation of each channel, or `Range(low, high)` where it is to be found.
        windows: into how many equal parts each recording is cut.
        defect: `gap` for the difference of states in units of their spread, `squared` for the paper's squared norm,
            whose gradient vanishes where it holds.
        defect_sigma: the standard deviation that the squared one is divided by.
        combine: as for `single`.
        student: as for `single`.
        first: as for `single`.
        prior: as for `single`.
        scan: as for `single`.

    Example:
        >>> import numpy as np, plausim
        >>> from plausim.recordings import simulated
        >>> arm = plausim.robot("double-pendulum")
        >>> swing = simulated(arm, np.array([1.5, 0.5, 0.0, 0.0]), steps=20, noise=0.01)
        >>> system = plausim.system(plausim.choose(arm, [plausim.parameter("link2.mass", 0.05, 0.5)]))
        >>> target = plausim.multiple(system, [swing], dict.fromkeys(swing.channels, 0.01), windows=4)
        >>> target.dimensions, target.names[:2]
        (13, ('link2.mass', 'simulated@1.shoulder.position'))

    """
    stack = stacked(system, recordings, windows)
    return _target(system, stack, noise, combine, student, first, prior, scan, defect, defect_sigma)


class Layout(NamedTuple):
    """Where what stands in a point."""

    parameters: int
    levels: int  # noise levels to be found
    recordings: int
    windows: int
    first: int  # the first window whose start is to be found: 0 or 1
    tangent: int

    def parts(self, point: Point) -> tuple[Params, Float[Array, " levels"], Starts]:
        """Parameters, noise levels, and steps from the measured starts, of all windows."""
        found = point[self.answer :].reshape(self.recordings, self.windows - self.first, self.tangent)
        known = jnp.zeros((self.recordings, self.first, self.tangent), point.dtype)
        return point[: self.parameters], point[self.parameters : self.answer], jnp.concatenate([known, found], 1)

    @property
    def answer(self) -> int:
        return self.parameters + self.levels

    @property
    def dimensions(self) -> int:
        return self.answer + self.recordings * (self.windows - self.first) * self.tangent


def _target(
    system: System,
    stack: Stack,
    noise: Mapping[str, float | Range],
    combine: str,
    student: float | None,
    first: str,
    prior: Prior | None,
    scan: Scan,
    defect: str,
    defect_sigma: float,
) -> Target:
    _one_of("combine", combine, COMBINE)
    _one_of("defect", defect, DEFECTS)
    _one_of("first", first, ("given", "inferred"))
    if not defect_sigma > 0:
        raise ValueError(f"defect_sigma is {defect_sigma:g}; give a number above 0, such as 0.01.")
    parameters = system.parameters
    levels = noise_levels(noise, stack.channels, student)
    layout = Layout(
        len(parameters.names), len(levels.found), len(stack.names), stack.windows, int(first == "given"), stack.tangent
    )

    def evaluate(point: Point) -> Evaluation:
        unit, unit_levels, steps = layout.parts(point)
        values = from_unit(parameters, unit)
        each, ends = shoot(system, stack, levels, values, unit_levels, steps, scan)
        logdensity = COMBINE[combine](jnp.sum(each, 1))
        if prior is not None:
            logdensity = logdensity + prior(values)
        if not layout.first:
            logdensity = logdensity + first_states(stack, levels, steps[:, 0])
        gaps = junctions(system, stack, steps, ends)
        return Evaluation(logdensity, DEFECTS[defect](gaps, defect_sigma).ravel())

    return Target(
        evaluate=evaluate,
        names=(*parameters.names, *levels.names, *_start_names(system, stack, layout)),
        lower=np.r_[np.zeros(layout.answer), np.full(layout.dimensions - layout.answer, -np.inf)],
        upper=np.r_[np.ones(layout.answer), np.full(layout.dimensions - layout.answer, np.inf)],
        parameters=layout.answer,
        starts=lambda count: np.pad(
            spread(count, layout.answer), ((0, 0), (0, layout.dimensions - layout.answer))
        ),
        values=jax.vmap(lambda p: jnp.concatenate([
            from_unit(parameters, p[: layout.parameters]),
            levels.values(p[layout.parameters : layout.answer]),
        ])),
        units=(*(p.unit for p in parameters.chosen), *levels.units),
        motion=_motion(system, stack, layout, scan),
        simulator=None if combine == "sum" and layout.recordings > 1 else simulator(  # one point is one machine
            system, stack, levels, first == "inferred", prior, scan
        ),
        stiffness=levels.stiffness(stack),
    )  # fmt: skip


def shoot(
    system: System,
    stack: Stack,
    levels: Noise,
    values: Params,
    unit_levels: Float[Array, " levels"],
    steps: Starts,
    scan: Scan,
) -> tuple[Float[Array, "recordings windows"], Float[Array, "recordings windows state"]]:
    """The log-likelihood of each window and the state at its end: all of them in one launch."""
    dtype = values.dtype
    sigma = levels.sigma(unit_levels)
    measured, controls = jnp.asarray(stack.starts, dtype), jnp.asarray(stack.controls, dtype)
    observed, weight = jnp.asarray(stack.observed, dtype), jnp.asarray(stack.known, dtype)
    scale = jnp.asarray(stack.spread, dtype)

    def window(start: State, delta: Float[Array, " tangent"], xs: tuple[Array, Array, Array]) -> tuple[Number, State]:
        def advance(carry: tuple[State, Number], x: tuple[Control, Array, Array]) -> tuple[tuple[State, Number], None]:
            state, total = carry
            control, seen, known = x
            state = system.step(values, state, control)
            return (state, total + weigh(levels, seen - system.observe(values, state, control), sigma, known)), None

        begin = system.retract(start, scale * delta)
        (end, total), _ = scan(advance, (begin, jnp.zeros((), dtype)), xs)
        return total, end

    return jax.vmap(jax.vmap(window))(measured, steps, (controls, observed, weight))


def junctions(system: System, stack: Stack, steps: Starts, ends: Float[Array, "recordings windows state"]) -> Junctions:
    """From the end of each window to the start of the next, in units of the states' spread (`eq:likelihood-defect`)."""
    scale, measured = jnp.asarray(stack.spread, steps.dtype), jnp.asarray(stack.starts, steps.dtype)

    def gap(end: State, start: State, step: Float[Array, " tangent"]) -> Float[Array, " tangent"]:
        return system.difference(end, system.retract(start, scale * step)) / scale

    return jax.vmap(jax.vmap(gap))(ends[:, :-1], measured[:, 1:], steps[:, 1:])


def first_states(stack: Stack, levels: Noise, steps: Float[Array, "recordings tangent"]) -> Number:
    """The first states are as far from the measured ones as their own noise says: a normal density."""
    sd = jnp.asarray(levels.first(stack), steps.dtype)[None]
    return jnp.sum(-0.5 * (steps / sd) ** 2 - jnp.log(sd) - float(0.5 * np.log(2.0 * np.pi)))


def _motion(system: System, stack: Stack, layout: Layout, scan: Scan) -> Motion:
    recordings, windows, steps, channels = stack.observed.shape
    whole = recordings, windows * steps, channels
    observed = stack.observed.reshape(whole)
    count = layout.parameters
    return Motion(
        recordings=stack.names,
        channels=stack.channels,
        time=system.timestep * np.arange(1, windows * steps + 1),
        observed=observed,
        known=stack.known.reshape(whole),
        predict=lambda point: predicted(system, stack, from_unit(system.parameters, point[:count]), scan),
        model=lambda values: place(system.parameters, values[:count]),
    )


def _start_names(system: System, stack: Stack, layout: Layout) -> list[str]:
    return [
        f"{name}@{window}.{coordinate}"
        for name in stack.names
        for window in range(layout.first, layout.windows)
        for coordinate in system.coordinates
    ]


def _one_of(what: str, given: str, known: Any) -> None:
    if given not in known:
        raise ValueError(f"{what} is {given!r}; it may be {' or '.join(repr(k) for k in known)}.")
