"""Find both link lengths of a double pendulum from its motion, by gradient, from many starts at once.

The setting is that of `fig:double-pendulum-ms`: masses at the ends of massless links, released at rest with both
links pointing sideways, angles and velocities recorded with noise. This is a fit from many starts, single shooting:
it gives the best lengths and shows the valleys in which starts get stuck. It gives no posterior.

State: (angle 1, angle 2, velocity 1, velocity 2), both angles measured from hanging straight down.
"""

from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from matplotlib.figure import Figure
from scipy.stats import qmc

from plausim import fuse
from plausim.report.fit import draw_climb, draw_motion

TRUTH = (1.5, 2.0)  # m
LIMITS = ((0.5, 3.0), (0.5, 3.0))  # m, for each length
MASSES = (1.0, 1.0)  # kg
GRAVITY = 9.81  # m/s^2
TIMESTEP = 0.01  # s
START = (np.pi / 2, np.pi / 2, 0.0, 0.0)
NOISE = (0.05, 0.05, 0.2, 0.2)  # rad, rad, rad/s, rad/s

ITERATIONS = 300
STRIDE = 0.02  # the first, largest Adam step, in widths of the limits
MOMENTUM = 0.7
GRID = 161  # landscape points along each length
SHOWN = 100  # predicted motions to draw
TOLERANCE = 3.0  # in log-likelihood: the 95 % region of two parameters

Lengths = Float[Array, "2"]
State = Float[Array, "4"]
States = Float[Array, "steps 4"]


class Study(NamedTuple):
    """What one run found. Lengths in metres, times in seconds."""

    recording: Float[np.ndarray, "steps 4"]
    before: Float[np.ndarray, "shown steps 4"]  # the motion predicted at the first SHOWN starts
    after: Float[np.ndarray, "steps 4"]  # and at the best answer
    path: Float[np.ndarray, "stages particles 2"]  # the lengths, from the starts to the answers
    best: int  # the particle with the highest log-likelihood
    log_likelihood: Float[np.ndarray, " particles"]  # at the answers
    landscape: Float[np.ndarray, "second first"]  # log-likelihood over the lengths on `axes`
    axes: tuple[Float[np.ndarray, " first"], Float[np.ndarray, " second"]]
    compile_seconds: float
    fit_seconds: float

    @property
    def found(self) -> Bool[np.ndarray, " particles"]:
        """Which particles explain the recording as well as the best one does."""
        return self.log_likelihood > self.log_likelihood[self.best] - TOLERANCE

    @property
    def misfit(self) -> Float[np.ndarray, "second first"]:
        """The landscape as the rms of the residuals in units of the noise: 1 where noise is all that is left."""
        values = self.recording.size
        normaliser = len(self.recording) * np.sum(np.log(NOISE)) + 0.5 * values * np.log(2 * np.pi)
        return np.sqrt(np.maximum(-2.0 * (self.landscape + normaliser) / values, 0.0))


def accelerations(lengths: Lengths, state: State) -> Float[Array, "2"]:
    """The equations of motion of two point masses on massless links, solved for the angular accelerations."""
    (l1, l2), (m1, m2) = lengths, MASSES
    q1, q2, v1, v2 = state
    sin, cos = jnp.sin(q1 - q2), jnp.cos(q1 - q2)
    inertia = m1 + m2 * sin**2
    pull1 = -(m1 + m2) * GRAVITY * jnp.sin(q1) - m2 * l2 * v2**2 * sin
    pull2 = l1 * v1**2 * sin - GRAVITY * jnp.sin(q2)
    a1 = (pull1 - m2 * cos * pull2) / (l1 * inertia)
    a2 = ((m1 + m2) * pull2 - cos * pull1) / (l2 * inertia)
    return jnp.stack([a1, a2])


def step(lengths: Lengths, state: State) -> State:
    """One step of semi-implicit Euler (`eq:dynamics`)."""
    velocities = state[2:] + TIMESTEP * accelerations(lengths, state)
    return jnp.concatenate([state[:2] + TIMESTEP * velocities, velocities])


def simulate(steps: int, lengths: Lengths) -> States:
    """The states after each of `steps` steps from START."""

    def advance(state: State, _: None) -> tuple[State, State]:
        state = step(lengths, state)
        return state, state

    return fuse.scan(advance, jnp.asarray(START, lengths.dtype), None, length=steps)[1]


def log_likelihood(lengths: Lengths, recording: States) -> Float[Array, ""]:
    """How well these lengths explain the recording, summed up on the way (`eq:ss_likelihood`)."""
    noise = jnp.asarray(NOISE, recording.dtype)
    normaliser = jnp.sum(jnp.log(noise)) + 2.0 * np.log(2 * np.pi)

    def advance(carry: tuple[State, Array], measured: State) -> tuple[tuple[State, Array], None]:
        state, total = carry
        state = step(lengths, state)
        residual = (state - measured) / noise
        return (state, total - 0.5 * jnp.sum(residual**2) - normaliser), None

    start = jnp.asarray(START, recording.dtype), jnp.zeros((), recording.dtype)
    return fuse.scan(advance, start, recording)[0][1]


