"""The figures that inference promises, each measured and held against its bar.

    python -m benchmarks.inference --json inference.json

The double pendulum of the paper, 11 parameters, 100 particles, 10 windows of 40 steps: a whole run of 2,000 iterations
from the start of its process to the saved result, the kernels being in the disk cache; and iterations side by side,
with `fuse.scan` and with `jax.lax.scan`, in alternating processes. Few iterations of the latter are timed, not all.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.figures import ALTERNATIONS, Figure, at_least, at_most, held, last_line
from benchmarks.machine import run_module

ITERATIONS = 2000
TIMED = {"fuse": 300, "lax": 5}  # iterations in one loop


def process(what: str, *options: str, cache: str | None = None) -> dict[str, float]:
    """`benchmarks.inference_run` in a process of its own, on all processors."""
    environment = {"PLAUSIM_CACHE_DIR": cache} if cache else {}
    arguments = [what, *options, "--began", str(time.time())]
    return last_line(run_module("benchmarks.inference_run", *arguments, environment=environment))


def whole() -> Iterator[Figure]:
    """A run from start to saved result."""
    with tempfile.TemporaryDirectory() as folder:
        laps = [process("whole", "--iterations", str(ITERATIONS), cache=folder) for _ in range(1 + ALTERNATIONS)]
    first, again = laps[0], sorted(laps[1:], key=lambda lap: lap["saved"])
    middle = again[len(again) // 2]
    what = f"100 particles x 10 windows x 40 steps, {ITERATIONS:,} iterations of CSVGD"
    beside = {"first_run": first["saved"], "best": again[0]["saved"], "imported_at": middle["imported"],
              "target_at": middle["posed"], "iterations_with_compiling": middle["iterations"],
              "largest_gap": middle["gap"]}  # fmt: skip
    yield at_most(f"{what}: seconds from start to saved result, warm kernel cache", 8, middle["saved"], **beside)


def iterations() -> Iterator[Figure]:
    """One iteration, and what of it is not the kernel."""
    found: dict[str, list[dict[str, float]]] = {scan: [] for scan in TIMED}
    for _ in range(ALTERNATIONS):
        for scan, count in TIMED.items():
            found[scan].append(process("iteration", "--scan", scan, "--iterations", str(count)))
    fused, plain = (statistics.median(lap["iteration"] for lap in found[scan]) for scan in TIMED)
    numbers = {"fused_us": 1e6 * fused, "lax_us": 1e6 * plain}
    yield at_least("an iteration of the same loop with lax.scan, over fuse.scan's", 50, plain / fused, **numbers)
    outside = statistics.median(lap["outside"] for lap in found["fuse"])
    yield at_most("outside the kernel, 100 particles: microseconds of an iteration", 200, 1e6 * outside)


FIGURES: dict[str, Callable[[], Iterator[Figure]]] = {"whole": whole, "iterations": iterations}


def main(
    only: Annotated[list[str] | None, typer.Option(help=", ".join(FIGURES))] = None,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measure all figures, print the table, write JSON. Ends with 1 if a bar is missed."""
    held(FIGURES, only, json_file)


if __name__ == "__main__":
    typer.run(main)
