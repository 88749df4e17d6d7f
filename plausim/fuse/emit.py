"""A planned kernel as LLVM IR text: the module that defines `@block`, one block of lanes from start to end.

    block:  locate, pack parameters and start, before, [segments] forward, [reverse], [after], unpack results

A long adjoint walks back segment by segment: a first pass stores the carry at the start of each, then each is run
again with its tape. All scratch memory is laid out here; its size grows with the steps only by tape and segments.
"""

from collections.abc import Callable
from typing import NamedTuple

from . import runtime
from .graph import Graph
from .instructions import write_nodes
from .ir import Writer, scalar_type
from .plan import Backward, Forward, Ports
from .scratch import Buffer, Memory, Sizes, bytes_of, load, rounded, store


class Kernel(NamedTuple):
    graph: Graph
    ports: Ports
    forward: Forward
    backward: Backward | None
    arguments: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    reverse: bool  # runs through xs from the end
    lanes: int
    axes: int  # lane axes beside the innermost
    attributes: str


class Emitter:
    """Writes the functions of one kernel; they share the layout of the scratch memory."""

    def __init__(self, kernel: Kernel):
        self.k, self.g, self.lanes = kernel, kernel.graph, kernel.lanes
        self.declared: dict[str, str] = {}
        buffers = [*kernel.arguments, *kernel.results]
        self.number = {(b.role, b.first): i for i, b in enumerate(buffers)}
        self.count_at = 8 * len(buffers)
        self.memory = Memory(kernel.lanes, rounded(self.count_at + 8))
        for b in buffers:
            if not (b.uniform or b.role in ("carry", "carry_cotangent", "init_share")):
                self.memory.region(b.role, b.first, [b.kind] * b.count)
            if b.role == "init" and kernel.backward is not None:
                self.memory.region("cotangent", b.first, [b.kind] * b.count)
        place = {n: ("const", i) for i, n in enumerate(kernel.ports.consts)}
        place.update({n: ("init", i) for i, n in enumerate(kernel.ports.carry)})
        self.kept: dict[int, int] = {}
        for n in kernel.forward.kept:
            if n in place:
                self.kept[n] = self.memory.slots[place[n]]
            else:
                self.memory.region("kept", n, [self.kind(n)])
                self.kept[n] = self.memory.slots["kept", n]
        loops = [*kernel.forward.body, *(kernel.backward.body if kernel.backward is not None else ())]
        divisors = {self.g.nodes[n].args[1] for n in loops if self.g.nodes[n].op == "div"}
        self.inverted = sorted(divisors & self.kept.keys())
        for n in self.inverted:
            self.memory.region("inverse", n, [self.kind(n)])
        if kernel.backward is not None:
            for total, _, _ in kernel.backward.sums:
                self.memory.region("sum", total, [self.kind(total)])
        self.tape: dict[int, int] = {}
        top = 0
        for n in kernel.forward.tape:
            self.tape[n], top = top, top + rounded(self.lanes * bytes_of(self.kind(n)))
        self.x_of = self._owners("x", kernel.arguments, kernel.ports.xs)
        segment = sum(rounded(self.lanes * bytes_of(self.kind(i))) for _, i, _ in kernel.forward.carry)
        self.sizes = Sizes(self.memory.top, segment, top)

    def kind(self, node: int) -> str:
        return self.g.nodes[node].kind

    def _owners(self, role: str, buffers: tuple[Buffer, ...], nodes: tuple[int, ...]) -> dict[int, tuple[Buffer, int]]:
        return {nodes[b.first + i]: (b, b.first + i) for b in buffers if b.role == role for i in range(b.count)}

    def writer(self) -> Writer:
        return Writer(self.lanes, declared=self.declared)

    # ---- pieces

    def pointer(self, w: Writer, role: str, first: int) -> str:
        """The block's address in an operand or result."""
        place = w.value(f"getelementptr ptr, ptr %scratch, i64 {self.number[role, first]}")
        return w.value(f"load ptr, ptr {place}")

    def transpose(self, w: Writer, which: str, buffer: Buffer, region: int, address: str) -> None:
        """Call `@pack` or `@unpack` between an array and a region of scratch."""
        size = bytes_of(buffer.kind)
        strides = runtime.OUTER + self.k.axes + self.number[buffer.role, buffer.first] * (self.k.axes + 1)
        stride = w.value(f"load i64, ptr {w.value(f'getelementptr i64, ptr %meta, i64 {strides}')}")
        count = w.value(f"load i64, ptr {w.value(f'getelementptr i8, ptr %scratch, i64 {self.count_at}')}")
        inside = w.value(f"getelementptr i8, ptr %scratch, i64 {region}")
        target, source = (inside, address) if which == "pack" else (address, inside)
        w.line(f"call void @{which}{size}(ptr {target}, ptr {source}, i64 {buffer.count}, i64 {stride}, i64 {count})")

    def rows(self, w: Writer, roles: tuple[str, ...]) -> dict[tuple[str, int], str]:
        return {
            (b.role, b.first): self.pointer(w, b.role, b.first)
            for b in (*self.k.arguments, *self.k.results)
            if b.role in roles
        }

    def at_row(self, w: Writer, buffer: Buffer, base: str) -> str:
        """The address of this step's row."""
        offset = w.value(f"mul i64 %row, {buffer.count * bytes_of(buffer.kind)}")
        return w.value(f"getelementptr i8, ptr {base}, i64 {offset}")

    def step_input(self, w: Writer, role: str, bases: dict[tuple[str, int], str]) -> Callable[[Buffer, int], str]:
        """Loads numbers of an operand with a row for each step; where lanes differ, the row is packed on first use."""
        at: dict[int, str] = {}

        def read(buffer: Buffer, position: int) -> str:
            if buffer.first not in at:
                at[buffer.first] = self.at_row(w, buffer, bases[role, buffer.first])
                if not buffer.uniform:
                    self.transpose(w, "pack", buffer, self.memory.regions[role, buffer.first], at[buffer.first])
            if not buffer.uniform:
                return load(w, buffer.kind, "%scratch", self.memory.slots[role, position])
            kind = "i8" if buffer.kind == "i1" else buffer.kind
            scalar = scalar_type(kind)
            place = w.value(f"getelementptr {scalar}, ptr {at[buffer.first]}, i64 {position - buffer.first}")
            one = w.value(
                f"insertelement {w.vector(kind)} poison, {scalar} {w.value(f'load {scalar}, ptr {place}')}, i32 0"
            )
            spread = (
                f"shufflevector {w.vector(kind)} {one}, {w.vector(kind)} poison, <{self.lanes} x i32> zeroinitializer"
            )
            value = w.value(spread)
            return w.compare("icmp ne", "i8", value, w.splat("i8", 0)) if buffer.kind == "i1" else value

        return read

    # ---- functions

    def before(self) -> str:
        w = self.writer()
        read = write_nodes(w, self.g, self.k.forward.before, self.input)
        for n in self.k.forward.kept:
            if self.memory.slots.get(("kept", n)) is not None:
                store(w, self.kind(n), read(n), "%scratch", self.kept[n])
        for n in self.inverted:
            one = w.splat(self.kind(n), 1)
            store(
                w,
                self.kind(n),
                w.binary("fdiv", self.kind(n), one, read(n)),
                "%scratch",
                self.memory.slots["inverse", n],
            )
        return self.function("before", "ptr %scratch", w)

    def inverse(self, w: Writer, divisor: int) -> str | None:
        """The reciprocal of a divisor that was known before the loop."""
        slot = self.memory.slots.get(("inverse", divisor))
        return None if slot is None else load(w, self.kind(divisor), "%scratch", slot)

    def input(self, w: Writer, node: int) -> str:
        """A parameter or number of the start, from where it was packed."""
        for role, nodes in (("const", self.k.ports.consts), ("init", self.k.ports.carry)):
            if node in nodes:
                return load(w, self.kind(node), "%scratch", self.memory.slots[role, nodes.index(node)])
        raise AssertionError(f"node {node} {self.g.nodes[node]} is read before it is known")

    def forward(self) -> str:
        plan, w = self.k.forward, self.writer()
        bases = self.rows(w, ("x", "y"))
        start = {i: load(w, self.kind(n), "%scratch", self.memory.slots["init", i]) for i, n, _ in plan.carry}
        w.line("br label %enter\nenter:\n  %any = icmp slt i64 %t0, %t1\n  br i1 %any, label %loop, label %exit\nloop:")
        w.line("%t = phi i64 [%t0, %enter], [%tn, %latch]\n  %tp = phi ptr [%tape, %enter], [%tpn, %latch]")
        phis_at = len(w.lines)
        self.write_row(w)
        x_input = self.step_input(w, "x", bases)
        carried = {n: f"%c{i}" for i, n, _ in plan.carry}

        def leaf(node: int) -> str:
            if node in carried:
                return carried[node]
            if node in self.kept:
                return load(w, self.kind(node), "%scratch", self.kept[node])
            return x_input(*self.x_of[node])

        read = write_nodes(w, self.g, plan.body, lambda _, node: leaf(node), self.inverse)
        for n in plan.tape:
            store(w, self.kind(n), read(n), "%tp", self.tape[n])
        produced = dict(plan.ys)
        for b in self.k.results:
            if b.role == "y" and b.count:
                for i in range(b.first, b.first + b.count):
                    store(w, b.kind, read(produced[i]), "%scratch", self.memory.slots["y", i])
                self.transpose(
                    w, "unpack", b, self.memory.regions["y", b.first], self.at_row(w, b, bases["y", b.first])
                )
        following = {i: read(out) for i, _, out in plan.carry}
        w.line("br label %latch\nlatch:")
        w.line("%tn = add i64 %t, 1\n  %tpn = getelementptr i8, ptr %tp, i64 %stride")
        w.line("%more = icmp slt i64 %tn, %t1\n  br i1 %more, label %loop, label %exit\nexit:")
        self.close(w, plan.carry, start, following, phis_at, "init")
        position = {n: i for i, n, _ in plan.carry}
        for n in plan.tape:  # the carry that leaves the last step, as if one more step began with it
            if n in position:
                store(w, self.kind(n), f"%e{position[n]}", "%end", self.tape[n])
        return self.function(
            "forward", "ptr %scratch, ptr %meta, i64 %t0, i64 %t1, i64 %steps, ptr noalias %tape, i64 %stride", w
        )

    def reverse(self) -> str:
        plan, w = self.k.backward, self.writer()
        assert plan is not None
        bases = self.rows(w, ("x", "x_share", "y_cotangent"))
        start = {i: load(w, self.kind(n), "%scratch", self.memory.slots["cotangent", i]) for i, n, _ in plan.carry}
        w.line("br label %enter\nenter:\n  %any = icmp slt i64 %t0, %t1\n  br i1 %any, label %loop, label %exit\nloop:")
        w.line("%u = phi i64 [%t1, %enter], [%t, %latch]")
        phis_at = len(w.lines)
        w.line("%t = sub i64 %u, 1\n  %done = sub i64 %t, %t0")
        w.line(f"%back = mul i64 %done, {self.sizes.step}\n  %tp = getelementptr i8, ptr %tape, i64 %back")
        self.write_row(w)
        x_input, y_input = self.step_input(w, "x", bases), self.step_input(w, "y_cotangent", bases)
        w.line(f"%ahead = getelementptr i8, ptr %tp, i64 {self.sizes.step}")
        ahead = dict(plan.ahead)
        flowing = {n: f"%c{i}" for i, n, _ in plan.carry}
        entering = dict(plan.y_cotangents)
        y_of = {}
        for b in self.k.arguments:
            if b.role == "y_cotangent":
                y_of.update({entering[i]: (b, i) for i in range(b.first, b.first + b.count) if i in entering})

        def leaf(node: int) -> str:
            if node in flowing:
                return flowing[node]
            if node in self.tape:
                return load(w, self.kind(node), "%tp", self.tape[node])
            if node in ahead:
                return load(w, self.kind(node), "%ahead", self.tape[ahead[node]])
            if node in self.kept:
                return load(w, self.kind(node), "%scratch", self.kept[node])
            if node in y_of:
                return y_input(*y_of[node])
            return x_input(*self.x_of[node])

        read = write_nodes(w, self.g, plan.body, lambda _, node: leaf(node), self.inverse)
        for total, part, _ in plan.sums:
            kind, place = self.kind(total), self.memory.slots["sum", total]
            minus = self.g.nodes[part].op == "neg"
            added = read(self.g.nodes[part].args[0] if minus else part)
            sofar = load(w, kind, "%scratch", place)
            store(
                w, kind, w.binary("fsub contract" if minus else "fadd contract", kind, sofar, added), "%scratch", place
            )
        shares = dict(plan.x_shares)
        for b in self.k.results:
            if b.role == "x_share" and b.count:
                for i in range(b.first, b.first + b.count):
                    store(
                        w,
                        b.kind,
                        read(shares[i]) if i in shares else w.splat(b.kind, 0),
                        "%scratch",
                        self.memory.slots["x_share", i],
                    )
                self.transpose(
                    w,
                    "unpack",
                    b,
                    self.memory.regions["x_share", b.first],
                    self.at_row(w, b, bases["x_share", b.first]),
                )
        following = {i: read(out) for i, _, out in plan.carry}
        w.line("br label %latch\nlatch:")
        w.line("%more = icmp sgt i64 %t, %t0\n  br i1 %more, label %loop, label %exit\nexit:")
        self.close(w, plan.carry, start, following, phis_at, "cotangent")
        return self.function("reverse", "ptr %scratch, ptr %meta, i64 %t0, i64 %t1, i64 %steps, ptr noalias %tape", w)

    def close(
        self, w: Writer, carry, start: dict[int, str], following: dict[int, str], phis_at: int, region: str
    ) -> None:
        """What is carried: one value from before the loop or from its last turn, at the top and after the end."""

        def phi(name: str, i: int, n: int) -> str:
            return f"  %{name}{i} = phi {w.vector(self.kind(n))} [{start[i]}, %enter], [{following[i]}, %latch]"

        w.lines[phis_at:phis_at] = [phi("c", i, n) for i, n, _ in carry]
        if region == "init":
            w.line("%end = phi ptr [%tape, %enter], [%tpn, %latch]")
        w.lines += [phi("e", i, n) for i, n, _ in carry]
        for i, n, _ in carry:
            store(w, self.kind(n), f"%e{i}", "%scratch", self.memory.slots[region, i])

    def write_row(self, w: Writer) -> None:
        if self.k.reverse:
            w.line("%left = sub i64 %steps, %t\n  %row = sub i64 %left, 1")
        else:
            w.line("%row = add i64 %t, 0")

    def after(self) -> str:
        plan, w = self.k.backward, self.writer()
        assert plan is not None
        totals = {total: self.memory.slots["sum", total] for total, _, _ in plan.sums}

        def leaf(_: Writer, node: int) -> str:
            return load(w, self.kind(node), "%scratch", totals[node]) if node in totals else self.start(w, node)

        read = write_nodes(w, self.g, plan.after, leaf)
        for i, share in plan.const_shares:
            if ("const_share", i) in self.memory.slots:
                kind = self.kind(self.k.ports.consts[i])
                value = w.splat(kind, 0) if share is None else read(share)
                store(w, kind, value, "%scratch", self.memory.slots["const_share", i])
        for i, share in plan.init_shares:
            if share is not None:
                kind, place = self.kind(self.k.ports.carry[i]), self.memory.slots["cotangent", i]
                store(w, kind, w.binary("fadd", kind, load(w, kind, "%scratch", place), read(share)), "%scratch", place)
        return self.function("after", "ptr %scratch", w)

    def start(self, w: Writer, node: int) -> str:
        return load(w, self.kind(node), "%scratch", self.kept[node]) if node in self.kept else self.input(w, node)

    def copy(self, name: str, to_segment: bool) -> str:
        """Store the carry at the start of a segment, or fetch it."""
        w, offset = self.writer(), 0
        for i, n, _ in self.k.forward.carry:
            kind, slot = self.kind(n), self.memory.slots["init", i]
            source, target = (
                (("%scratch", slot), ("%segment", offset)) if to_segment else (("%segment", offset), ("%scratch", slot))
            )
            store(w, kind, load(w, kind, *source), *target)
            offset += rounded(self.lanes * bytes_of(kind))
        return self.function(name, "ptr %scratch, ptr %segment", w)

    def function(self, name: str, arguments: str, w: Writer) -> str:
        """The text of a function; all but `@block` stay inside the module."""
        linkage, inline = ("", "") if name == "block" else ("internal ", "noinline ")
        head = f"define {linkage}void @{name}({arguments}) {inline}nounwind {self.k.attributes}"
        return "\n".join([f"{head} {{", "entry:", *w.lines, "  ret void", "}"])

    def block(self) -> str:
        w = self.writer()
        w.line("%meta = load ptr, ptr %args")
        w.line("call void @locate(ptr %args, ptr %rets, ptr %meta, i64 %index, ptr %scratch)")
        packed = {"const": "const", "init": "init", "carry_cotangent": "cotangent"}
        if self.k.backward is not None:
            for b in self.k.arguments:
                if b.role == "init":
                    for i in range(b.first, b.first + b.count):
                        store(w, b.kind, w.splat(b.kind, 0), "%scratch", self.memory.slots["cotangent", i])
            for total, _, _ in self.k.backward.sums:
                store(w, self.kind(total), w.splat(self.kind(total), 0), "%scratch", self.memory.slots["sum", total])
        for b in self.k.arguments:
            if b.role in packed and b.count:
                self.transpose(
                    w, "pack", b, self.memory.regions[packed[b.role], b.first], self.pointer(w, b.role, b.first)
                )
        w.line("call void @before(ptr %scratch)")
        steps = w.value(f"load i64, ptr {w.value(f'getelementptr i64, ptr %meta, i64 {runtime.STEPS}')}")
        tape = w.value(f"getelementptr i8, ptr %scratch, i64 {self.sizes.fixed}")
        if self.k.backward is None:
            w.line(f"call void @forward(ptr %scratch, ptr %meta, i64 0, i64 {steps}, i64 {steps}, ptr {tape}, i64 0)")
            self.unpack(w, {"carry": "init"})
        else:
            w.line(f"call void @there_and_back(ptr %scratch, ptr %meta, i64 {steps}, ptr {tape})")
            w.line("call void @after(ptr %scratch)")
        self.unpack(w, {"const_share": "const_share", "init_share": "cotangent"})
        return self.function("block", "ptr %args, ptr %rets, i64 %index, ptr %scratch", w)

    def unpack(self, w: Writer, regions: dict[str, str]) -> None:
        """Results by role, from the region of scratch where they stand."""
        for b in self.k.results:
            if b.role in regions and b.count:
                self.transpose(
                    w, "unpack", b, self.memory.regions[regions[b.role], b.first], self.pointer(w, b.role, b.first)
                )

    def end(self) -> str:
        w = self.writer()
        self.unpack(w, {"carry": "init"})
        return self.function("end", "ptr %scratch, ptr %meta", w)

    def module(self) -> str:
        functions = [self.before(), self.forward(), self.block()]
        if self.k.backward is not None:
            functions += [self.reverse(), self.after(), self.end(), self.copy("keep", True), self.copy("fetch", False)]
            functions.append(runtime.there_and_back(self.sizes.segment, self.sizes.step))
        sizes = sorted({bytes_of(b.kind) for b in (*self.k.arguments, *self.k.results)})
        functions += [make(self.lanes, size) for size in sizes for make in (runtime.pack, runtime.unpack)]
        functions.append(runtime.locate(self.lanes, self.k.axes, len(self.k.arguments), len(self.k.results)))
        return "\n\n".join([*functions, *self.declared.values()]) + "\n"
