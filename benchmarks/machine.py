"""What the numbers were measured on: processor, versions, and how many fused multiply-adds a second it reaches."""

import ctypes
import datetime
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from benchmarks import native
from benchmarks.native import Unavailable

PACKAGES = ("jax", "jaxlib", "llvmlite", "numpy", "mujoco", "mujoco-mjx", "casadi")


def processors() -> list[int]:
    """The ones this process may use."""
    return sorted(os.sched_getaffinity(0))


def processor_name() -> str:
    """As /proc/cpuinfo has it, with family and model: the name alone may say little."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    entries = {}
    for line in lines:
        key, _, value = line.partition(":")
        entries[key.strip()] = value.strip()
    return "{model name} (family {cpu family}, model {model})".format_map(defaultdict(lambda: "?", entries))


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def describe() -> dict:
    """Processor, cores, versions, date."""
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor_name(),
        "cores": len(processors()),
        "load before": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
        "gcc": native.gcc_version(),
    }


def fma_peak(threads: int, kind: str = "float") -> float:
    """Fused multiply-adds a second on so many threads, one per vector element: the best of a few short loops."""
    library = native.load("fma_peak.c", f"-DREAL={kind}")
    library.fma_rate.restype = ctypes.c_double
    return max(library.fma_rate(ctypes.c_int(threads)) for _ in range(5))


def run_module(module: str, *arguments: str, threads: int | None = None, environment: Mapping[str, str] = {}) -> str:
    """The output of `python -m module` in a process of its own; with threads=1, bound to one processor.

    JAX reads its thread settings when it starts, so they are set from outside: XLA sizes its pool by the processors
    that the process may use, and the flag keeps Eigen from splitting one operation over threads.
    """
    chosen = processors()[: threads or None]
    variables = os.environ | {"JAX_PLATFORMS": "cpu", "OMP_WAIT_POLICY": "passive"} | dict(environment)
    if threads == 1:
        variables["XLA_FLAGS"] = variables.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=variables,
        cwd=Path(__file__).parent.parent,
        preexec_fn=lambda: os.sched_setaffinity(0, chosen),
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"python -m {module} {' '.join(arguments)} ended with {done.returncode}")
    return done.stdout
