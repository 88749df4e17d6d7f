"""The figures that `fuse` promises, each measured and held against its bar.

    python -m benchmarks.figures --json figures.json
    python -m benchmarks.figures --only lanes

Ratios are of medians out of one process, except where one thread meets all: those processes alternate.
"""

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import CLOSED_FORM, FUSED, FUSED_WIDE, PLAIN
from benchmarks.fused import fused_operations
from benchmarks.machine import describe, processors, run_module
from benchmarks.mechanisms import MECHANISMS
from benchmarks.native import Unavailable
from benchmarks.operations import casadi_operations
from benchmarks.rollout import measure, repeated

ALTERNATIONS = 3


class Figure(NamedTuple):
    what: str
    bar: str
    measured: str
    passed: bool | None  # None: could not be measured
    numbers: Mapping[str, float]  # what the verdict was made of


def at_least(what: str, bar: float, value: float, **numbers: float) -> Figure:
    return Figure(what, f"at least {bar:g}", f"{value:.3g}", value >= bar, {"value": value, **numbers})


def at_most(what: str, bar: float, value: float, **numbers: float) -> Figure:
    return Figure(what, f"at most {bar:g}", f"{value:.3g}", value <= bar, {"value": value, **numbers})


def seconds(threads: int, names: list[str], lanes: list[int], *options: str) -> dict[tuple[str, int], float]:
    """(contender, lanes) -> seconds a call, with gradient."""
    arguments = [*repeated("--only", names), *repeated("--lanes", lanes), "--limit", "60", *options]
    return {(row["contender"], row["lanes"]): row["seconds"] for row in measure(threads, *arguments)["rows"]}


def pendulum() -> Iterator[Figure]:
    """Against plain JAX, against the best C, float64 against float32."""
    for threads in sorted({1, len(processors())}, reverse=True):
        found = seconds(threads, [FUSED, FUSED_WIDE, PLAIN, *CLOSED_FORM], [1000])
        fused, what = found[FUSED, 1000], f"double pendulum, gradient, 1,000 lanes, float32, {threads} thread(s)"
        rates = {"fused_per_second": 1000 / fused}
        yield at_least(f"{what}: over plain JAX", 800, found[PLAIN, 1000] / fused, **rates)
        rivals = [found[name, 1000] for name in CLOSED_FORM if (name, 1000) in found]
        if rivals:
            yield at_least(
                f"{what}: speed against the best C", 0.4, min(rivals) / fused, c_per_second=1000 / min(rivals)
            )
        yield at_least(f"{what}: float64 against it", 0.4, fused / found[FUSED_WIDE, 1000])


def operations() -> Iterator[Figure]:
    """No more than CasADi has."""
    for name in ("double pendulum", "arm with box"):
        mechanism = MECHANISMS[name]
        pairs = zip(fused_operations(mechanism), casadi_operations(mechanism), strict=True)
        for kind, (ours, theirs) in zip(("step", "adjoint"), pairs, strict=True):
            what, counts = f"{name}: operations of the {kind}", {"fused": ours.total, "casadi": theirs.total}
            yield Figure(what, f"at most {theirs} (CasADi)", str(ours), ours.total <= theirs.total, counts)


def arm() -> Iterator[Figure]:
    """Speed and compile time against plain JAX."""
    found = seconds(len(processors()), [FUSED, PLAIN], [64], "--mechanism", "arm with box")
    ratio = found[PLAIN, 64] / found[FUSED, 64]
    yield at_least("arm with box, gradient, 64 lanes: over plain JAX", 300, ratio, milliseconds=found[FUSED, 64] * 1e3)
    fused, plain = (stages("arm with box", scan, 64)["total"] for scan in (FUSED, PLAIN))
    yield at_most("arm with box: compile time over plain JAX's", 0.2, fused / plain, fused=fused, plain=plain)


def threads() -> Iterator[Figure]:
    """All threads over one, in alternating processes."""
    lanes, count = [1_000, 10_000], len(processors())
    if count == 1:
        raise Unavailable("one processor only")
    samples = []
    for _ in range(ALTERNATIONS):
        one, every = (seconds(number, [FUSED], lanes, "--no-check") for number in (1, count))
        samples.append([one[FUSED, size] / every[FUSED, size] for size in lanes])
    for size, ratios in zip(lanes, zip(*samples, strict=True), strict=True):
        bar = 1.7 if count == 2 else 0.85 * count
        yield at_least(f"{count} threads over one, {size:,} lanes", bar, statistics.median(ratios))


