"""The elementary functions by the names of JAX's primitives: (w, kind, x[, y]) -> name of the result.

sin, cos, tan, exp, exp2, expm1, log, log1p, tanh, logistic, sqrt, rsqrt, pow, atan, atan2: straight lines of vector
instructions, within 4 ulp (most within 2), IEEE on zeros, denormals, infinities and NaN. The others, rarer, ask libm
about one lane after another.
"""

from collections.abc import Callable

from plausim.fuse.exponentials import exp, exp2, expm1, logistic, tanh
from plausim.fuse.ir import Writer, scalar_type
from plausim.fuse.logarithms import log, log1p
from plausim.fuse.powers import pow
from plausim.fuse.real import Real
from plausim.fuse.trigonometry import atan, atan2, cos, sin, sincos, tan

__all__ = ["ELEMENTARY", "per_lane", "sincos"]


def sqrt(w: Writer, kind: str, x: str) -> str:
    return w.intrinsic("sqrt", kind, x)


def rsqrt(w: Writer, kind: str, x: str) -> str:
    return Real(w, kind).div(1.0, sqrt(w, kind, x))


def per_lane(w: Writer, kind: str, name: str, *arguments: str) -> str:
    """libm's `name` ("asin" is asinf in f32), lane by lane."""
    scalar, vector = scalar_type(kind), w.vector(kind)
    symbol = f"@{name}f" if kind == "f32" else f"@{name}"
    w.declared[symbol] = f"declare {scalar} {symbol}({', '.join([scalar] * len(arguments))})"
    result = "poison"
    for lane in range(w.lanes):
        numbers = [w.value(f"extractelement {vector} {a}, i32 {lane}") for a in arguments]
        number = w.value(f"call {scalar} {symbol}({', '.join(f'{scalar} {n}' for n in numbers)})")
        result = w.value(f"insertelement {vector} {result}, {scalar} {number}, i32 {lane}")
    return result


def _from_libm(name: str) -> Callable[..., str]:
    return lambda w, kind, *arguments: per_lane(w, kind, name, *arguments)


_LIBM = ("asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "cbrt", "erf", "erfc", "lgamma")

ELEMENTARY: dict[str, Callable[..., str]] = {
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "atan": atan,
    "atan2": atan2,
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "tanh": tanh,
    "logistic": logistic,
    "log": log,
    "log1p": log1p,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "pow": pow,
    **{name: _from_libm(name) for name in _LIBM},
}
