"""Kernels of a few instructions, whose results are known in closed form, called as XLA calls them."""

import ctypes
import os
import shutil
import subprocess
import sys
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from plausim.fuse import abi, native, workers

PROLOGUE = """
  %x.at = getelementptr ptr, ptr %args, i64 1
  %x = load ptr, ptr %x.at
  %y = load ptr, ptr %rets
  %xi = getelementptr float, ptr %x, i64 %index
  %yi = getelementptr float, ptr %y, i64 %index
"""


def kernel(body, module=""):
    """A kernel on floats; `body` sees the block's own elements %xi of operand 1 and %yi of result 0."""
    return f"{module}\ndefine void @block(ptr %args, ptr %rets, i64 %index, ptr %scratch) {{{PROLOGUE}{body}\n}}"


DOUBLE = kernel("""
  %v = load float, ptr %xi
  %w = fadd float %v, %v
  store float %w, ptr %yi
  ret void""")

# Each block draws the next number of one sequence for all calls: a block that ran twice or never leaves a gap.
TICKET = kernel(
    """
  %n = atomicrmw add ptr @drawn, i32 1 monotonic
  store i32 %n, ptr %yi
  ret void""",
    "@drawn = internal global i32 0",
)

# A running sum, kept in the worker's scratch: with one worker it is the cumulative sum.
SUM = kernel("""
  %first = icmp eq i64 %index, 0
  br i1 %first, label %start, label %add
start:
  store float 0.0, ptr %scratch
  br label %add
add:
  %before = load float, ptr %scratch
  %v = load float, ptr %xi
  %sum = fadd float %before, %v
  store float %sum, ptr %scratch
  store float %sum, ptr %yi
  ret void""")

# Fill the scratch with the block's number, look at it again much later: another worker must not have written there.
PRIVATE = kernel("""
  %number = uitofp i64 %index to float
  %address = ptrtoint ptr %scratch to i64
  %low = and i64 %address, 63
  %unaligned = uitofp i64 %low to float
  br label %fill
fill:
  %i = phi i64 [ 0, %0 ], [ %j, %fill ]
  %at = getelementptr float, ptr %scratch, i64 %i
  store volatile float %number, ptr %at
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, 4096
  br i1 %more, label %fill, label %check
check:
  %found = load volatile float, ptr %scratch
  %last = load volatile float, ptr %at
  %twice = fadd float %found, %last
  %half = fmul float %twice, 0.5
  %sum = fadd float %half, %unaligned
  store float %sum, ptr %yi
  ret void""")

LIBM = kernel(
    """
  %v = load float, ptr %xi
  %s = call float @erff(float %v)
  %c = call float @llvm.cos.f32(float %s)
  store float %c, ptr %yi
  ret void""",
    "declare float @erff(float)\ndeclare float @llvm.cos.f32(float)",
)

BLOCKS = [0, 1, 2, 3, 10_000]
LIMITS = [0, 1, 2, 100]


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PLAUSIM_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kernels"))


def register(ir):
    return native.register(ir, lambda: ir)


def call(ir, x, limit=0, scratch=0, dtype=None, meta_type: type = np.int32):
    meta = np.array([x.size, scratch, limit], meta_type)
    return jax.ffi.ffi_call(register(ir), jax.ShapeDtypeStruct(x.shape, dtype or x.dtype))(meta, x)


def numbers(n):
    return jnp.asarray(np.random.default_rng(0).integers(-99, 99, n).astype(np.float32))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("blocks", BLOCKS)
def test_every_block_writes_its_result(blocks, limit):
    x = numbers(blocks)
    assert_array_equal(jax.jit(lambda x: call(DOUBLE, x, limit))(x), 2 * x)


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("blocks", BLOCKS[1:])
def test_every_block_runs_once(blocks, limit):
    drawn = jax.jit(lambda x: call(TICKET, x, limit, dtype=jnp.int32))
    first, second = (np.sort(drawn(numbers(blocks))) for _ in range(2))
    assert_array_equal(first, first[0] + np.arange(blocks))
    assert_array_equal(second, first + blocks)


def test_scratch_is_kept_from_block_to_block():
    x = numbers(1000)
    assert_array_equal(jax.jit(lambda x: call(SUM, x, limit=1, scratch=4))(x), np.cumsum(x))


@pytest.mark.parametrize("limit", LIMITS)
def test_scratch_is_aligned_and_private(limit):
    x = numbers(2000)
    assert_array_equal(jax.jit(lambda x: call(PRIVATE, x, limit, scratch=4 * 4096))(x), np.arange(2000))


def test_inside_a_loop():
    x = jnp.ones(8, np.float32)
    doubled = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, x: call(DOUBLE, x), x))(x)
    assert_array_equal(doubled, np.full(8, 2.0**100))


def test_from_several_threads_at_once():
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 300, lambda i, x: call(DOUBLE, x) - x + 1, x))
    results = {}

    def run(number):
        results[number] = np.asarray(f(jnp.full(64, number, np.float32)))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for number in range(8):
        assert_array_equal(results[number], np.full(64, number + 300.0))


