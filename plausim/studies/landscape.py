"""Why to shoot more than once: the log-likelihood over two link lengths, by single and multiple shooting.

A recording of 400 steps, as one rollout and as 10 windows from measured starts (`fig:double-pendulum-ms`). Link 2
starts upright: then the motion is so chaotic that single shooting has hundreds of false summits, and windows one.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float
from matplotlib.figure import Figure

from plausim.recordings import Recording
from plausim.report.defects import draw_windows
from plausim.report.landscape import Landscape, draw_landscape
from plausim.report.sheet import draw_sheet
from plausim.shooting import multiple, single
from plausim.target import Target, soften

from . import two_links
from .outcome import Number, Outcome, Tell

TRUTH = np.array([1.5, 2.0])  # m
START = np.array([np.pi / 2, np.pi / 2, 0.0, 0.0])  # link 1 sideways, link 2 upright on it
STEPS, WINDOWS, GRID = 400, 10, 100
SOFT = 0.1  # standard deviation of the gaps (`eq:likelihood-defect`), in spreads of the states
GUESS = np.array([1.2, 2.4])  # m, whose windows are drawn

Heights = Float[np.ndarray, "up across"]


def run(seed: int = 0, tell: Tell = lambda line: None, grid: int = GRID) -> Outcome:
    recordings = two_links.recorded([TRUTH], STEPS, seed, START)
    system = two_links.pendulum()
    targets = {
        "single shooting": single(system, recordings, two_links.NOISE),
        "multiple shooting": soften(multiple(system, recordings, two_links.NOISE, windows=WINDOWS), SOFT),
    }
    tell(f"{grid} x {grid} lengths, {STEPS} steps, {WINDOWS} windows")
    low, high = two_links.LIMITS
    lengths = low + (high - low) * (np.arange(grid) + 0.5) / grid
    heights = {name: surface(target, grid) for name, target in targets.items()}
    maxima = {name: np.argwhere(summits(each)) for name, each in heights.items()}
    panels = [
        Landscape(name, lengths, lengths, heights[name], TRUTH[None], maxima=lengths[maxima[name][:, ::-1]])
        for name in targets
    ]
    count = {name: len(found) for name, found in maxima.items()}
    best = {name: highest(lengths, each) for name, each in heights.items()}
    numbers = [
        Number("local maxima, single shooting", count["single shooting"]),
        Number("local maxima, multiple shooting", count["multiple shooting"], high=count["single shooting"] / 10),
        *(Number(f"best of the grid from the truth, {name}", float(np.linalg.norm(at - TRUTH)), "m", high=0.05)
          for name, at in best.items()),
    ]  # fmt: skip
    pages = {"landscapes": draw_landscape(panels, two_links.LENGTHS, ("m", "m")), "windows": windows(recordings[0])}
    return Outcome(
        "landscape", numbers, {"figures": draw_sheet(list(pages.values()), ["", "Windows of a wrong guess"]), **pages}
    )


def surface(target: Target, grid: int) -> Heights:
    """The log-likelihood at the middle of each cell of the unit square; window starts as measured."""
    rest = jnp.zeros(target.dimensions - 2)

    def at(first: jax.Array, second: jax.Array) -> jax.Array:
        return target.evaluate(jnp.concatenate([jnp.stack([first, second]), rest])).logdensity

    middle = jnp.asarray((np.arange(grid) + 0.5) / grid)
    return np.asarray(jax.jit(jax.vmap(jax.vmap(at, (0, None)), (None, 0)))(middle, middle))


def summits(heights: Heights) -> Bool[np.ndarray, "up across"]:
    """Cells higher than all eight around them; the edge is no summit."""
    found = np.zeros(heights.shape, bool)
    inner, (rows, columns) = heights[1:-1, 1:-1], heights.shape
    around = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
    found[1:-1, 1:-1] = np.all([inner > heights[i : rows - 2 + i, j : columns - 2 + j] for i, j in around], axis=0)
    return found


def highest(lengths: Float[np.ndarray, " grid"], heights: Heights) -> Float[np.ndarray, "2"]:
    up, across = np.unravel_index(int(np.argmax(heights)), heights.shape)
    return lengths[[across, up]]


def windows(recording: Recording) -> Figure:
    """What a wrong guess does from the measured start of each window (c of the figure)."""
    steps = STEPS // WINDOWS
    starts = recording.states[:-1:steps]
    shots = np.concatenate([starts[:, None], two_links.moved(np.tile(GUESS, (WINDOWS, 1)), steps, starts)], 1)
    time = two_links.TIMESTEP * np.arange(STEPS + 1)
    at = np.stack([time[i * steps : (i + 1) * steps + 1] for i in range(WINDOWS)])
    channels = list(two_links.NOISE)
    return draw_windows(time, recording.observed[:, :2], at, shots[..., :2], channels[:2], ["rad", "rad"])
