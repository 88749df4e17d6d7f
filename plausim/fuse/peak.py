"""How fast this machine's vector units are: a measured number, to hold estimates against."""

import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

from . import native
from .ir import Writer

_CHAINS, _TURNS = 20, 200_000  # independent sums that hide the latency of an addition; turns of the loop


def lanes_of(kind: str) -> int:
    """How many numbers of a kind fill a vector."""
    return native.vector_bytes() // (8 if kind.endswith("64") else 4)


@functools.cache
def vector_operations_per_second(kind: str) -> float:
    """Fused multiply-adds of whole vectors on one core, by a loop that does nothing else."""
    target = native.register(f"peak {kind} {_CHAINS} {_TURNS}", lambda: _loop(kind))

    @jax.jit
    def run(meta):
        return jax.ffi.ffi_call(
            target, jax.ShapeDtypeStruct((lanes_of(kind),), np.float64 if kind == "f64" else np.float32)
        )(meta)

    with jax.enable_x64(True):
        meta = jnp.asarray(np.array([1, 0, 1]))
        run(meta).block_until_ready()
        best = min(_seconds(lambda: run(meta).block_until_ready()) for _ in range(5))
    return _CHAINS * _TURNS / best


def _seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _loop(kind: str) -> str:
    w = Writer(lanes_of(kind))
    vector, chains = w.vector(kind), range(_CHAINS)
    factor, step = w.splat(kind, 0.999), w.splat(kind, 0.5)
    w.line("%out = load ptr, ptr %rets\n  br label %loop\nloop:\n  %t = phi i64 [0, %entry], [%tn, %loop]")
    for i in chains:
        w.line(f"%x{i} = phi {vector} [{w.splat(kind, i)}, %entry], [%y{i}, %loop]")
    for i in chains:
        w.line(f"%y{i} = call {vector} @llvm.fma.v{w.lanes}{kind}({vector} %x{i}, {vector} {factor}, {vector} {step})")
    w.line(f"%tn = add i64 %t, 1\n  %more = icmp slt i64 %tn, {_TURNS}\n  br i1 %more, label %loop, label %done\ndone:")
    total = "%y0"
    for i in chains[1:]:
        total = w.binary("fadd", kind, total, f"%y{i}")
    w.line(f"store {vector} {total}, ptr %out, align 4")
    body = "\n".join(w.lines)
    declared = f"declare {vector} @llvm.fma.v{w.lanes}{kind}({vector}, {vector}, {vector})"
    attributes = native.attributes()
    head = f"define void @block(ptr %args, ptr %rets, i64 %index, ptr %scratch) {attributes} {{"
    return f"{head}\nentry:\n{body}\n  ret void\n}}\n{declared}\n"
