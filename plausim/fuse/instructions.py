"""One node of the graph becomes LLVM instructions on vectors: one table, `INSTRUCTIONS`."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from . import elementary
from .folding import is_float
from .graph import Graph
from .ir import Writer, scalar_type

# A product that is added up may be one fused multiply-add; nothing else about arithmetic is relaxed.
_FLOAT = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract"}
_INTEGER = {"add": "add", "sub": "sub", "mul": "mul"}
_ORDER = {"lt": ("fcmp olt", "icmp slt", "icmp ult"), "le": ("fcmp ole", "icmp sle", "icmp ule"),
          "eq": ("fcmp oeq", "icmp eq", "icmp eq"), "ne": ("fcmp une", "icmp ne", "icmp ne")}  # fmt: skip


def is_signed(kind: str) -> bool:
    return kind[0] == "i" and kind != "i1"


def _arithmetic(op: str) -> Callable[[Writer, str, str, str], str]:
    return lambda w, kind, a, b: w.binary(_FLOAT[op] if is_float(kind) else _INTEGER[op], kind, a, b)


def _compare(op: str) -> Callable[[Writer, str, str, str], str]:
    floating, signed, unsigned = _ORDER[op]
    return lambda w, kind, a, b: w.compare(
        floating if is_float(kind) else signed if is_signed(kind) else unsigned, kind, a, b
    )


def _neg(w: Writer, kind: str, a: str) -> str:
    return w.value(f"fneg {w.vector(kind)} {a}") if is_float(kind) else w.binary("sub", kind, w.splat(kind, 0), a)


def _extreme(op: str) -> Callable[[Writer, str, str, str], str]:
    def write(w: Writer, kind: str, a: str, b: str) -> str:
        if not is_float(kind):
            return w.intrinsic(("s" if is_signed(kind) else "u") + op, kind, a, b)
        wins = w.compare("fcmp ogt" if op == "max" else "fcmp olt", kind, a, b)  # NaN: of a, or else b's
        wins = w.binary("or", "i1", wins, w.compare("fcmp uno", kind, a, a))
        return w.select(kind, wins, a, b)

    return write


def _abs(w: Writer, kind: str, a: str) -> str:
    if is_float(kind):
        return w.intrinsic("fabs", kind, a)
    return (
        w.select(kind, w.compare("icmp slt", kind, a, w.splat(kind, 0)), _neg(w, kind, a), a) if is_signed(kind) else a
    )


def _sign(w: Writer, kind: str, a: str) -> str:
    zero, one = w.splat(kind, 0), w.splat(kind, 1)
    if is_float(kind):  # 0, -0 and NaN stay what they are
        below = w.select(kind, w.compare("fcmp olt", kind, a, zero), w.splat(kind, -1), a)
        return w.select(kind, w.compare("fcmp ogt", kind, a, zero), one, below)
    sign = w.select(kind, w.compare("icmp ne", kind, a, zero), one, zero)
    return w.select(kind, w.compare("icmp slt", kind, a, zero), w.splat(kind, -1), sign) if is_signed(kind) else sign


def _divide(what: str) -> Callable[[Writer, str, str, str], str]:
    """Integer division and remainder; what the hardware traps on gives what XLA gives."""

    def write(w: Writer, kind: str, a: str, b: str) -> str:
        if is_float(kind):
            return w.binary("frem", kind, a, b)
        zero, ones = w.splat(kind, 0), w.splat(kind, -1)
        no_divisor = w.compare("icmp eq", kind, b, zero)
        unsafe = no_divisor
        if is_signed(kind):
            minus_one = w.compare("icmp eq", kind, b, ones)
            unsafe = w.binary("or", "i1", unsafe, minus_one)
        safe = w.select(kind, unsafe, w.splat(kind, 1), b)
        result = w.binary(("s" if is_signed(kind) else "u") + what, kind, a, safe)
        if is_signed(kind):
            result = w.select(kind, minus_one, _neg(w, kind, a) if what == "div" else zero, result)  # type: ignore[possibly-unbound]
        return w.select(kind, no_divisor, ones if what == "div" else a, result)

    return write


def _shift(op: str) -> Callable[[Writer, str, str, str], str]:
    instruction = {"shift_left": "shl", "shift_right_logical": "lshr", "shift_right_arithmetic": "ashr"}[op]

    def write(w: Writer, kind: str, a: str, b: str) -> str:
        bits = int(kind[1:])
        fits = w.compare("icmp ult", kind, b, w.splat(kind, bits))
        shifted = w.binary(instruction, kind, a, w.select(kind, fits, b, w.splat(kind, 0)))
        beyond = w.binary("ashr", kind, a, w.splat(kind, bits - 1)) if instruction == "ashr" else w.splat(kind, 0)
        return w.select(kind, fits, shifted, beyond)

    return write


def _count(intrinsic: str) -> Callable[[Writer, str, str], str]:
    def write(w: Writer, kind: str, a: str) -> str:
        if intrinsic == "ctpop":
            return w.intrinsic(intrinsic, kind, a)
        vector = w.vector(kind)
        symbol = f"@llvm.{intrinsic}.v{w.lanes}{scalar_type(kind)}"
        w.declared[symbol] = f"declare {vector} {symbol}({vector}, i1)"
        return w.value(f"call {vector} {symbol}({vector} {a}, i1 false)")

    return write


def convert(w: Writer, source: str, target: str, a: str) -> str:
    """A number of another kind: floats to integers saturate and NaN becomes 0, as in XLA."""
    if is_float(source) and is_float(target):
        return w.convert("fpext" if target == "f64" else "fptrunc", source, target, a)
    if is_float(source):
        name = f"fpto{'si' if is_signed(target) else 'ui'}.sat"
        symbol = f"@llvm.{name}.v{w.lanes}{scalar_type(target)}.v{w.lanes}{source}"
        w.declared[symbol] = f"declare {w.vector(target)} {symbol}({w.vector(source)})"
        return w.value(f"call {w.vector(target)} {symbol}({w.vector(source)} {a})")
    if is_float(target):
        return w.convert("sitofp" if is_signed(source) else "uitofp", source, target, a)
    narrow, wide = int(source[1:]), int(target[1:])
    if narrow == wide:
        return a
    return w.convert("trunc" if wide < narrow else "sext" if is_signed(source) else "zext", source, target, a)


INSTRUCTIONS: dict[str, Callable[..., str]] = {
    **elementary.ELEMENTARY,
    **{op: _arithmetic(op) for op in ("add", "sub", "mul")},
    **{op: _compare(op) for op in _ORDER},
    **{op: (lambda w, kind, a, b, op=op: w.binary(op, kind, a, b)) for op in ("and", "or", "xor")},
    **{op: _shift(op) for op in ("shift_left", "shift_right_logical", "shift_right_arithmetic")},
    "not": lambda w, kind, a: w.binary("xor", kind, a, w.splat(kind, 1 if kind == "i1" else -1)),
    "neg": _neg, "max": _extreme("max"), "min": _extreme("min"), "abs": _abs, "sign": _sign,
    "idiv": _divide("div"), "rem": _divide("rem"),
    "floor": lambda w, kind, a: w.intrinsic("floor", kind, a) if is_float(kind) else a,
    "ceil": lambda w, kind, a: w.intrinsic("ceil", kind, a) if is_float(kind) else a,
    "round": lambda w, kind, a: w.intrinsic("round", kind, a),
    "round_even": lambda w, kind, a: w.intrinsic("roundeven", kind, a),
    "population_count": _count("ctpop"), "clz": _count("ctlz"),
}  # fmt: skip
ALIASES = frozenset({"gate", "stop", "custom"})  # they matter to derivatives only


def write_nodes(
    w: Writer,
    g: Graph,
    nodes: Iterable[int],
    leaf: Callable[[Writer, int], str],
    inverse: Callable[[Writer, int], str | None] = lambda w, n: None,
) -> Callable[[int], str]:
    """Write `nodes` in order; what is not among them is asked of `leaf` when first used. Returns a node's register.

    `inverse` gives the reciprocal of a divisor where that is known already. A divisor of several quotients is inverted
    once: a division costs as much as ten products.
    """
    nodes = list(nodes)
    inside = set(nodes)
    registers: dict[int, str] = {}
    angles = _shared_angles(g, inside)
    quotients = Counter(g.nodes[n].args[1] for n in inside if g.nodes[n].op == "div")
    inverses: dict[int, str | None] = {}

    def divide(node: int) -> str:
        _, kind, (a, b) = g.nodes[node]
        if b not in inverses:
            inverses[b] = inverse(w, b)
            if inverses[b] is None and quotients[b] > 1:
                inverses[b] = w.binary("fdiv", kind, w.splat(kind, 1), read(b))
        known = inverses[b]
        return (
            w.binary("fdiv", kind, read(a), read(b))
            if known is None
            else w.binary("fmul contract", kind, read(a), known)
        )

    def read(node: int) -> str:
        found = registers.get(node)
        if found is None:
            op, kind, args = g.nodes[node]
            found = registers[node] = w.splat(kind, args[0]) if op == "const" else leaf(w, node)
        return found

    for node in nodes:
        if node not in registers and g.nodes[node].op == "div":
            registers[node] = divide(node)
        elif node not in registers:
            _write(w, g, node, read, registers, angles)
    return read


def _write(
    w: Writer, g: Graph, node: int, read: Callable[[int], str], registers: dict[int, str], angles: dict[int, Any]
) -> None:
    op, kind, args = g.nodes[node]
    if op in ALIASES:
        registers[node] = read(args[0])
    elif op == "select":
        registers[node] = w.select(kind, *(read(a) for a in args))
    elif op == "convert":
        registers[node] = convert(w, g.nodes[args[0]].kind, kind, read(args[0]))
    elif op == "bitcast":
        source = g.nodes[args[0]].kind
        same = is_float(source) == is_float(kind)  # i32 and u32 are one type to LLVM
        registers[node] = read(args[0]) if same else w.convert("bitcast", source, kind, read(args[0]))
    elif op in ("sin", "cos") and args[0] in angles:
        sine, cosine = angles[args[0]]
        registers[sine], registers[cosine] = elementary.sincos(w, kind, read(args[0]))
    else:
        registers[node] = INSTRUCTIONS[op](w, g.nodes[args[0]].kind, *(read(a) for a in args))


def _shared_angles(g: Graph, inside: set[int]) -> dict[int, tuple[int, int]]:
    """Arguments of both a sine and a cosine: angle -> (sine, cosine)."""
    sines = {g.nodes[n].args[0]: n for n in inside if g.nodes[n].op == "sin"}
    cosines = {g.nodes[n].args[0]: n for n in inside if g.nodes[n].op == "cos"}
    return {a: (sines[a], cosines[a]) for a in sines.keys() & cosines.keys()}