def test_calls_libm():
    x = jnp.linspace(-2, 2, 101, dtype=np.float32)
    assert np.abs(jax.jit(lambda x: call(LIBM, x))(x) - jnp.cos(jax.scipy.special.erf(x))).max() < 1e-6


def test_meta_may_have_64_bits():
    with jax.enable_x64(True):
        x = numbers(100)
        assert_array_equal(jax.jit(lambda x: call(DOUBLE, x, meta_type=np.int64))(x), 2 * x)


def test_a_wide_vector_stays_whole():
    """The attributes of `native.WIDE` keep LLVM from splitting a vector in halves."""
    if native.vector_bytes() < 64:
        pytest.skip("this host has no 64-byte vectors")
    ir = (
        f"define <16 x float> @f(<16 x float> %x) {native.WIDE} {{ %y = fadd <16 x float> %x, %x ret <16 x float> %y }}"
    )
    assembly = native._machine(2).emit_assembly(native._llvm().parse_assembly(ir))
    assert "zmm0" in assembly and "ymm" not in assembly


# Errors


def test_says_that_meta_is_wrong():
    for meta in (np.zeros(2, np.int32), np.zeros(3, np.float32), np.zeros((3, 3), np.int32)):
        with pytest.raises(Exception, match="operand 0 of a fused kernel must be a vector of at least 3 integers"):
            jax.ffi.ffi_call(register(DOUBLE), jax.ShapeDtypeStruct((4,), np.float32))(meta, jnp.ones(4, np.float32))


def test_says_that_memory_ran_out():
    with jax.enable_x64(True), pytest.raises(Exception, match="no memory for a fused kernel"):
        jax.block_until_ready(call(DOUBLE, jnp.ones(4, np.float32), scratch=2**60, meta_type=np.int64))


def test_names_the_unknown_function():
    with pytest.raises(ValueError, match="calls no_such_function, which"):
        register(kernel("call void @no_such_function()\n ret void", "declare void @no_such_function()"))
    with pytest.raises(ValueError, match="must define @block"):
        register("define void @blok() { ret void }")


def test_wrong_ir_is_refused():
    with pytest.raises(RuntimeError, match="expected"):
        register("define nonsense")


# The handler against an API of our own, which can do what XLA's thread pool does but seldom


def answer(schedule, threads, blocks=50):
    """Run TICKET by a call frame made here; returns the tickets (from 0), the errors destroyed."""
    header = abi.installed()
    room: dict[str, Any] = {
        name: ctypes.create_string_buffer(512) for name in ("frame", "api", "meta buffer", "x buffer", "y buffer")
    }
    pointers = {name: ctypes.addressof(buffer) for name, buffer in room.items()}

    def put(name, path, value):
        ctypes.c_int64.from_address(pointers[name] + abi.offset(header, path)).value = value

    meta, x, y = np.array([blocks, 64, 0]), np.zeros(blocks, np.float32), np.full(blocks, -1, np.int32)
    for name, array, dtype in (("meta buffer", meta, "S64"), ("x buffer", x, "F32"), ("y buffer", y, "S32")):
        dims = np.array(array.shape)
        room[name + " dims"] = dims
        put(name, "XLA_FFI_Buffer.data", array.ctypes.data)
        put(name, "XLA_FFI_Buffer.dtype", abi.constant(header, f"XLA_FFI_DataType_{dtype}"))
        put(name, "XLA_FFI_Buffer.rank", 1)
        put(name, "XLA_FFI_Buffer.dims", dims.ctypes.data)
    args, rets = np.array([pointers["meta buffer"], pointers["x buffer"]]), np.array([pointers["y buffer"]])
    for path, value in {
        "api": pointers["api"],
        "args.size": 2,
        "args.args": args.ctypes.data,
        "rets.size": 1,
        "rets.rets": rets.ctypes.data,
    }.items():
        put("frame", f"XLA_FFI_CallFrame.{path}", value)

    destroyed = []

    def field(struct, name, at):
        return ctypes.c_int64.from_address(at + abi.offset(header, f"{struct}.{name}"))

    def num_threads(at):
        if threads is None:
            return 77  # an error
        ctypes.c_int64.from_address(
            field("XLA_FFI_ThreadPool_NumThreads_Args", "num_threads", at).value
        ).value = threads
        return 0

    def submit(at):
        task, data = (field("XLA_FFI_ThreadPool_Schedule_Args", name, at).value for name in ("task", "data"))
        return schedule(lambda: ctypes.CFUNCTYPE(None, ctypes.c_void_p)(task)(data))

    def destroy(at):
        destroyed.append(field("XLA_FFI_Error_Destroy_Args", "error", at).value)
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    for name, python in {
        "ThreadPool_NumThreads": num_threads,
        "ThreadPool_Schedule": submit,
        "Error_Destroy": destroy,
    }.items():
        room[name] = function(python)
        put("api", f"XLA_FFI_Api.XLA_FFI_{name}", ctypes.cast(room[name], ctypes.c_void_p).value)
    handler = function(native._loaded[register(TICKET)][0]["handler"])
    assert handler(pointers["frame"]) == 0
    return np.sort(y) - y.min(), destroyed