def record(key: Array, steps: int) -> States:
    """The motion of the true pendulum, with noise."""
    noise = jnp.asarray(NOISE)[None] * jax.random.normal(key, (steps, 4))
    return simulate(steps, jnp.asarray(TRUTH)) + noise


def lengths_at(point: Float[Array, "2"]) -> Lengths:
    """From the unit box to metres."""
    low, high = jnp.asarray(LIMITS, point.dtype).T
    return low + (high - low) * point


def sobol(particles: int) -> Float[np.ndarray, "particles 2"]:
    """Evenly spread points of the unit box, its corner left out."""
    generator = qmc.Sobol(2, scramble=False)
    return generator.random_base2(particles.bit_length())[1 : particles + 1]


def climb(point: Float[Array, "2"], recording: States) -> tuple[Float[Array, "stages 2"], Float[Array, ""]]:
    """One start climbs the log-likelihood by Adam within the limits: its path, and the height it reached."""
    scale = 1.0 / recording.size

    def mean_log_likelihood(point: Float[Array, "2"]) -> Float[Array, ""]:
        return scale * log_likelihood(lengths_at(point), recording)

    def update(carry: tuple[Array, Array, Array], iteration: Array) -> tuple[tuple[Array, Array, Array], Array]:
        point, mean, square = carry
        gradient = jax.grad(mean_log_likelihood)(point)
        gradient = gradient / jnp.maximum(1.0, jnp.linalg.norm(gradient))  # one cliff must not fill the memory
        mean = MOMENTUM * mean + (1 - MOMENTUM) * gradient
        square = 0.99 * square + 0.01 * gradient**2
        unbiased = mean / (1 - MOMENTUM ** (iteration + 1)), square / (1 - 0.99 ** (iteration + 1))
        stride = STRIDE * 0.5 * (1 + jnp.cos(np.pi * iteration / ITERATIONS))
        point = jnp.clip(point + stride * unbiased[0] / (jnp.sqrt(unbiased[1]) + 1e-8), 0.0, 1.0)
        return (point, mean, square), point

    iterations = jnp.arange(ITERATIONS, dtype=recording.dtype)
    nothing = jnp.zeros_like(point)
    (answer, _, _), path = jax.lax.scan(update, (point, nothing, nothing), iterations)
    return jnp.concatenate([point[None], path]), log_likelihood(lengths_at(answer), recording)


def run(particles: int = 64, steps: int = 400, seed: int = 0) -> Study:
    """Simulate, record, fit from `particles` starts, and evaluate the landscape."""
    recording = jax.jit(record, static_argnums=1)(jax.random.key(seed), steps)
    starts = jnp.asarray(sobol(particles), recording.dtype)

    began = perf_counter()
    fit = jax.jit(jax.vmap(climb, in_axes=(0, None))).lower(starts, recording).compile()
    compiled = perf_counter()
    points, heights = jax.block_until_ready(fit(starts, recording))
    done = perf_counter()

    path = jax.vmap(jax.vmap(lengths_at))(points)
    best = int(jnp.nanargmax(heights))
    predict = partial(simulate, steps)
    axes = tuple(jnp.linspace(low, high, GRID) for low, high in LIMITS)
    grid = jnp.stack(jnp.meshgrid(*axes), axis=-1)
    landscape = jax.jit(jax.vmap(jax.vmap(log_likelihood, in_axes=(0, None)), in_axes=(0, None)))
    return Study(
        recording=np.asarray(recording),
        before=np.asarray(jax.vmap(predict)(path[:SHOWN, 0])),
        after=np.asarray(predict(path[best, -1])),
        path=np.swapaxes(np.asarray(path), 0, 1),
        best=best,
        log_likelihood=np.asarray(heights),
        landscape=np.asarray(landscape(grid, recording)),
        axes=(np.asarray(axes[0]), np.asarray(axes[1])),
        compile_seconds=compiled - began,
        fit_seconds=done - compiled,
    )


def draw(study: Study, file: Path) -> None:
    """One figure: the motion of both links before and after the fit, and the way there."""
    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    left, right = figure.add_gridspec(1, 2, width_ratios=(1.25, 1))
    motion, plane = figure.add_subfigure(left), figure.add_subfigure(right).subplots()
    panels = motion.subplots(2, 1, sharex=True)
    time = TIMESTEP * np.arange(1, len(study.recording) + 1)
    for link, axes in enumerate(panels):
        channel = study.recording[:, link], study.before[..., link], study.after[:, link]
        draw_motion(axes, time, *channel, label=f"angle of link {link + 1} (rad)")
    panels[-1].set_xlabel("time (s)")
    motion.legend(*panels[-1].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    draw_climb(plane, study.axes, study.misfit, study.path, study.found, TRUTH)
    plane.set_xlabel("length of link 1 (m)")
    plane.set_ylabel("length of link 2 (m)")
    figure.savefig(file, dpi=120)
