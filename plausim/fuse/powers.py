"""x^y = 2^(y log2 x), with log2 x to about 2^-65: y multiplies its error by up to 2^10.

f32 does this in f64 with short polynomials; f64 carries log2 x as an unevaluated sum of two numbers.
"""

import math

from plausim.fuse.exponentials import exp2_of_sum
from plausim.fuse.ir import Writer
from plausim.fuse.logarithms import split, split_any
from plausim.fuse.real import Real

# log2((1 + s) / (1 - s)) = A s + s^3 (B + u L(u)), u = s^2, on [0, 0.0295]. Error of L's part: 2^-66.
_A = (2.8853900817779268, 4.0710547481862066e-17)  # 2 / ln 2
_B = (0.9617966939259756, 5.0577616648125907e-17)  # a third of it
_LOG2 = (
    0.5770780163556184,
    0.41219858309171453,
    0.32059890231590277,
    0.2623076972516565,
    0.22198418340086504,
    0.19125068277786178,
    0.19042833307459273,
)
# Enough for f32: A s + s u L(u). Error: 2^-37.
_SHORT_LOG2 = (0.9617966790646392, 0.5770828838370441, 0.4117041718842379, 0.3402621734591273)
# 2^r = 1 + r E(r) on [-1/2, 1/2]. Error: 2^-29.
_SHORT_EXP2 = (
    0.6931472031691744,
    0.24022648040770492,
    0.055503320707578276,
    0.009618422796718103,
    0.0013398987904128027,
    0.00015357244300930395,
)


def _power_in_f64(w: Writer, x: str, y: str) -> str:
    """x^y of f32 numbers, x positive; their whole range is normal in f64, so one scale factor does."""
    m = Real(w, "f64")
    e, f, _ = split(m, w.convert("fpext", "f32", "f64", x))
    s = m.div(f, m.add(f, 2.0))
    u = m.mul(s, s)
    log2 = m.fma(s, m.fma(u, m.polynomial(u, _SHORT_LOG2), _A[0]), e)
    power = m.clamp(m.mul(w.convert("fpext", "f32", "f64", y), log2), -152.0, 130.0)
    rounded = m.add(power, m.magic + m.bias)
    r = m.sub(power, m.sub(rounded, m.magic + m.bias))
    grown = m.fma(r, m.polynomial(r, _SHORT_EXP2), 1.0)
    return w.convert("fptrunc", "f64", "f32", m.mul(grown, m.power_of_two(rounded)))


def _product(m: Real, a: str, a_low: str, b: str, b_low: str) -> tuple[str, str]:
    """(a + a_low) (b + b_low) as a sum of two."""
    high = m.mul(a, b)
    low = m.fma(a, b, m.negative(high))
    return high, m.fma(a_low, b, m.fma(a, b_low, low))


def _sum(m: Real, large: str, small: str) -> tuple[str, str]:
    """Exact if abs(large) >= abs(small), or large is 0."""
    high = m.add(large, small)
    return high, m.sub(small, m.sub(high, large))


def _log2(m: Real, x: str) -> tuple[str, str]:
    """log2 of a positive finite x as a sum of two."""
    e, f = split_any(m, x)
    g = m.add(f, 2.0)
    g_low = m.sub(f, m.sub(g, 2.0))
    inverse = m.div(1.0, g)
    s = m.mul(f, inverse)
    minus_s = m.negative(s)
    s_low = m.mul(m.fma(minus_s, g_low, m.fma(minus_s, g, f)), inverse)
    u, u_low = _product(m, s, s_low, s, s_low)
    tail, tail_low = _sum(m, m.operand(_B[0]), m.mul(u, m.polynomial(u, _LOG2)))
    cube, cube_low = _product(m, s, s_low, u, u_low)
    bend, bend_low = _product(m, cube, cube_low, tail, m.add(tail_low, _B[1]))
    line, line_low = _product(m, s, s_low, m.operand(_A[0]), m.operand(_A[1]))
    log, log_low = _sum(m, line, bend)
    high, low = _sum(m, e, log)
    return high, m.add(low, m.add(log_low, m.add(bend_low, line_low)))


def _power(m: Real, x: str, y: str) -> str:
    """x^y, x positive and finite."""
    log, log_low = _log2(m, x)
    zero = m.operand(0.0)
    high, low = _product(m, log, log_low, y, zero)
    low = m.select(m.compare("olt", m.call("fabs", high), 1100.0), low, 0.0)  # or it outgrows the clamped high
    return exp2_of_sum(m, high, low)


def pow(w: Writer, kind: str, x: str, y: str) -> str:
    """The special cases are C's: those of a positive x, the sign, the undefined, then the two that beat NaN."""
    m = Real(w, kind)
    size = m.call("fabs", x)
    bounded = m.clamp(y, *((-(2.0**127), 2.0**127) if kind == "f32" else (-(2.0**66), 2.0**66)))  # 0 * inf is NaN
    result = _power_in_f64(w, size, bounded) if kind == "f32" else _power(m, size, bounded)
    falling = m.compare("olt", y, 0.0)
    result = m.select(m.compare("oeq", size, 0.0), m.select(falling, math.inf, 0.0), result)
    result = m.select(m.compare("oeq", size, math.inf), m.select(falling, 0.0, math.inf), result)

    fractional = m.compare("une", m.call("rint", y), y)
    half = m.mul(y, 0.5)
    half_odd = m.compare("une", m.call("rint", half), half)
    odd = w.select("i1", fractional, w.splat("i1", False), half_odd)
    sign = m.on_bits("and", m.bits(m.select(odd, x, 0.0)), 1 << (m.width - 1))
    result = m.from_bits(m.on_bits("or", m.bits(result), sign))

    negative = w.binary("and", "i1", m.compare("olt", x, 0.0), m.compare("olt", size, math.inf))
    root_of_negative = w.binary("and", "i1", negative, fractional)
    undefined = w.binary("or", "i1", root_of_negative, m.compare("uno", x, y))
    result = m.select(undefined, math.nan, result)
    one = w.binary("or", "i1", m.compare("oeq", x, 1.0), m.compare("oeq", y, 0.0))
    return m.select(one, 1.0, result)