def test_helpers_that_start_after_the_call_do_nothing():
    late = []
    tickets, destroyed = answer(lambda task: late.append(task) or 0, threads=5)
    assert_array_equal(tickets, np.arange(50))
    assert len(late) == 4 and not destroyed
    following, _ = answer(lambda task: 0, threads=1)
    for task in late:  # the operands are gone by now, and the record is freed by the last of them
        task()
    assert_array_equal(following, np.arange(50))


def test_helpers_that_run_inside_the_call():
    tickets, _ = answer(lambda task: task() or 0, threads=3)
    assert_array_equal(tickets, np.arange(50))


def test_helpers_on_threads():
    running = []

    def start(task):
        running.append(threading.Thread(target=task))
        running[-1].start()
        return 0

    for _ in range(50):
        assert_array_equal(answer(start, threads=4)[0], np.arange(50))
    for thread in running:
        thread.join(10)


@pytest.mark.parametrize("accepted", [0, 1, 2])
def test_goes_on_when_the_pool_refuses(accepted):
    asked = []

    def schedule(task):
        asked.append(task)
        if len(asked) > accepted:
            return 1234
        task()
        return 0

    tickets, destroyed = answer(schedule, threads=9)
    assert_array_equal(tickets, np.arange(50))
    assert destroyed == [1234] and len(asked) == accepted + 1


def test_goes_on_when_the_pool_has_no_number():
    tickets, destroyed = answer(lambda task: pytest.fail("nobody to ask for help"), threads=None)
    assert_array_equal(tickets, np.arange(50))
    assert destroyed == [77]


def test_never_more_helpers_than_blocks():
    asked = []
    answer(lambda task: asked.append(task) or 0, threads=64, blocks=3)
    assert len(asked) == 2
    for task in asked:
        task()


# The same in other processes


def elsewhere(program, *prefix, **environment):
    """Run a program in a fresh Python, with this file's kernels in sight; returns what it prints."""
    preamble = f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\nfrom test_native import *\n"
    done = subprocess.run(
        [*prefix, sys.executable, "-c", preamble + program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


CORRECT = "x = numbers(5000); assert (jax.jit(lambda x: call(PRIVATE, x, 0, 4 * 4096))(x) == np.arange(5000)).all()"


def test_names_are_stable_and_a_second_process_needs_no_ir():
    name = register(DOUBLE)
    program = "print(native.register(DOUBLE, lambda: pytest.fail('compiled again')))"
    assert elsewhere(program, PYTHONHASHSEED="1") == name


@pytest.mark.skipif(not shutil.which("taskset"), reason="taskset is not installed")
def test_on_one_cpu():
    elsewhere(CORRECT, "taskset", "-c", "0")


def test_on_a_pool_of_one_thread():
    elsewhere(CORRECT, NPROC="1")


def test_importing_does_not_load_llvm():
    elsewhere("assert not [name for name in sys.modules if name.startswith('llvmlite')]")


# The C header


def test_offsets_agree_with_the_c_compiler(tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler here")
    header = abi.installed()
    lines, expected = [], []
    for struct in (name for name in header.structs if name != "XLA_FFI_Handler_Bundle"):
        for field, (_, offset) in abi.layout(header, struct).fields.items():
            lines.append(f'printf("%zu\\n", offsetof({struct}, {field}));')
            expected.append(offset)
    source = '#include <stdio.h>\n#include "xla/ffi/api/c_api.h"\nint main() {\n' + "\n".join(lines) + "\nreturn 0; }"
    (tmp_path / "t.c").write_text(source.replace("sizeof(((struct", "sizeof((("))
    subprocess.run([compiler, "-I", jax.ffi.include_dir(), "t.c", "-o", "t"], cwd=tmp_path, check=True)
    assert [int(line) for line in subprocess.check_output([tmp_path / "t"], text=True).split()] == expected


def test_the_job_is_as_long_as_llvm_says():
    llvm = native._llvm()
    module = llvm.parse_assembly(f"{workers._JOB}\n@job = global %job zeroinitializer")
    kind = module.get_global_variable("job").global_value_type
    assert native._machine(0).target_data.get_abi_size(kind) == workers._JOB_BYTES


@pytest.mark.parametrize(
    "body, message",
    [
        ("size_t struct_size; void* data; __int128 dtype;", "dtype .* unknown type __int128"),
        ("size_t struct_size; void* data;", "has no field dtype"),
        ("size_t struct_size; int bits : 3;", "Cannot read the field `int bits : 3`"),
    ],
)
def test_says_what_it_does_not_find_in_the_header(body, message):
    with pytest.raises(abi.AbiError, match=message):
        abi.offset(abi.parse(f"struct XLA_FFI_Buffer {{ {body} }};"), "XLA_FFI_Buffer.dtype")
    with pytest.raises(abi.AbiError, match="no struct XLA_FFI_Nothing"):
        abi.offset(abi.parse(""), "XLA_FFI_Nothing.x")
    with pytest.raises(abi.AbiError, match="no constant XLA_FFI_API_MINOR"):
        abi.constant(abi.parse(""), "XLA_FFI_API_MINOR")
