"""The loops around a kernel that never change, as LLVM IR: where a block's lanes stand in memory, and transposing.

In memory an array has its lanes first, as JAX keeps it; in a kernel the same number of all lanes is one vector.
`pack` brings the numbers of a block of lanes together, `unpack` puts them back. A last block that is not full
repeats its last lane, so that whatever happens in the lanes beyond happens in a real one too.

`meta`, the s64 operand every kernel has, holds: 0 blocks, 1 scratch bytes, 2 workers, 3 steps, 4 steps of a segment,
5 lanes of the innermost axis, 6.. the sizes of the other lane axes, then for each operand and result the bytes from
one lane to the next along the innermost axis, and along each of the others.
"""

BLOCKS, SCRATCH, WORKERS, STEPS, SEGMENT, INNER, OUTER = range(7)


def locate(lanes: int, axes: int, operands: int, results: int) -> str:
    """`@locate`: a block's address in every operand and result, then its number of lanes -> the head of scratch."""
    strides = OUTER + axes
    lines = [
        "define internal void @locate(ptr %args, ptr %rets, ptr %meta, i64 %index, ptr %scratch) {",
        f"  %pn = getelementptr i64, ptr %meta, i64 {INNER}",
        "  %n = load i64, ptr %pn",
        f"  %up = add i64 %n, {lanes - 1}",
        f"  %vectors = udiv i64 %up, {lanes}",
        "  %in = urem i64 %index, %vectors",
        "  %r0 = udiv i64 %index, %vectors",
        f"  %start = mul i64 %in, {lanes}",
        "  %left = sub i64 %n, %start",
        f"  %part = icmp slt i64 %left, {lanes}",
        f"  %count = select i1 %part, i64 %left, i64 {lanes}",
        f"  %pc = getelementptr i64, ptr %scratch, i64 {operands + results}",
        "  store i64 %count, ptr %pc",
    ]
    for a in range(axes):  # the last of the other axes runs fastest
        lines += [
            f"  %ps{a} = getelementptr i64, ptr %meta, i64 {OUTER + axes - 1 - a}",
            f"  %size{a} = load i64, ptr %ps{a}",
            f"  %at{a} = urem i64 %r{a}, %size{a}",
            f"  %r{a + 1} = udiv i64 %r{a}, %size{a}",
        ]
    for b in range(operands + results):
        table, place = ("%args", b + 1) if b < operands else ("%rets", b - operands)
        row = strides + b * (axes + 1)
        lines += [
            f"  %pd{b} = getelementptr ptr, ptr {table}, i64 {place}",
            f"  %d{b} = load ptr, ptr %pd{b}",
            f"  %pi{b} = getelementptr i64, ptr %meta, i64 {row}",
            f"  %i{b} = load i64, ptr %pi{b}",
            f"  %o{b}_0 = mul i64 %start, %i{b}",
        ]
        for a in range(axes):
            lines += [
                f"  %pt{b}_{a} = getelementptr i64, ptr %meta, i64 {row + axes - a}",
                f"  %t{b}_{a} = load i64, ptr %pt{b}_{a}",
                f"  %m{b}_{a} = mul i64 %at{a}, %t{b}_{a}",
                f"  %o{b}_{a + 1} = add i64 %o{b}_{a}, %m{b}_{a}",
            ]
        lines += [
            f"  %b{b} = getelementptr i8, ptr %d{b}, i64 %o{b}_{axes}",
            f"  %pb{b} = getelementptr ptr, ptr %scratch, i64 {b}",
            f"  store ptr %b{b}, ptr %pb{b}",
        ]
    return "\n".join([*lines, "  ret void", "}"])


def pack(lanes: int, size: int) -> str:
    """`@pack<size>`: n numbers of each lane, `stride` bytes from lane to lane -> n vectors."""
    number = f"i{8 * size}"
    return f"""
define internal void @pack{size}(ptr %target, ptr %source, i64 %n, i64 %stride, i64 %count) {{
entry:
  %last = sub i64 %count, 1
  br label %lane
lane:
  %l = phi i64 [0, %entry], [%l1, %next]
  %valid = icmp slt i64 %l, %count
  %from = select i1 %valid, i64 %l, i64 %last
  %offset = mul i64 %from, %stride
  %s = getelementptr i8, ptr %source, i64 %offset
  %t = getelementptr {number}, ptr %target, i64 %l
  br label %one
one:
  %i = phi i64 [0, %lane], [%i1, %one]
  %ps = getelementptr {number}, ptr %s, i64 %i
  %v = load {number}, ptr %ps
  %j = mul i64 %i, {lanes}
  %pt = getelementptr {number}, ptr %t, i64 %j
  store {number} %v, ptr %pt
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %one, label %next
next:
  %l1 = add i64 %l, 1
  %lanes = icmp slt i64 %l1, {lanes}
  br i1 %lanes, label %lane, label %done
done:
  ret void
}}"""


