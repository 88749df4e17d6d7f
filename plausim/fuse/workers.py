"""Blocks of a kernel on many threads, in LLVM IR: the part of the launcher that knows no call frame.

    ptr @run(ptr %api, ptr %context, ptr %args, ptr %rets, ptr %meta)     null, or the XLA_FFI_Error
    ptr @fail(ptr %api, i32 %code, ptr %message)                          makes an XLA_FFI_Error

Why it cannot deadlock: the calling thread takes blocks as well, from the counter that all share, and waits only for
blocks that somebody is running. A helper that comes too late finds the counter at its end and leaves, without a look
at operands that may be gone; the job record outlives the call for it, and the last one to leave frees it.
"""

import platform
import sys

from . import abi

_MESSAGES = {
    "meta": "plausim: operand 0 of a fused kernel must be a vector of at least 3 integers (s64 or s32).",
    "memory": "plausim: no memory for a fused kernel to work in; lower PLAUSIM_FUSE_MEMORY or PLAUSIM_FUSE_THREADS.",
}

# The job: two counters on cache lines of their own, since all workers write them; then what nobody changes.
_JOB = "%job = type { i64, [7 x i64], i64, [7 x i64], i64, i64, i64, ptr, ptr }"
_JOB_BYTES = 168
_NEXT, _DONE, _REFERENCES, _BLOCKS, _SCRATCH, _ARGS, _RETS = 0, 2, 4, 5, 6, 7, 8


def ir(header: abi.Header) -> str:
    """`@run`, `@fail` and what they call; the module must also get a `@block`."""
    run = _RUN.format(
        job_bytes=_JOB_BYTES,
        exhausted=abi.constant(header, "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED"),
        done=_member(_DONE, "done"),
        references=_member(_REFERENCES, "references"),
        blocks_at=_member(_BLOCKS, "blocks.at"),
        scratch_at=_member(_SCRATCH, "bytes.at"),
        args_at=_member(_ARGS, "args.at"),
        rets_at=_member(_RETS, "rets.at"),
    )
    return "\n".join([_JOB, *_messages(), *_declarations(), _MEMORY, _worker(), _pool(header), run])


def _messages() -> list[str]:
    return [
        f'@message.{name} = private constant [{len(text) + 1} x i8] c"{text}\\00"' for name, text in _MESSAGES.items()
    ]


def _declarations() -> list[str]:
    lines = ["declare void @block(ptr, ptr, i64, ptr)", "declare ptr @malloc(i64)", "declare void @free(ptr)"]
    lines.append("declare i64 @llvm.umin.i64(i64, i64)")
    lines.append(f"declare i32 {_yield()}()")
    return [*lines, *filter(None, [_pause()[0]])]


def _yield() -> str:
    return "@SwitchToThread" if sys.platform == "win32" else "@sched_yield"


def _pause() -> tuple[str, str]:
    """(declaration, call) of the hint that a thread is spinning."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"
    if machine in ("aarch64", "arm64"):
        return "declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"
    return "", ""


def _member(index: int, name: str) -> str:
    """The address of a member of the job."""
    return f"%{name} = getelementptr %job, ptr %job, i64 0, i32 {index}"


# Aligned memory by plain malloc, so that one text serves Linux, macOS and Windows: what malloc gave is kept in the
# eight bytes before the aligned address. No scratch is a null pointer, which is not a failure: hence two results.
_MEMORY = """
define internal { ptr, i1 } @scratch.get(i64 %bytes) nounwind {
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %nothing, label %get
nothing:
  ret { ptr, i1 } { ptr null, i1 true }
get:
  %padded = add i64 %bytes, 72
  %raw = call ptr @malloc(i64 %padded)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %nomemory, label %align
nomemory:
  ret { ptr, i1 } { ptr null, i1 false }
align:
  %address = ptrtoint ptr %raw to i64
  %beyond = add i64 %address, 71
  %aligned = and i64 %beyond, -64
  %scratch = inttoptr i64 %aligned to ptr
  %slot = getelementptr i8, ptr %scratch, i64 -8
  store ptr %raw, ptr %slot
  %half = insertvalue { ptr, i1 } poison, ptr %scratch, 0
  %both = insertvalue { ptr, i1 } %half, i1 true, 1
  ret { ptr, i1 } %both
}

define internal void @scratch.release(ptr %scratch) nounwind {
  %none = icmp eq ptr %scratch, null
  br i1 %none, label %end, label %give
give:
  %slot = getelementptr i8, ptr %scratch, i64 -8
  %raw = load ptr, ptr %slot
  call void @free(ptr %raw)
  br label %end
end:
  ret void
}
"""


def _worker() -> str:
    """`@work` runs blocks until none is left; `@helper` is the task for the pool; `@leave` drops a reference."""
    return f"""
