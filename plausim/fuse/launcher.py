"""The FFI handler, in LLVM IR: it reads XLA's call frame and spreads a kernel's blocks over XLA's thread pool.

The kernel, in a module of its own, defines

    void @block(ptr %args, ptr %rets, i64 %index, ptr %scratch)

`args` and `rets` point at the data pointers of the operands and the results, in their order; `index` counts the
blocks from 0; `scratch` is 64-byte aligned memory of the worker that runs the block, kept from one of its blocks to
the next within a call (null when no scratch is asked for).

Operand 0 is `meta`, a vector of at least three integers: the number of blocks, the scratch bytes of one worker, and
the most workers to use (0: as many as the pool has threads). The rest of it belongs to the kernel. The kernel always
sees 64-bit integers: JAX makes s32 out of them where x64 is off, so the handler widens that.
"""

import functools

from . import abi, workers


def ir(header: abi.Header) -> str:
    """The module with `ptr @handler(ptr %frame)`, for the FFI structs of this header."""
    at, number = functools.partial(abi.offset, header), functools.partial(abi.constant, header)
    return workers.ir(header) + _FRAME.format(
        data=at("XLA_FFI_Buffer.data"),
        dtype=at("XLA_FFI_Buffer.dtype"),
        rank=at("XLA_FFI_Buffer.rank"),
        dims=at("XLA_FFI_Buffer.dims"),
        api=at("XLA_FFI_CallFrame.api"),
        context=at("XLA_FFI_CallFrame.ctx"),
        nargs=at("XLA_FFI_CallFrame.args.size"),
        args=at("XLA_FFI_CallFrame.args.args"),
        nrets=at("XLA_FFI_CallFrame.rets.size"),
        rets=at("XLA_FFI_CallFrame.rets.rets"),
        extension=at("XLA_FFI_CallFrame.extension_start"),
        kind=at("XLA_FFI_Metadata_Extension.extension_base.type"),
        following=at("XLA_FFI_Metadata_Extension.extension_base.next"),
        metadata=at("XLA_FFI_Metadata_Extension.metadata"),
        major_at=at("XLA_FFI_Metadata.api_version.major_version"),
        minor_at=at("XLA_FFI_Metadata.api_version.minor_version"),
        traits=at("XLA_FFI_Metadata.traits"),
        major=number("XLA_FFI_API_MAJOR"),
        minor=number("XLA_FFI_API_MINOR"),
        is_metadata=number("XLA_FFI_Extension_Metadata"),
        s32=number("XLA_FFI_DataType_S32"),
        s64=number("XLA_FFI_DataType_S64"),
        invalid=number("XLA_FFI_Error_Code_INVALID_ARGUMENT"),
    )


_FRAME = """
define internal void @collect(ptr %buffers, i64 %count, ptr %out) nounwind {{
  br label %look
look:
  %i = phi i64 [ 0, %0 ], [ %next, %copy ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %copy, label %end
copy:
  %buffer.at = getelementptr ptr, ptr %buffers, i64 %i
  %buffer = load ptr, ptr %buffer.at
  %data.at = getelementptr i8, ptr %buffer, i64 {data}
  %data = load ptr, ptr %data.at
  %out.at = getelementptr ptr, ptr %out, i64 %i
  store ptr %data, ptr %out.at
  %next = add i64 %i, 1
  br label %look
end:
  ret void
}}

define internal ptr @execute(ptr %frame) nounwind {{
  %api.at = getelementptr i8, ptr %frame, i64 {api}
  %api = load ptr, ptr %api.at
  %context.at = getelementptr i8, ptr %frame, i64 {context}
  %context = load ptr, ptr %context.at
  %nargs.at = getelementptr i8, ptr %frame, i64 {nargs}
  %nargs = load i64, ptr %nargs.at
  %nrets.at = getelementptr i8, ptr %frame, i64 {nrets}
  %nrets = load i64, ptr %nrets.at
  %args.at = getelementptr i8, ptr %frame, i64 {args}
  %args = load ptr, ptr %args.at
  %rets.at = getelementptr i8, ptr %frame, i64 {rets}
  %rets = load ptr, ptr %rets.at
  %some = icmp sgt i64 %nargs, 0
  br i1 %some, label %first, label %invalid
first:
  %buffer = load ptr, ptr %args
  %rank.at = getelementptr i8, ptr %buffer, i64 {rank}
  %rank = load i64, ptr %rank.at
  %vector = icmp eq i64 %rank, 1
  br i1 %vector, label %measure, label %invalid
measure:
  %dims.at = getelementptr i8, ptr %buffer, i64 {dims}
  %dims = load ptr, ptr %dims.at
  %length = load i64, ptr %dims
  %enough = icmp sge i64 %length, 3
  br i1 %enough, label %gather, label %invalid
gather:
  %arg.data = alloca ptr, i64 %nargs
  call void @collect(ptr %args, i64 %nargs, ptr %arg.data)
  %ret.data = alloca ptr, i64 %nrets
  call void @collect(ptr %rets, i64 %nrets, ptr %ret.data)
  %meta = load ptr, ptr %arg.data
  %dtype.at = getelementptr i8, ptr %buffer, i64 {dtype}
  %dtype = load i32, ptr %dtype.at
  switch i32 %dtype, label %invalid [ i32 {s64}, label %start
                                      i32 {s32}, label %widen ]
widen:
  %wide = alloca i64, i64 %length
  store ptr %wide, ptr %arg.data
  br label %copy
copy:
  %i = phi i64 [ 0, %widen ], [ %next, %copy ]
  %narrow.at = getelementptr i32, ptr %meta, i64 %i
  %narrow = load i32, ptr %narrow.at
  %number = sext i32 %narrow to i64
  %wide.at = getelementptr i64, ptr %wide, i64 %i
  store i64 %number, ptr %wide.at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %length
  br i1 %more, label %copy, label %start
start:
  %numbers = phi ptr [ %meta, %gather ], [ %wide, %copy ]
  %result = call ptr @run(ptr %api, ptr %context, ptr %arg.data, ptr %ret.data, ptr %numbers)
  ret ptr %result
invalid:
  %error = call ptr @fail(ptr %api, i32 {invalid}, ptr @message.meta)
  ret ptr %error
}}

define ptr @handler(ptr %frame) nounwind {{
  %extension.at = getelementptr i8, ptr %frame, i64 {extension}
  br label %look
look:
  %from = phi ptr [ %extension.at, %0 ], [ %following, %other ]
  %extension = load ptr, ptr %from
  %none = icmp eq ptr %extension, null
  br i1 %none, label %execute, label %inspect
inspect:
  %kind.at = getelementptr i8, ptr %extension, i64 {kind}
  %kind = load i32, ptr %kind.at
  %asked = icmp eq i32 %kind, {is_metadata}
  br i1 %asked, label %answer, label %other
other:
  %following = getelementptr i8, ptr %extension, i64 {following}
  br label %look
answer:
  %metadata.at = getelementptr i8, ptr %extension, i64 {metadata}
  %metadata = load ptr, ptr %metadata.at
  %major.at = getelementptr i8, ptr %metadata, i64 {major_at}
  store i32 {major}, ptr %major.at
  %minor.at = getelementptr i8, ptr %metadata, i64 {minor_at}
  store i32 {minor}, ptr %minor.at
  %traits.at = getelementptr i8, ptr %metadata, i64 {traits}
  store i32 0, ptr %traits.at
  ret ptr null
execute:
  %result = call ptr @execute(ptr %frame)
  ret ptr %result
}}
"""
