"""exp and what is made of it. Every function: (w, kind, x) -> name of the result."""

import math

from plausim.fuse.ir import Writer
from plausim.fuse.real import Operand, Real

LN2 = {"f32": (0.6931471824645996, -1.904654323148236e-09), "f64": (0.6931471805599453, 2.3190468138462996e-17)}
_INV_LN2 = 1 / math.log(2)
# Beyond these exp is 0, or infinite. They keep n and h below within the exponent's reach.
_RANGE = {"f32": (-105.0, 89.5), "f64": (-746.0, 710.5)}
_RANGE2 = {"f32": (-152.0, 130.0), "f64": (-1078.0, 1026.0)}
# e^r = 1 + r E(r) on [-ln 2, ln 2]. Errors: 2^-26, 2^-56.
_EXP = {
    "f32": (1.0, 0.50000036, 0.16666616, 0.0416612, 0.008335972, 0.0014105454, 0.00019629033),
    "f64": (
        1.0,
        0.4999999999999993,
        0.16666666666666938,
        0.041666666666702164,
        0.008333333333269695,
        0.0013888888883566376,
        0.00019841269892947178,
        2.480159083559477e-05,
        2.755730059383465e-06,
        2.7556156760492656e-07,
        2.5055042210263672e-08,
        2.1062436236788034e-09,
        1.5935090588963282e-10,
    ),
}
# e^r - 1 = r + r^2 E(r) on [-ln 2 / 2, ln 2 / 2]. Errors: 2^-26, 2^-55.
_EXPM1 = {
    "f32": (0.49999997, 0.16666543, 0.04166754, 0.008366538, 0.0013861104),
    "f64": (
        0.5000000000000006,
        0.16666666666666607,
        0.04166666666657381,
        0.00833333333337797,
        0.0013888888932305278,
        0.00019841269744078318,
        2.48015045337025e-05,
        2.7557385122745887e-06,
        2.7626294183656414e-07,
        2.5060884503540187e-08,
    ),
}
# 2^r = 1 + r E(r) on [-1/2, 1/2]. Errors: 2^-28, 2^-57.
_EXP2 = {
    "f32": (0.6931472, 0.24022648, 0.055503596, 0.0096185, 0.001339097, 0.00015328873),
    "f64": (
        0.6931471805599453,
        0.2402265069591011,
        0.055504108664821764,
        0.009618129107600654,
        0.0013333558146532613,
        0.0001540353045008985,
        1.525273364884752e-05,
        1.321543836505522e-06,
        1.0178153486860507e-07,
        7.073306667037007e-09,
        4.4398784828158534e-10,
    ),
}


def _round(m: Real, x: str, scale: float, bias: int) -> tuple[str, str]:
    """n, the integer nearest to x scale, and 2^(n + bias - m.bias)."""
    rounded = m.fma(x, scale, m.magic + bias)
    return m.sub(rounded, m.magic + bias), m.power_of_two(rounded)


def _less_logs(m: Real, x: str, n: str, times: float) -> str:
    """x - n times ln 2; the first product is exact."""
    high, low = LN2[m.kind]
    return m.fma(n, -times * low, m.fma(n, -times * high, x))


def _exp_within(m: Real, x: str) -> str:
    """x = 2 h ln 2 + r, and e^x = e^r 2^h 2^h: two factors reach the denormals and infinity with one rounding."""
    h, scale = _round(m, x, 0.5 * _INV_LN2, m.bias)
    r = _less_logs(m, x, h, 2.0)
    return m.mul(m.mul(m.fma(r, m.polynomial(r, _EXP[m.kind]), 1.0), scale), scale)


def exp(w: Writer, kind: str, x: str) -> str:
    m = Real(w, kind)
    return _exp_within(m, m.clamp(x, *_RANGE[kind]))


def exp2_of_sum(m: Real, high: str, low: Operand | None = None) -> str:
    """2^(high + low); exact where the sum is an integer."""
    high = m.clamp(high, *_RANGE2[m.kind])
    h, half = _round(m, high, 0.5, m.bias)
    rest = m.sub(high, h)
    n, scale = _round(m, rest, 1.0, m.bias)
    r = m.sub(rest, n)
    if low is not None:
        r = m.add(r, low)
    return m.mul(m.mul(m.fma(r, m.polynomial(r, _EXP2[m.kind]), 1.0), half), scale)


def exp2(w: Writer, kind: str, x: str) -> str:
    return exp2_of_sum(Real(w, kind), x)


def _expm1_of_rest(m: Real, r: str) -> str:
    return m.fma(m.mul(r, r), m.polynomial(r, _EXPM1[m.kind]), r)


def expm1(w: Writer, kind: str, x: str) -> str:
    """2^n (e^r - 1) + (2^n - 1), all halved so that n = 128 (1024) still fits."""
    m = Real(w, kind)
    within = m.clamp(x, -40.0, _RANGE[kind][1])
    n, half = _round(m, within, _INV_LN2, m.bias - 1)
    q = _expm1_of_rest(m, _less_logs(m, within, n, 1.0))
    result = m.mul(m.fma(half, q, m.sub(half, 0.5)), 2.0)
    return m.call("copysign", result, x)


def tanh(w: Writer, kind: str, x: str) -> str:
    """t / (t + 2) with t = e^(2 abs(x)) - 1."""
    m = Real(w, kind)
    size = m.at_most(m.call("fabs", x), 9.25 if kind == "f32" else 19.25)  # tanh rounds to 1 before that
    twice = m.add(size, size)
    n, scale = _round(m, twice, _INV_LN2, m.bias)
    q = _expm1_of_rest(m, _less_logs(m, twice, n, 1.0))
    t = m.fma(scale, q, m.sub(scale, 1.0))
    return m.call("copysign", m.div(t, m.fma(scale, q, m.add(scale, 1.0))), x)


def logistic(w: Writer, kind: str, x: str) -> str:
    """1 / (1 + e^-x), or e^x / (1 + e^x) where x < 0: e^-abs(x) never overflows."""
    m = Real(w, kind)
    e = _exp_within(m, m.at_least(m.negative(m.call("fabs", x)), _RANGE[kind][0]))
    return m.div(m.select(m.compare("olt", x, 0.0), e, 1.0), m.add(e, 1.0))