define internal void @work(ptr %job, ptr %scratch) nounwind {{
  {_member(_NEXT, "next")}
  {_member(_DONE, "done")}
  {_member(_BLOCKS, "blocks.at")}
  {_member(_ARGS, "args.at")}
  {_member(_RETS, "rets.at")}
  %blocks = load i64, ptr %blocks.at
  br label %take
take:
  %ran = phi i64 [ 0, %0 ], [ %ran.now, %run ]
  %index = atomicrmw add ptr %next, i64 1 monotonic
  %some = icmp ult i64 %index, %blocks
  br i1 %some, label %run, label %finish
run:
  %args = load ptr, ptr %args.at
  %rets = load ptr, ptr %rets.at
  call void @block(ptr %args, ptr %rets, i64 %index, ptr %scratch) noinline
  %ran.now = add i64 %ran, 1
  br label %take
finish:
  %before = atomicrmw add ptr %done, i64 %ran release
  ret void
}}

define internal void @helper(ptr %job) nounwind {{
  {_member(_NEXT, "next")}
  {_member(_BLOCKS, "blocks.at")}
  {_member(_SCRATCH, "bytes.at")}
  %taken = load atomic i64, ptr %next monotonic, align 8
  %blocks = load i64, ptr %blocks.at
  %late = icmp uge i64 %taken, %blocks
  br i1 %late, label %end, label %equip
equip:
  %bytes = load i64, ptr %bytes.at
  %got = call {{ ptr, i1 }} @scratch.get(i64 %bytes)
  %scratch = extractvalue {{ ptr, i1 }} %got, 0
  %good = extractvalue {{ ptr, i1 }} %got, 1
  br i1 %good, label %join, label %end
join:
  call void @work(ptr %job, ptr %scratch)
  call void @scratch.release(ptr %scratch)
  br label %end
end:
  call void @leave(ptr %job, i64 1)
  ret void
}}

define internal void @leave(ptr %job, i64 %count) nounwind {{
  {_member(_REFERENCES, "references")}
  %before = atomicrmw sub ptr %references, i64 %count acq_rel
  %last = icmp eq i64 %before, %count
  br i1 %last, label %discard, label %end
discard:
  call void @free(ptr %job)
  br label %end
end:
  ret void
}}

define internal void @wait(ptr %job) nounwind {{
  {_member(_DONE, "done.at")}
  {_member(_BLOCKS, "blocks.at")}
  %blocks = load i64, ptr %blocks.at
  br label %look
look:
  %spins = phi i64 [ 0, %0 ], [ %more, %spin ], [ %spins, %yield ]
  %done = load atomic i64, ptr %done.at acquire, align 8
  %all = icmp uge i64 %done, %blocks
  br i1 %all, label %end, label %again
again:
  %patient = icmp ult i64 %spins, 1000
  br i1 %patient, label %spin, label %yield
spin:
  {_pause()[1]}
  %more = add i64 %spins, 1
  br label %look
yield:
  %yielded = call i32 {_yield()}()
  br label %look
end:
  ret void
}}
"""


def _arguments(header: abi.Header, struct: str, fields: dict[str, str]) -> str:
    """Fill the argument struct %call of an XLA function; `fields` maps a field to the typed value it gets."""
    values = {"struct_size": f"i64 {abi.size(header, struct)}", "extension_start": "ptr null", **fields}
    lines = []
    for name, value in values.items():
        lines.append(f"  %call.{name} = getelementptr i8, ptr %call, i64 {abi.offset(header, f'{struct}.{name}')}")
        lines.append(f"  store {value}, ptr %call.{name}")
    return "\n".join(lines)


def _function(header: abi.Header, name: str) -> str:
    """Load the address of an XLA function into %function."""
    return (
        f"  %function.at = getelementptr i8, ptr %api, i64 {abi.offset(header, f'XLA_FFI_Api.{name}')}\n"
        f"  %function = load ptr, ptr %function.at"
    )


def _room(header: abi.Header, struct: str) -> str:
    return f"  %call = alloca [{abi.size(header, struct)} x i8], align 8"


def _pool(header: abi.Header) -> str:
    """XLA's functions as calls that cannot fail: an error of theirs is destroyed and means "no helpers"."""
    threads, schedule, destroy, create = (
        f"XLA_FFI_{name}" for name in ("ThreadPool_NumThreads", "ThreadPool_Schedule", "Error_Destroy", "Error_Create")
    )
    return f"""
define internal void @forget(ptr %api, ptr %error) nounwind {{
{_room(header, destroy + "_Args")}
{_arguments(header, destroy + "_Args", {"error": "ptr %error"})}
{_function(header, destroy)}
  call void %function(ptr %call)
  ret void
}}

define internal ptr @fail(ptr %api, i32 %code, ptr %message) nounwind {{
{_room(header, create + "_Args")}
{_arguments(header, create + "_Args", {"message": "ptr %message", "errc": "i32 %code"})}
{_function(header, create)}
  %error = call ptr %function(ptr %call)
  ret ptr %error
}}

define internal i64 @threads(ptr %api, ptr %context) nounwind {{
{_room(header, threads + "_Args")}
  %count.at = alloca i64
  store i64 1, ptr %count.at
{_arguments(header, threads + "_Args", {"ctx": "ptr %context", "num_threads": "ptr %count.at"})}
{_function(header, threads)}
  %error = call ptr %function(ptr %call)
  %good = icmp eq ptr %error, null
  br i1 %good, label %known, label %unknown
known:
  %count = load i64, ptr %count.at
  ret i64 %count
unknown:
  call void @forget(ptr %api, ptr %error)
  ret i64 1
}}

define internal i1 @schedule(ptr %api, ptr %context, ptr %job) nounwind {{
{_room(header, schedule + "_Args")}
{_arguments(header, schedule + "_Args", {"ctx": "ptr %context", "task": "ptr @helper", "data": "ptr %job"})}
{_function(header, schedule)}
  %error = call ptr %function(ptr %call)
  %good = icmp eq ptr %error, null
  br i1 %good, label %end, label %refused
refused:
  call void @forget(ptr %api, ptr %error)
  br label %end
end:
  ret i1 %good
}}
"""


