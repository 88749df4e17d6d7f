"""Formulas on one kind of float: `m = Real(w, "f32")`, then `m.fma(a, b, 1.0)`; Python numbers become constants.

No instruction carries a fast-math flag: the elementary functions lean on exact roundings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plausim.fuse.ir import Writer

Operand = str | float
_MANTISSA = {"f32": 23, "f64": 52}


@dataclass(frozen=True)
class Real:
    w: Writer
    kind: str

    @property
    def mantissa(self) -> int:
        """How many bits the mantissa stores; the exponent sits above them, then the sign."""
        return _MANTISSA[self.kind]

    @property
    def bias(self) -> int:
        return 127 if self.kind == "f32" else 1023

    @property
    def width(self) -> int:
        return 32 if self.kind == "f32" else 64

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def integer(self) -> str:
        return f"i{self.width}"

    @property
    def magic(self) -> float:
        """Adding it rounds to the nearest integer, and leaves that integer in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    def operand(self, a: Operand) -> str:
        return a if isinstance(a, str) else self.w.splat(self.kind, a)

    def _binary(self, operation: str, a: Operand, b: Operand) -> str:
        return self.w.binary(operation, self.kind, self.operand(a), self.operand(b))

    def add(self, a: Operand, b: Operand) -> str:
        return self._binary("fadd", a, b)

    def sub(self, a: Operand, b: Operand) -> str:
        return self._binary("fsub", a, b)

    def mul(self, a: Operand, b: Operand) -> str:
        return self._binary("fmul", a, b)

    def div(self, a: Operand, b: Operand) -> str:
        return self._binary("fdiv", a, b)

    def call(self, intrinsic: str, *arguments: Operand) -> str:
        """call("fabs", x), call("sqrt", x), call("rint", x), call("copysign", size, sign)."""
        return self.w.intrinsic(intrinsic, self.kind, *map(self.operand, arguments))

    def fma(self, a: Operand, b: Operand, c: Operand) -> str:
        """a b + c, rounded once."""
        return self.call("fma", a, b, c)

    def negative(self, a: str) -> str:
        return self.w.value(f"fneg {self.w.vector(self.kind)} {a}")

    def compare(self, predicate: str, a: Operand, b: Operand) -> str:
        """`predicate` as LLVM's fcmp: "olt" is false on NaN, "ult" true."""
        return self.w.compare(f"fcmp {predicate}", self.kind, self.operand(a), self.operand(b))

    def select(self, condition: str, yes: Operand, no: Operand) -> str:
        return self.w.select(self.kind, condition, self.operand(yes), self.operand(no))

    def at_most(self, a: str, limit: float) -> str:
        """min(a, limit) that lets NaN through (one instruction on x86, unlike llvm.minimum)."""
        return self.select(self.compare("ogt", a, limit), limit, a)

    def at_least(self, a: str, limit: float) -> str:
        return self.select(self.compare("olt", a, limit), limit, a)

    def clamp(self, a: str, low: float, high: float) -> str:
        return self.at_most(self.at_least(a, low), high)

    def bits(self, a: str) -> str:
        return self.w.convert("bitcast", self.kind, self.integer, a)

    def from_bits(self, a: str) -> str:
        return self.w.convert("bitcast", self.integer, self.kind, a)

    def on_bits(self, operation: str, a: str | int, b: str | int) -> str:
        """An integer operation on bits: on_bits("shl", q, 3)."""
        first, second = (c if isinstance(c, str) else self.w.splat(self.integer, c) for c in (a, b))
        return self.w.binary(operation, self.integer, first, second)

    def bit_is_set(self, a: str, bit: int) -> str:
        masked = self.on_bits("and", a, 1 << bit)
        return self.w.compare("icmp ne", self.integer, masked, self.w.splat(self.integer, 0))

    def flip_sign(self, a: str, word: str, bit: int) -> str:
        """-a where that bit of the word is set, else a: two or three integer operations, no compare."""
        moved = word if bit == self.width - 1 else self.on_bits("shl", word, self.width - 1 - bit)
        sign = moved if bit == 0 else self.on_bits("and", moved, 1 << (self.width - 1))
        return self.from_bits(self.on_bits("xor", self.bits(a), sign))

    def power_of_two(self, rounded: str) -> str:
        """2^n from `rounded` = n + magic + bias, the sum that rounded n: one shift moves n + bias to the exponent."""
        return self.from_bits(self.on_bits("shl", self.bits(rounded), self.mantissa))

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """c0 + c1 x + c2 x^2 + ... by Horner; long ones as two chains in x^2, for one more product."""
        if len(coefficients) <= 5:
            return self.horner(x, coefficients)
        x2 = self.mul(x, x)
        return self.fma(self.horner(x2, coefficients[1::2]), x, self.horner(x2, coefficients[0::2]))

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """One chain: no NaN from an infinite x where the coefficients alternate in sign."""
        total: Operand = coefficients[-1]
        for c in coefficients[-2::-1]:
            total = self.fma(total, x, c)
        return self.operand(total)
