"""Rollouts per second, forward and with gradient, of everyone who can compute them, side by side.

    python -m benchmarks.rollout --quick
    python -m benchmarks.rollout --json results.json

One process measures on one processor, to which it is bound; another on all. Within each, contenders take turns in
random order and the medians of several rounds are kept. Sizes that would take a contender longer than `--limit` seconds
a call are left blank.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import CONTENDERS, FUSED, FUSED_WIDE, PLAIN
from benchmarks.fused import fused_operations
from benchmarks.machine import describe, fma_peak, processors, run_module
from benchmarks.mechanisms import MECHANISMS
from benchmarks.native import Unavailable

TIMED = ("double pendulum", "arm with box")
LANES = (1, 16, 100, 1_000, 10_000, 100_000)
QUICK_LANES, QUICK_CONTENDERS = (16, 1_000), [name for name in CONTENDERS if name != "MJX"]  # MJX compiles for a minute


def measure(threads: int, *arguments: str) -> dict:
    """The answer of `benchmarks.measure` in a process with so many processors."""
    output = run_module("benchmarks.measure", "--threads", str(threads), *arguments, threads=threads)
    return json.loads(output.splitlines()[-1])


def repeated(option: str, values) -> list[str]:
    """Command line arguments: the option once for each value."""
    return [word for value in values for word in (option, str(value))]


def compile_times(mechanism: str, lanes: int = 100) -> dict[str, dict[str, float]]:
    """Stages in seconds: fused with an empty cache, fused again in a second process, and plain JAX."""
    size = ["--lanes", str(lanes)]
    with tempfile.TemporaryDirectory() as empty:
        cache = {"PLAUSIM_CACHE_DIR": empty}
        outputs = {
            "fused, cold": run_module("benchmarks.compile_time", mechanism, FUSED, *size, environment=cache),
            "fused, warm": run_module("benchmarks.compile_time", mechanism, FUSED, *size, environment=cache),
            "plain JAX": run_module("benchmarks.compile_time", mechanism, PLAIN, *size),
        }
    return {name: json.loads(output.splitlines()[-1]) for name, output in outputs.items()}


def peaks(threads: list[int], console: Console) -> dict[str, float]:
    """Fused multiply-adds a second by number type and threads."""
    try:
        return {
            f"{dtype}, {count} threads": fma_peak(count, kind)
            for dtype, kind in (("float32", "float"), ("float64", "double"))
            for count in threads
        }
    except Unavailable as reason:
        console.print(f"no FMA peak: {reason}")
        return {}


def fused_counts(mechanism: str, console: Console) -> int | None:
    """Operations of a step with its adjoint, if fuse tells."""
    try:
        return sum(counts.total for counts in fused_operations(MECHANISMS[mechanism]))
    except Unavailable as reason:
        console.print(f"{mechanism}: no fraction of the FMA peak, {reason}")
        return None


def add_fractions(rows: list[dict], peak: dict[str, float], operations: dict[str, int | None]) -> None:
    """To the fused rows with gradient: operations a second over the measured peak, each counted as an FMA."""
    for row in rows:
        count, best = operations[row["mechanism"]], peak.get(f"{row['dtype']}, {row['threads']} threads")
        if row["gradient"] and row["contender"] in (FUSED, FUSED_WIDE) and count and best:
            row["fraction of FMA peak"] = count * row["rollouts per second"] * row["steps"] / best


def rate_table(rows: list[dict], mechanism: str, gradient: bool, threads: int) -> Table:
    """Contenders by lanes, rollouts per second."""
    kept = [
        row for row in rows if (row["mechanism"], row["gradient"], row["threads"]) == (mechanism, gradient, threads)
    ]
    lanes = sorted({row["lanes"] for row in kept})
    what = "with gradient" if gradient else "forward only"
    table = Table(title=f"{mechanism}, {what}, {threads} thread{'s' * (threads > 1)}: rollouts per second")
    table.add_column("lanes")
    for size in lanes:
        table.add_column(f"{size:,}", justify="right")
    for name in CONTENDERS:
        rates = {row["lanes"]: row["rollouts per second"] for row in kept if row["contender"] == name}
        if rates:
            table.add_row(name, *(f"{rates[size]:,.0f}" if size in rates else "" for size in lanes))
    fractions = {row["lanes"]: row.get("fraction of FMA peak") for row in kept if row["contender"] == FUSED}
    if any(fractions.values()):
        table.add_row("fused: fraction of FMA peak", *(f"{fractions.get(size) or 0:.2f}" for size in lanes))
    return table


def compile_table(times: dict[str, dict[str, dict[str, float]]]) -> Table:
    stages = ("trace", "lower", "compile", "first run", "total")
    table = Table("", *stages, title="from the call to the first result: seconds")
    for mechanism, kinds in times.items():
        for kind, laps in kinds.items():
            table.add_row(f"{mechanism}, {kind}", *(f"{laps[stage]:.2f}" for stage in stages))
    return table


def main(
    quick: Annotated[bool, typer.Option(help="two sizes, without MJX, about two minutes")] = False,
    lanes: Annotated[list[int] | None, typer.Option(help="sizes, in place of the usual ones")] = None,
    only: Annotated[list[str] | None, typer.Option(help="contenders by name")] = None,
    mechanism: Annotated[list[str] | None, typer.Option(help="mechanisms by name")] = None,
    rounds: Annotated[int, typer.Option()] = 7,
    limit: Annotated[float, typer.Option(help="seconds a call may take")] = 10.0,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measure, print tables, write JSON."""
    console = Console()
    machine = describe()
    console.print(machine)
    mechanisms = mechanism or TIMED[: 1 if quick else None]
    options = [
        *repeated("--lanes", lanes or (QUICK_LANES if quick else LANES)),
        *repeated("--only", only or (QUICK_CONTENDERS if quick else [])),
        *repeated("--mechanism", mechanisms),
        *("--forward", "--rounds", str(3 if quick else rounds), "--limit", str(min(limit, 4.0) if quick else limit)),
    ]
    threads = sorted({1, len(processors())})
    console.print(
        f"threads: 1 (a process bound to processor {processors()[0]}, XLA's Eigen single-threaded) and {threads[-1]}"
    )
    answers = [measure(count, *options) for count in threads]
    checks, rows = ([row for answer in answers for row in answer[key]] for key in ("checks", "rows"))
    peak = peaks(threads, console)
    add_fractions(rows, peak, {name: fused_counts(name, console) for name in mechanisms})
    compiling = {name: compile_times(name) for name in mechanisms}
    for name in mechanisms:
        for gradient in (True, False):
            for count in threads:
                console.print(rate_table(rows, name, gradient, count))
    console.print(compile_table(compiling))
    if json_file:
        results = {
            "machine": machine,
            "checks": checks,
            "rows": rows,
            "compile seconds": compiling,
            "FMA per second": peak,
        }
        json_file.write_text(json.dumps(results, indent=1) + os.linesep)


if __name__ == "__main__":
    typer.run(main)