def unpack(lanes: int, size: int) -> str:
    """`@unpack<size>`: the way back, for the lanes that there are."""
    number = f"i{8 * size}"
    return f"""
define internal void @unpack{size}(ptr %target, ptr %source, i64 %n, i64 %stride, i64 %count) {{
entry:
  br label %lane
lane:
  %l = phi i64 [0, %entry], [%l1, %next]
  %offset = mul i64 %l, %stride
  %t = getelementptr i8, ptr %target, i64 %offset
  %s = getelementptr {number}, ptr %source, i64 %l
  br label %one
one:
  %i = phi i64 [0, %lane], [%i1, %one]
  %j = mul i64 %i, {lanes}
  %ps = getelementptr {number}, ptr %s, i64 %j
  %v = load {number}, ptr %ps
  %pt = getelementptr {number}, ptr %t, i64 %i
  store {number} %v, ptr %pt
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %one, label %next
next:
  %l1 = add i64 %l, 1
  %lanes = icmp slt i64 %l1, %count
  br i1 %lanes, label %lane, label %done
done:
  ret void
}}"""


def there_and_back(segment: int, step: int) -> str:
    """`@there_and_back`: a pass forward that keeps where each segment starts; then, from the last, each with its tape.

    `segment` and `step` are the bytes of a segment's start and of a step on the tape; the starts stand at `%store`, the
    tape of one segment behind them.
    """
    return f"""
define internal void @there_and_back(ptr %scratch, ptr %meta, i64 %steps, ptr %store) {{
entry:
  %plength = getelementptr i64, ptr %meta, i64 {SEGMENT}
  %length = load i64, ptr %plength
  %up = add i64 %steps, %length
  %up1 = sub i64 %up, 1
  %count = sdiv i64 %up1, %length
  %starts = mul i64 %count, {segment}
  %tape = getelementptr i8, ptr %store, i64 %starts
  %final = sub i64 %count, 1
  %none = icmp eq i64 %count, 0
  br i1 %none, label %nothing, label %there
nothing:
  call void @end(ptr %scratch, ptr %meta)
  ret void
there:
  %i = phi i64 [0, %entry], [%i1, %run]
  %oi = mul i64 %i, {segment}
  %si = getelementptr i8, ptr %store, i64 %oi
  call void @keep(ptr %scratch, ptr %si)
  %last = icmp eq i64 %i, %final
  br i1 %last, label %back, label %run
run:
  %i1 = add i64 %i, 1
  %fi = mul i64 %i, %length
  %ti = add i64 %fi, %length
  call void @forward(ptr %scratch, ptr %meta, i64 %fi, i64 %ti, i64 %steps, ptr %tape, i64 0)
  br label %there
back:
  %j = phi i64 [%final, %there], [%j1, %walk]
  %oj = mul i64 %j, {segment}
  %sj = getelementptr i8, ptr %store, i64 %oj
  call void @fetch(ptr %scratch, ptr %sj)
  %fj = mul i64 %j, %length
  %ej = add i64 %fj, %length
  %short = icmp slt i64 %steps, %ej
  %tj = select i1 %short, i64 %steps, i64 %ej
  call void @forward(ptr %scratch, ptr %meta, i64 %fj, i64 %tj, i64 %steps, ptr %tape, i64 {step})
  %ended = icmp eq i64 %j, %final
  br i1 %ended, label %finish, label %walk
finish:
  call void @end(ptr %scratch, ptr %meta)
  br label %walk
walk:
  call void @reverse(ptr %scratch, ptr %meta, i64 %fj, i64 %tj, i64 %steps, ptr %tape)
  %j1 = sub i64 %j, 1
  %more = icmp sgt i64 %j, 0
  br i1 %more, label %back, label %done
done:
  ret void
}}"""
