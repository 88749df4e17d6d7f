"""Kinds of number, and what operations do to known numbers: what XLA would have computed."""

import numpy as np

DTYPES = {
    "i1": np.bool_,
    **{f"i{b}": np.dtype(f"int{b}").type for b in (8, 16, 32, 64)},
    **{f"u{b}": np.dtype(f"uint{b}").type for b in (8, 16, 32, 64)},
    "f32": np.float32,
    "f64": np.float64,
}
KINDS = {np.dtype(dtype): kind for kind, dtype in DTYPES.items()}


def is_float(kind: str) -> bool:
    return kind[0] == "f"


def is_ordinary(kind: str, value: float | np.floating) -> bool:
    """Whether a constant can stand in for others: neither zero, nor so small or large that digits were lost."""
    return bool(np.finfo(DTYPES[kind]).tiny <= abs(value) < np.inf)


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _trunc_divide(a, b):
    """Integer division as XLA defines it: -1 for a zero divisor, and what is too large for the type wraps around."""
    if b == 0:
        return np.invert(type(a)(0))
    wrapped = _quotient(int(a), int(b)) % 2 ** (8 * a.itemsize)
    return np.uint64(wrapped).astype(type(a))


def _remainder(a, b):
    """With the sign of the dividend, which a zero divisor leaves as it is."""
    if np.issubdtype(type(a), np.floating):
        return np.fmod(a, b)
    return a if b == 0 else type(a)(int(a) - int(b) * _quotient(int(a), int(b)))


def _shift(a, b, how):
    """Arithmetic shifts repeat the highest bit, of unsigned numbers too; what is shifted beyond the end is gone."""
    bits = 8 * a.itemsize
    signed, unsigned = (np.asarray(a).view(f"{sign}{a.itemsize}")[()] for sign in "iu")
    beyond = not 0 <= int(b) < bits
    if how == "shift_right_arithmetic":
        return (signed >> type(signed)(bits - 1 if beyond else b)).view(type(a))
    if beyond:
        return type(a)(0)
    places = type(unsigned)(b)
    return (unsigned << places if how == "shift_left" else unsigned >> places).view(type(a))


# What each operation does to known numbers; operations that are missing here are not folded.
FOLD = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative,
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "sign": np.sign,
    "floor": np.floor, "ceil": np.ceil, "round_even": np.rint, "sqrt": np.sqrt, "cbrt": np.cbrt,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "atan2": np.arctan2, "pow": np.power, "rem": _remainder, "idiv": _trunc_divide, "div": np.divide,
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert,
    **{s: (lambda a, b, s=s: _shift(a, b, s)) for s in ("shift_left", "shift_right_logical", "shift_right_arithmetic")},
}  # fmt: skip
