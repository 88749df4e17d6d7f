"""What a call costs when there is almost nothing to compute: a fused scan of one step, and an empty FFI call, in jit.

python -m benchmarks.call_overhead
"""

import json
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp

from benchmarks import native
from plausim import fuse

CALLS, ROUNDS = 500, 21


def empty_call(x: jax.Array) -> jax.Array:
    """An array of x's shape with anything in it."""
    library = native.load("empty_call.c", f"-I{jax.ffi.include_dir()}")
    jax.ffi.register_ffi_target("benchmarks_empty_call", jax.ffi.pycapsule(library.empty_call), platform="cpu")
    return jax.ffi.ffi_call("benchmarks_empty_call", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def tiny_scan(x: jax.Array) -> jax.Array:
    """One step, four numbers."""
    return fuse.scan(lambda carry, _: (0.5 * carry, None), x, None, length=1)[0]


def chained(call: Callable) -> Callable:
    """CALLS calls in one program, each waiting for the one before."""
    return lambda x: jax.lax.fori_loop(0, CALLS, lambda _, carry: call(carry), x)


def alone(call: Callable, x: jax.Array) -> float:
    """Seconds of one call of a jitted function, Python's part included."""
    began = time.perf_counter()
    for _ in range(CALLS):
        call(x).block_until_ready()
    return (time.perf_counter() - began) / CALLS


def in_a_loop(call: Callable, x: jax.Array) -> float:
    """Seconds of one call inside a program of many."""
    began = time.perf_counter()
    call(x).block_until_ready()
    return (time.perf_counter() - began) / CALLS


def overheads() -> dict[str, float]:
    """Seconds a call, medians; the two kinds take turns."""
    x = jnp.ones(4)
    calls = {"empty": empty_call, "fused": tiny_scan}
    single = {name: jax.jit(call) for name, call in calls.items()}
    loops = {name: jax.jit(chained(call)) for name, call in calls.items()}
    samples: dict[str, list[float]] = {}
    for _ in range(ROUNDS + 1):
        for name in calls:
            samples.setdefault(f"{name}, alone", []).append(alone(single[name], x))
            samples.setdefault(f"{name}, in a loop", []).append(in_a_loop(loops[name], x))
    return {name: statistics.median(times[1:]) for name, times in samples.items()}  # the first round compiles


if __name__ == "__main__":
    print(json.dumps(overheads()))
