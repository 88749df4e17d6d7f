"""The one loop that every method runs in: iterations in chunks, with progress, checkpoints and an orderly end.

    posterior = infer(target, csvgd(), particles=100, iterations=2000, seed=0, directory="runs/arm")

Random numbers are drawn from the seed and the iteration's number alone, and a chunk's length is no part of what is
compiled: a run that was stopped and goes on comes to the very numbers of one that was not.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from plausim import __version__, checkpoints, results
from plausim.checkpoints import Checkpoint
from plausim.results import Posterior, Predictions
from plausim.samplers import Method, Sampler
from plausim.target import Points, Target, soften

CHUNK = 500  # iterations at a time, at most
BREATH = 0.2  # s between two looks at the clock, progress and ctrl-C
SAVE_EVERY = 10.0  # s between checkpoints
STAGES = 40  # how many times on its way the run's parameters are kept
SOFT = 1e-2  # standard deviation of gaps for methods that know no constraints
FILE = "posterior.nc"


class Progress(NamedTuple):
    """Where a run is: said between chunks."""

    method: str
    iteration: int
    iterations: int
    info: dict[str, float]  # of the last iteration
    seconds: float
    saved: int | None  # the iteration of the last checkpoint


class Interrupted(KeyboardInterrupt):
    """A run was stopped by ctrl-C; what it had is saved, if it has a folder."""


def infer(
    target: Target,
    method: Method,
    *,
    particles: int = 100,
    iterations: int = 2000,
    draws: int | None = None,
    seed: int = 0,
    directory: str | os.PathLike | None = None,
    progress: Callable[[Progress], None] | None = None,
    fingerprint: dict[str, Any] | None = None,
) -> Posterior:
    """Draw from a target's posterior by a method.

    With a directory, checkpoints go there on the way and the result at the end, and a run that was stopped goes on from
    its last checkpoint when it is called again with the same arguments.

    Args:
        target: what is to be found, see `plausim.single` and `plausim.multiple`.
        method: how, one of `plausim.samplers.SAMPLERS` with its settings.
        particles: how many points move at once.
        iterations: how many steps they take.
        draws: how many draws the posterior has; as many as particles, if not said.
        seed: of all random numbers.
        directory: where checkpoints and result are kept; made if missing.
        progress: called between chunks of iterations.
        fingerprint: what else the run depends on (hashes of its files): a checkpoint under another one is refused.

    Example:
        >>> import jax.numpy as jnp
        >>> from plausim.run import infer
        >>> from plausim.samplers import svgd
        >>> from plausim.target import density
        >>> target = density(lambda x: -0.5 * jnp.sum(((x - 1.0) / 0.5) ** 2), lower=[-3.0, -3.0], upper=[5.0, 5.0])
        >>> posterior = infer(target, svgd(rate=0.1), particles=50, iterations=300)
        >>> print([f"{row['mean']:.1f}" for row in posterior.summary()])
        ['1.0', '1.0']

    """
    _check(target, method, particles, iterations, draws)
    folder = None if directory is None else Path(directory)
    tell = progress or (lambda _: None)
    with jax.enable_x64(True):
        target = _compiled(target)
        if _gaps(target) and not method.constraints:
            target = soften(target, SOFT)
        run = _Run(target, method, method.make(target, iterations), particles, iterations, seed, folder)
        prints = _fingerprint(run) | (fingerprint or {})
        checkpoint = _advanced(run, _begun(run, prints), prints, tell)
        posterior = _posterior(run, checkpoint, draws or particles)
        if folder is not None:
            _kept(posterior, folder)
    return posterior


def _compiled(target: Target) -> Target:
    """Its functions are traced once, however often they are asked for; that takes longer than small runs."""
    return replace(target, evaluate=jax.jit(target.evaluate), values=jax.jit(target.values))


class _Run(NamedTuple):
    target: Target
    method: Method
    sampler: Sampler
    particles: int
    iterations: int
    seed: int
    folder: Path | None


def _gaps(target: Target) -> bool:
    point = jax.ShapeDtypeStruct((target.dimensions,), np.float64)
    return jax.eval_shape(target.evaluate, point).gaps.shape[0] > 0


def _check(target: Target, method: Method, particles: int, iterations: int, draws: int | None) -> None:
    for name, number in {"particles": particles, "iterations": iterations, "draws": draws}.items():
        if number is not None and number < 1:
            raise ValueError(f"{name} is {number}; give at least 1.")
    if method.gradients and not target.differentiable:
        raise ValueError(f"{method.name} needs gradients, which this target has not; use a method that needs none.")


def _fingerprint(run: _Run) -> dict[str, Any]:
    """What the numbers of a run depend on."""
    target = run.target
    return {
        "plausim": __version__, "jax": jax.__version__, "method": run.method.name, "settings": run.method.settings,
        "particles": run.particles, "iterations": run.iterations, "seed": run.seed,
        "names": list(target.names[: target.parameters]), "dimensions": target.dimensions,
    }  # fmt: skip


def _begun(run: _Run, prints: dict[str, Any]) -> Checkpoint:
    """The last checkpoint, or the first state."""
    points = jnp.asarray(run.target.starts(run.particles))
    init = jax.jit(run.sampler.init) if run.sampler.traced else run.sampler.init  # op by op, it compiles for long
    state = init(jax.random.fold_in(jax.random.key(run.seed), 0), points)
    if run.folder is not None:
        run.folder.mkdir(parents=True, exist_ok=True)
        found = checkpoints.load(run.folder, prints, like=state)
        if found is not None:
            return found
    return Checkpoint(0, state, {}, {}, 0.0)


def _advanced(
    run: _Run, checkpoint: Checkpoint, prints: dict[str, Any], tell: Callable[[Progress], None]
) -> Checkpoint:
    """All iterations that are left; a checkpoint every few seconds, when interrupted, and at the end."""
    advance, key = _chunks(run.sampler), jax.random.key(run.seed)
    look = jax.jit(lambda state: run.target.values(run.sampler.draw(key, state, run.particles)))
    stages = sorted({round(s) for s in np.linspace(0, run.iterations, STAGES + 1)})
    length, saved, info, last = 1, None, {}, time.perf_counter()
    with _interruptible() as stopped:
        while True:
            now, before, halt = checkpoint.iteration, time.perf_counter(), stopped()  # asked once: what halts is saved
            if now in stages and now not in checkpoint.trail:
                checkpoint.trail[now] = np.asarray(look(checkpoint.state))
            done = now >= run.iterations
            if run.folder and (done or halt or before - last > SAVE_EVERY or saved is None):
                saved, last = _saved(checkpoint, prints, run.folder, saved), before
            tell(Progress(run.method.name, now, run.iterations, info, checkpoint.seconds, saved))
            if done:
                return checkpoint
            if halt:
                raise Interrupted(_farewell(run, now))
            count = min(length, min(s for s in stages if s > now) - now)
            state, table = advance(key, checkpoint.state, now, count)
            info = {name: float(numbers[-1]) for name, numbers in table.items()}
            seconds = time.perf_counter() - before
            checkpoint = Checkpoint(
                now + count, state, _longer(checkpoint.history, table), checkpoint.trail, checkpoint.seconds + seconds
            )
            _alive(run, now, info)
            length = CHUNK if now == 0 else int(np.clip(BREATH * count / max(seconds, 1e-6), 1, CHUNK))


def _chunks(sampler: Sampler) -> Callable[[Array, Any, int, int], tuple[Any, dict[str, np.ndarray]]]:
    """So many iterations from a given one, and what each of them said."""

    def one_by_one(key: Array, state: Any, first: int, count: int) -> tuple[Any, dict[str, np.ndarray]]:
        rows = []
        for i in range(first, first + count):
            state, info = sampler.step(jax.random.fold_in(key, i + 1), state)
            rows.append(info)
        return state, {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}

    @jax.jit
    def together(key: Array, state: Any, first: Array, count: Array) -> tuple[Any, dict[str, Array]]:
        def body(i: Array, carry: tuple[Any, dict[str, Array]]) -> tuple[Any, dict[str, Array]]:
            state, table = carry
            state, info = sampler.step(jax.random.fold_in(key, first + i + 1), state)
            return state, {name: table[name].at[i].set(number) for name, number in info.items()}

        said = jax.eval_shape(sampler.step, key, state)[1]
        return jax.lax.fori_loop(0, count, body, (state, {n: jnp.zeros(CHUNK, x.dtype) for n, x in said.items()}))

    def fused(key: Array, state: Any, first: int, count: int) -> tuple[Any, dict[str, np.ndarray]]:
        state, table = jax.block_until_ready(together(key, state, jnp.asarray(first), jnp.asarray(count)))
        return state, {name: np.asarray(numbers)[:count] for name, numbers in table.items()}

    return fused if sampler.traced else one_by_one


def _longer(history: dict[str, np.ndarray], table: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([history.get(name, numbers[:0]), numbers]) for name, numbers in table.items()}


def _alive(run: _Run, iteration: int, info: dict[str, float]) -> None:
    tries = run.sampler.tries or run.particles
    if iteration == 0 and info.get("lost", 0.0) >= tries:
        values = np.asarray(run.target.values(jnp.asarray(run.target.starts(1))))[0]
        listed = ", ".join(f"{n} = {v:.3g}" for n, v in zip(run.target.names, values, strict=False))
        raise ValueError(
            f"the log-likelihood is not finite at any of the {tries} starts, such as {listed}; narrow the "
            "limits to values that can exist, shorten the timestep, or use more windows."
        )


def _saved(checkpoint: Checkpoint, prints: dict[str, Any], folder: Path, before: int | None) -> int | None:
    """The iteration that is safe on disk now: a full disk costs the new checkpoint, not the run or the old one."""
    try:
        checkpoints.save(checkpoint, prints, folder)
    except OSError as error:
        warnings.warn(
            f"no checkpoint could be written to {folder} ({error.strerror}); the run goes on, and tries again later.",
            stacklevel=2,
        )
        return before
    return checkpoint.iteration


def _farewell(run: _Run, iteration: int) -> str:
    if run.folder is None:
        return f"stopped at iteration {iteration:,} of {run.iterations:,}; without a directory nothing is kept."
    return (
        f"stopped at iteration {iteration:,} of {run.iterations:,}; `plausim resume {run.folder}` goes on from there."
    )


def _posterior(run: _Run, checkpoint: Checkpoint, count: int) -> Posterior:
    """The draws, what they are worth, and what they predict."""
    target, key = run.target, jax.random.fold_in(jax.random.key(run.seed), run.iterations + 1)
    points = run.sampler.draw(key, checkpoint.state, count)
    logdensity, gaps = jax.jit(jax.vmap(target.evaluate))(points)
    ends = np.stack([np.asarray(target.values(jnp.asarray(end[None])))[0] for end in _box(target)], 1)
    stages = tuple(sorted(checkpoint.trail))
    return Posterior(
        names=target.names[: target.parameters],
        units=target.units,
        limits=ends,
        values=np.asarray(target.values(points)),
        logdensity=np.asarray(logdensity),
        gaps=np.max(np.abs(np.asarray(gaps)), axis=1, initial=0.0),
        history=checkpoint.history,
        trail=np.array([checkpoint.trail[s] for s in stages]),
        stages=stages,
        predictions=_predictions(target, points),
        attributes=_fingerprint(run) | {"seconds": checkpoint.seconds},
        model=target.motion.model if target.motion else None,
    )


def _box(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the limits, with 0 where there are none."""
    return np.nan_to_num(target.lower, neginf=0.0), np.nan_to_num(target.upper, posinf=0.0)


def _predictions(target: Target, points: Points) -> Predictions | None:
    seen = target.motion
    if seen is None:
        return None
    predicted = np.asarray(jax.jit(jax.vmap(seen.predict))(points))
    return Predictions(seen.recordings, seen.channels, seen.time, seen.observed, seen.known, predicted)


def _kept(posterior: Posterior, folder: Path) -> None:
    try:
        results.write(posterior, folder / FILE)
    except OSError as error:
        raise OSError(
            f"the result could not be written to {folder} ({error.strerror or error}); the last checkpoint there is "
            f"whole: make room, and `plausim resume {folder}` goes on from it."
        ) from None


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Whether ctrl-C was pressed: the first time it is only noted, the second time it stops at once."""
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        if pressed and callable(before):
            before(number, frame)
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