def lanes() -> Iterator[Figure]:
    """The time per lane and step stays flat."""
    sizes = [1_000, 10_000, 100_000]
    found = seconds(len(processors()), [FUSED], sizes, "--no-check")
    each = {f"lanes_{size}": found[FUSED, size] / size / 400 * 1e9 for size in sizes}
    spread = max(each.values()) / min(each.values())
    yield at_most("time per lane and step, 1,000 to 100,000 lanes: largest over smallest", 1.25, spread, **each)


def call() -> Iterator[Figure]:
    """The cost of a call."""
    cost = {name: 1e6 * value for name, value in last_line(run_module("benchmarks.call_overhead")).items()}
    for where in ("alone", "in a loop"):
        extra = cost[f"fused, {where}"] - cost[f"empty, {where}"]
        yield at_most(f"a tiny fused kernel over an empty FFI call, {where}: microseconds more", 10, extra, **cost)


def second_process() -> Iterator[Figure]:
    """From the call of fuse.scan to the first result, the kernels being in the disk cache."""
    with tempfile.TemporaryDirectory() as folder:
        laps = [stages("double pendulum", FUSED, 1000, folder) for _ in range(1 + ALTERNATIONS)]
    cold, warm = laps[0]["total"], statistics.median(lap["total"] for lap in laps[1:])
    tracing = statistics.median(
        last_line(run_module("benchmarks.compile_time", "double pendulum", "trace"))["total"]
        for _ in range(ALTERNATIONS)
    )
    what = "second process, warm disk cache, double pendulum"
    yield at_most(f"{what}: seconds to the first result", 0.5, warm, cold=cold)
    yield at_least(
        f"{what}: the part that is JAX tracing step and adjoint", 0.5, tracing / warm, tracing_seconds=tracing
    )


def tree() -> Iterator[Figure]:
    """A big mechanism, few lanes and steps: plain JAX takes minutes to compile it."""
    sizes = "--steps", "50"
    fused = stages("tree of 27", FUSED, 16, None, *sizes)
    yield at_most("a tree of 27 joints: seconds to compile", 60, fused["total"])
    plain = stages("tree of 27", PLAIN, 16, None, *sizes)
    ratio = plain["best run"] / fused["best run"]
    yield at_least("a tree of 27 joints, 16 lanes: over plain JAX", 50, ratio, plain_compile_seconds=plain["total"])


def last_line(output: str) -> dict[str, float]:
    return json.loads(output.splitlines()[-1])


def stages(mechanism: str, scan: str, lanes: int, cache: str | None = None, *options: str) -> dict[str, float]:
    """`benchmarks.compile_time` in a process of its own, with this cache folder or an empty one."""
    with tempfile.TemporaryDirectory() as empty:
        environment = {"PLAUSIM_CACHE_DIR": cache or empty}
        arguments = [mechanism, scan, "--lanes", str(lanes), *options]
        return last_line(run_module("benchmarks.compile_time", *arguments, environment=environment))


FIGURES: dict[str, Callable[[], Iterator[Figure]]] = {
    "pendulum": pendulum,
    "operations": operations,
    "arm": arm,
    "threads": threads,
    "lanes": lanes,
    "call": call,
    "second process": second_process,
    "tree": tree,
}


def main(
    only: Annotated[list[str] | None, typer.Option(help=", ".join(FIGURES))] = None,
    json_file: Annotated[Path | None, typer.Option("--json")] = None,
) -> None:
    """Measure all figures, print the table, write JSON. Ends with 1 if a bar is missed."""
    held(FIGURES, only, json_file)


def held(known: dict[str, Callable[[], Iterator[Figure]]], only: list[str] | None, json_file: Path | None) -> None:
    """Those asked for, or all; the table, JSON and the exit code say how they came out."""
    console, machine, figures = Console(), describe(), []
    console.print(machine)
    for name in only or known:
        try:
            figures += known[name]()
        except Unavailable as reason:
            figures.append(Figure(name, "", f"not measured: {reason}", None, {}))
    table = Table("what", "bar", "measured", "verdict", "beside")
    for figure in figures:
        verdict = {True: "pass", False: "FAIL", None: "-"}[figure.passed]
        beside = ", ".join(f"{key} {value:.4g}" for key, value in figure.numbers.items() if key != "value")
        table.add_row(figure.what, figure.bar, figure.measured, verdict, beside)
    console.print(table)
    if json_file:
        results = {"machine": machine, "figures": [figure._asdict() for figure in figures]}
        json_file.write_text(json.dumps(results, indent=1) + os.linesep)
    raise typer.Exit(any(figure.passed is False for figure in figures))


if __name__ == "__main__":
    typer.run(main)
