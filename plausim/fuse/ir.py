"""LLVM IR as text: one straight line of instructions on vectors of `lanes` numbers.

Kinds of number: "f32" and "f64" (floats), "i1" (a bool), "i8" to "i64" and "u8" to "u64" (LLVM integers carry
no sign, so the two share a type; the operations know).
"""

import struct
from dataclasses import dataclass, field

_SCALAR = {"f32": "float", "f64": "double"}


def scalar_type(kind: str) -> str:
    """The LLVM type of one number: "f32" is float, "u8" is i8."""
    return _SCALAR.get(kind) or f"i{kind[1:]}"


def literal(kind: str, number: float | int | bool) -> str:
    """A number as LLVM writes it: floats by their bits, so nothing is lost."""
    if kind == "f64":
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if kind == "f32":  # LLVM writes a float as the double of the same value
        try:
            rounded = struct.unpack("<f", struct.pack("<f", number))[0]
        except OverflowError:
            rounded = float("inf") if number > 0 else float("-inf")
        return literal("f64", rounded)
    return str(int(number))


@dataclass
class Writer:
    """Collects instructions; every value it returns is the name of an SSA register or a constant."""

    lanes: int
    lines: list[str] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)  # name -> declaration, shared by the whole module
    count: int = 0

    def vector(self, kind: str) -> str:
        """The type of a vector of this kind: "<16 x float>"."""
        return f"<{self.lanes} x {scalar_type(kind)}>"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def value(self, text: str) -> str:
        """Add `%vN = text` and return `%vN`."""
        self.count += 1
        name = f"%v{self.count}"
        self.line(f"{name} = {text}")
        return name

    def splat(self, kind: str, number: float | int | bool) -> str:
        """A vector constant with the same number in every lane (no instruction)."""
        return f"splat ({scalar_type(kind)} {literal(kind, number)})"

    def binary(self, operation: str, kind: str, a: str, b: str) -> str:
        """`operation` is LLVM's, flags included: "fadd contract", "fmul", "and", "shl"."""
        return self.value(f"{operation} {self.vector(kind)} {a}, {b}")

    def compare(self, predicate: str, kind: str, a: str, b: str) -> str:
        """`predicate` as in LLVM, with its family: "fcmp olt", "icmp slt". Gives a vector of i1."""
        return self.value(f"{predicate} {self.vector(kind)} {a}, {b}")

    def select(self, kind: str, condition: str, yes: str, no: str) -> str:
        vector = self.vector(kind)
        return self.value(f"select {self.vector('i1')} {condition}, {vector} {yes}, {vector} {no}")

    def convert(self, operation: str, source: str, target: str, a: str) -> str:
        """A cast: convert("bitcast", "f32", "i32", x), convert("sitofp", "i32", "f32", n)."""
        return self.value(f"{operation} {self.vector(source)} {a} to {self.vector(target)}")

    def intrinsic(self, name: str, kind: str, *arguments: str) -> str:
        """Call `llvm.<name>` on vectors of one kind: intrinsic("fma", "f32", a, b, c)."""
        vector = self.vector(kind)
        suffix = kind if kind[0] == "f" else scalar_type(kind)
        symbol = f"@llvm.{name}.v{self.lanes}{suffix}"
        self.declared[symbol] = f"declare {vector} {symbol}({', '.join([vector] * len(arguments))})"
        return self.value(f"call {vector} {symbol}({', '.join(f'{vector} {a}' for a in arguments)})")
