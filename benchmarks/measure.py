"""One process that times contenders side by side: the same problems, in random order, several rounds, medians.

    python -m benchmarks.measure --threads 1 --lanes 1000

`rollout.py` and `figures.py` start it with the processors and flags that belong to `--threads`. The last line of its
output is JSON; what it is doing goes to stderr.
"""

import json
import math
import random
import statistics
import sys
import time
from typing import Annotated

import numpy as np
import typer

from benchmarks.contenders import CONTENDERS, Contender, truth
from benchmarks.native import Unavailable
from benchmarks.problems import Problem, Run, problem

SHORTEST = 0.02  # seconds: quicker calls are repeated until they last this long
CHECKED_LANES = 16
TOLERANCES = {"loss": 5e-3, "gradient": 2e-2}  # relative; of a gradient, to its largest entry


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def seconds_of(run: Run, repeats: int = 1) -> float:
    began = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - began) / repeats


def relative_differences(outcome, expected) -> dict[str, float]:
    """The largest over the lanes."""
    loss, gradient = (np.asarray(array, np.float64) for array in outcome)
    true_loss, true_gradient = (np.asarray(array) for array in expected)
    distance = np.abs(gradient - true_gradient).max(1) / np.abs(true_gradient).max(1)
    return {"loss": float(np.abs(loss / true_loss - 1).max()), "gradient": float(distance.max())}


def agreement(mechanism: str, names: list[str], threads: int) -> list[dict]:
    """How far each contender is from the truth. A contender that is wrong stops the benchmark."""
    checked = problem(mechanism, CHECKED_LANES, True, threads)
    expected, found = truth(checked), []
    for name in names:
        try:
            differences = relative_differences(CONTENDERS[name].prepare(checked)(), expected)
        except Unavailable as reason:
            say(f"{mechanism}, {name}: left out, {reason}")
            continue
        say(
            f"{mechanism}, {name}: loss differs by {differences['loss']:.1e}, gradient by {differences['gradient']:.1e}"
        )
        for what, tolerance in TOLERANCES.items():
            if not differences[what] <= tolerance:
                raise ValueError(
                    f"{name} on the {mechanism}: {what} differs by {differences[what]:.1e} > {tolerance:.1e}"
                )
        found.append({"mechanism": mechanism, "contender": name, **differences})
    return found


def prepared(contender: Contender, posed: Problem) -> tuple[Run, float]:
    """The contender, compiled and warm, and how long one call takes."""
    run = contender.prepare(posed)
    run()
    return run, seconds_of(run)


def timed(runs: dict[str, tuple[Run, float]], rounds: int, order: random.Random) -> dict[str, float]:
    """Medians over the rounds."""
    samples = {name: [] for name in runs}
    for _ in range(rounds):
        for name in order.sample(sorted(runs), len(runs)):
            run, about = runs[name]
            samples[name].append(seconds_of(run, max(1, math.ceil(SHORTEST / about))))
    return {name: statistics.median(times) for name, times in samples.items()}


def sweep(mechanism: str, names: list[str], gradient: bool, lanes: list[int], threads: int, rounds: int, limit: float):
    """Rows of results, from few lanes to many. A contender stays while the next size promises to end in time."""
    latest: dict[str, tuple[int, float]] = {}
    for size in sorted(lanes):
        posed = problem(mechanism, size, gradient, threads)
        runs = {}
        for name in names:
            known_size, seconds = latest.get(name, (size, 0.0))
            if seconds * size / known_size <= limit:
                runs[name] = prepared(CONTENDERS[name], posed)
        for name, seconds in timed(runs, rounds, random.Random(size)).items():
            latest[name] = size, seconds
            say(f"{mechanism}, {'gradient' if gradient else 'forward'}, {size:,} lanes, {name}: {seconds * 1e3:.3f} ms")
            yield {
                "mechanism": mechanism,
                "contender": name,
                "dtype": CONTENDERS[name].dtype,
                "gradient": gradient,
                "lanes": size,
                "steps": len(posed.reference),
                "threads": threads,
                "seconds": seconds,
                "rollouts per second": size / seconds,
            }


def main(
    threads: Annotated[int, typer.Option(help="how many this process was given")],
    mechanisms: Annotated[list[str] | None, typer.Option("--mechanism", help="the double pendulum if none")] = None,
    lanes: Annotated[list[int] | None, typer.Option(help="1000 if none")] = None,
    only: Annotated[list[str] | None, typer.Option(help="contenders; all if none")] = None,
    forward: Annotated[bool, typer.Option(help="also without the gradient")] = False,
    check: Annotated[bool, typer.Option(help="compare all with the truth first")] = True,
    rounds: Annotated[int, typer.Option()] = 5,
    limit: Annotated[float, typer.Option(help="seconds a call may take")] = 10.0,
) -> None:
    """Time the contenders and print the results as one line of JSON."""
    names = only or list(CONTENDERS)
    checks, rows = [], []
    for mechanism in mechanisms or ["double pendulum"]:
        here = names
        if check:
            checks += agreement(mechanism, names, threads)
            here = [row["contender"] for row in checks if row["mechanism"] == mechanism]
        for gradient in (True, False) if forward else (True,):
            rows += sweep(mechanism, here, gradient, lanes or [1000], threads, rounds, limit)
    print(json.dumps({"checks": checks, "rows": rows}))


if __name__ == "__main__":
    typer.run(main)