# Without helpers the job lives on the stack, and its one reference is never dropped.
_RUN = """
define internal ptr @run(ptr %api, ptr %context, ptr %args, ptr %rets, ptr %meta) nounwind {{
  %blocks = load i64, ptr %meta
  %meta.1 = getelementptr i64, ptr %meta, i64 1
  %bytes = load i64, ptr %meta.1
  %meta.2 = getelementptr i64, ptr %meta, i64 2
  %limit = load i64, ptr %meta.2
  %alone = alloca %job, align 64
  %nothing = icmp slt i64 %blocks, 1
  br i1 %nothing, label %end, label %equip
equip:
  %got = call {{ ptr, i1 }} @scratch.get(i64 %bytes)
  %scratch = extractvalue {{ ptr, i1 }} %got, 0
  %good = extractvalue {{ ptr, i1 }} %got, 1
  br i1 %good, label %count, label %nomemory
nomemory:
  %error = call ptr @fail(ptr %api, i32 {exhausted}, ptr @message.memory)
  ret ptr %error
count:
  %unlimited = icmp slt i64 %limit, 1
  %wanted = select i1 %unlimited, i64 %blocks, i64 %limit
  %useful = call i64 @llvm.umin.i64(i64 %wanted, i64 %blocks)
  %many = icmp ugt i64 %useful, 1
  br i1 %many, label %ask, label %single
ask:
  %threads = call i64 @threads(ptr %api, ptr %context)
  %workers = call i64 @llvm.umin.i64(i64 %useful, i64 %threads)
  %helped = icmp ugt i64 %workers, 1
  br i1 %helped, label %share, label %single
share:
  %shared = call ptr @malloc(i64 {job_bytes})
  %unshared = icmp eq ptr %shared, null
  br i1 %unshared, label %single, label %fill
single:
  br label %fill
fill:
  %job = phi ptr [ %shared, %share ], [ %alone, %single ]
  %helpers.1 = phi i64 [ %workers, %share ], [ 1, %single ]
  {done}
  {references}
  {blocks_at}
  {scratch_at}
  {args_at}
  {rets_at}
  store i64 0, ptr %job
  store i64 0, ptr %done
  store i64 %helpers.1, ptr %references
  store i64 %blocks, ptr %blocks.at
  store i64 %bytes, ptr %bytes.at
  store ptr %args, ptr %args.at
  store ptr %rets, ptr %rets.at
  br label %more
more:
  %left = phi i64 [ %helpers.1, %fill ], [ %fewer, %wake ]
  %called = icmp eq i64 %left, 1
  br i1 %called, label %work, label %wake
wake:
  %woken = call i1 @schedule(ptr %api, ptr %context, ptr %job)
  %fewer = sub i64 %left, 1
  br i1 %woken, label %more, label %unhelped
unhelped:
  call void @leave(ptr %job, i64 %fewer)
  br label %work
work:
  call void @work(ptr %job, ptr %scratch)
  call void @scratch.release(ptr %scratch)
  call void @wait(ptr %job)
  %own = icmp eq ptr %job, %alone
  br i1 %own, label %end, label %depart
depart:
  call void @leave(ptr %job, i64 1)
  br label %end
end:
  ret ptr null
}}
"""
