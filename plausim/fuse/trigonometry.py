"""sin, cos, tan and their inverses. Every function: (w, kind, x[, y]) -> name of the result.

A turn is taken off by n multiples of pi / 2 in three parts (Cody and Waite): n times the first part is subtracted
exactly by fma, and the parts are all positive so that -0.0 keeps its sign. The quadrant is read from the low bits of
the sum that rounded n. Good to 2.2 ulp up to abs(x) = 1e4, to 5 / 10^7 up to 2e6 in f32 and to 5 / 10^15 up to 1e15
in f64. Beyond, n loses its last bits; neighbouring floats then lie a good part of a turn apart, and the answer is some
number in [-1, 1].
"""

import math

from plausim.fuse.ir import Writer
from plausim.fuse.real import Real

_HALF_PI = {
    "f32": (1.570796251296997, 7.549789415861596e-08, 5.390302953474238e-15),
    "f64": (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
}
# Minimax on [0, pi / 4], in u = r^2: sin r = r (1 + u S(u)), cos r = 1 + u C(u). Errors: 2^-28, 2^-58 and 2^-25, 2^-54.
_SIN = {
    "f32": (-0.16666654, 0.008332106, -0.00019507883),
    "f64": (
        -0.1666666666666663,
        0.008333333333321745,
        -0.00019841269829238626,
        2.755731348681076e-06,
        -2.505072512822998e-08,
        1.5894843521091636e-10,
    ),
}
_COS = {
    "f32": (-0.4999988, 0.041655533, -0.0013588603),
    "f64": (
        -0.4999999999999938,
        0.041666666666478766,
        -0.0013888888869849512,
        2.4801578387107765e-05,
        -2.7555200652113234e-07,
        2.062817773800959e-09,
    ),
}
# The same for sin on [0, pi / 2]. Errors: 2^-27, 2^-61.
_SIN_WIDE = {
    "f32": (-0.1666666, 0.008333068, -0.0001980966, 2.605756e-06),
    "f64": (
        -0.16666666666666666,
        0.008333333333333205,
        -0.00019841269841211492,
        2.7557319211359113e-06,
        -2.505210688236719e-08,
        1.6058939782986796e-10,
        -7.642985265734476e-13,
        2.721039108840859e-15,
    ),
}
# atan q = q (1 + u A(u)) on [0, 1]. Errors: 2^-26, 2^-54.
_ATAN = {
    "f32": (
        -0.33333153,
        0.19993767,
        -0.14211002,
        0.10665769,
        -0.075516604,
        0.043204863,
        -0.016363472,
        0.002919572,
    ),
    "f64": (
        -0.3333333333333186,
        0.1999999999975518,
        -0.14285714271340874,
        0.11111110678870986,
        -0.09090901236915927,
        0.07692212943376803,
        -0.06665860440483676,
        0.05877308113300999,
        -0.05239234103257076,
        0.04673952035049465,
        -0.04092641066854646,
        0.03406779313097644,
        -0.025826645226680985,
        0.016977705590095822,
        -0.00918413557934743,
        0.00385562517974429,
        -0.0011638886467023417,
        0.0002229668836577955,
        -2.02511159890731e-05,
    ),
}


def _take_off(m: Real, x: str, n: str, turn: float) -> str:
    """x - n turn pi / 2, to full precision."""
    r = x
    for part in _HALF_PI[m.kind]:
        r = m.fma(n, -turn * part, r)
    return r


def _quarter_turns(m: Real, x: str) -> tuple[str, str]:
    """x = q pi / 2 + r with abs(r) <= pi / 4: the word whose low bits are q, and r."""
    rounded = m.fma(x, 2 / math.pi, m.magic)
    r = _take_off(m, x, m.sub(rounded, m.magic), 1.0)
    return m.bits(rounded), m.clamp(r, -1.0, 1.0)


def _sin_and_cos_of_rest(m: Real, r: str) -> tuple[str, str]:
    """The sine as a product, so that -0.0 stays -0.0."""
    u = m.mul(r, r)
    sine = m.mul(r, m.fma(u, m.polynomial(u, _SIN[m.kind]), 1.0))
    return sine, m.fma(u, m.polynomial(u, _COS[m.kind]), 1.0)


def _sin_of_wide_rest(m: Real, r: str) -> str:
    """The clamp takes off an excess of one ulp over 1, and bounds what comes of an x too large to reduce."""
    u = m.mul(r, r)
    return m.clamp(m.mul(r, m.fma(u, m.horner(u, _SIN_WIDE[m.kind]), 1.0)), -1.0, 1.0)


def sincos(w: Writer, kind: str, x: str) -> tuple[str, str]:
    """Both, for little more than the price of one."""
    m = Real(w, kind)
    q, r = _quarter_turns(m, x)
    s, c = _sin_and_cos_of_rest(m, r)
    swap = m.bit_is_set(q, 0)
    sine = m.flip_sign(m.select(swap, c, s), q, 1)
    cosine = m.flip_sign(m.select(swap, s, c), m.on_bits("add", q, 1), 1)
    return sine, cosine


def sin(w: Writer, kind: str, x: str) -> str:
    """Alone, half turns are shorter: one odd polynomial, no swap."""
    m = Real(w, kind)
    rounded = m.fma(x, 1 / math.pi, m.magic)
    r = _take_off(m, x, m.sub(rounded, m.magic), 2.0)
    return m.flip_sign(_sin_of_wide_rest(m, r), m.bits(rounded), 0)


def cos(w: Writer, kind: str, x: str) -> str:
    """cos x = (-1)^n sin(r) with r = x - (n - 1/2) pi."""
    m = Real(w, kind)
    rounded = m.add(m.fma(x, 1 / math.pi, 0.5), m.magic)
    n = m.sub(m.sub(rounded, m.magic), 0.5)
    r = _take_off(m, x, n, 2.0)
    return m.flip_sign(_sin_of_wide_rest(m, r), m.bits(rounded), 0)


def tan(w: Writer, kind: str, x: str) -> str:
    """s / c in even quadrants, -c / s in odd ones."""
    m = Real(w, kind)
    q, r = _quarter_turns(m, x)
    s, c = _sin_and_cos_of_rest(m, r)
    swap = m.bit_is_set(q, 0)
    return m.flip_sign(m.div(m.select(swap, c, s), m.select(swap, s, c)), q, 0)


def _atan_of_ratio(m: Real, q: str) -> str:
    u = m.mul(q, q)
    return m.fma(m.mul(q, u), m.polynomial(u, _ATAN[m.kind]), q)


def atan(w: Writer, kind: str, x: str) -> str:
    m = Real(w, kind)
    size = m.call("fabs", x)
    steep = m.compare("ogt", size, 1.0)
    angle = _atan_of_ratio(m, m.div(m.select(steep, 1.0, size), m.select(steep, size, 1.0)))
    return m.call("copysign", m.select(steep, m.sub(math.pi / 2, angle), angle), x)


def atan2(w: Writer, kind: str, y: str, x: str) -> str:
    """The ratio of the smaller to the larger, then the octant; 0 / 0 counts as 0 and inf / inf as 1."""
    m = Real(w, kind)
    across, up = m.call("fabs", x), m.call("fabs", y)
    steep = m.compare("ogt", up, across)
    small, large = m.select(steep, across, up), m.select(steep, up, across)
    ratio = m.div(small, m.select(m.compare("oeq", large, 0.0), 1.0, large))
    both_infinite = w.binary("and", "i1", m.compare("oeq", small, math.inf), m.compare("oeq", large, math.inf))
    angle = _atan_of_ratio(m, m.select(both_infinite, 1.0, ratio))
    angle = m.select(steep, m.sub(math.pi / 2, angle), angle)
    angle = m.select(m.bit_is_set(m.bits(x), m.width - 1), m.sub(math.pi, angle), angle)
    return m.call("copysign", angle, y)
