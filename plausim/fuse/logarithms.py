"""log and log1p. Both: (w, kind, x) -> name of the result."""

import math

from plausim.fuse.exponentials import LN2
from plausim.fuse.ir import Writer
from plausim.fuse.real import Real

_SQRT_HALF = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}  # as bits
_TINY = {"f32": 24, "f64": 54}  # this many doublings make a denormal normal
# f32: log(1 + f) = f + f^2 L(f) on [sqrt(1/2) - 1, sqrt(2) - 1]. Error: 2^-25.
_LOG = (-0.4999999, 0.3333395, -0.25001782, 0.19962047, -0.16570191, 0.14918126, -0.14308476, 0.08734364)
# f64: log(1 + f) = s (2 + u L(u)) with s = f / (2 + f), u = s^2. Error: 2^-59.
_ATANH = (
    0.6666666666666735,
    0.39999999999408586,
    0.28571428743969723,
    0.22222198391064701,
    0.18183574705481964,
    0.15313763595575816,
    0.14799020263607035,
)


def split(m: Real, x: str) -> tuple[str, str, str]:
    """x = 2^e (1 + f), 1 + f within sqrt(1/2) and sqrt(2): e, f, and the bits of 2^(bias + 1 + e).

    For positive normal x; garbage without a trap for others.
    """
    lift = (m.bias + 1) << m.mantissa  # makes e positive, so that it can slide into the mantissa of a float
    word = m.on_bits("add", m.bits(x), lift - _SQRT_HALF[m.kind])
    exponent = m.on_bits("lshr", word, m.mantissa)
    one = 2.0**m.mantissa
    magic = (m.bias + m.mantissa) << m.mantissa  # the bits of `one`
    e = m.sub(m.from_bits(m.on_bits("or", exponent, magic)), one + m.bias + 1)
    fraction = (1 << m.mantissa) - 1
    f = m.sub(m.from_bits(m.on_bits("add", m.on_bits("and", word, fraction), _SQRT_HALF[m.kind])), 1.0)
    return e, f, word


def split_any(m: Real, x: str) -> tuple[str, str]:
    """e and f for denormals too."""
    tiny = m.compare("olt", x, m.smallest_normal)
    shift = _TINY[m.kind]
    e, f, _ = split(m, m.select(tiny, m.mul(x, 2.0**shift), x))
    return m.sub(e, m.select(tiny, float(shift), 0.0)), f


def _log_of_parts(m: Real, e: str, f: str) -> str:
    """e ln 2 + log(1 + f); where e is not 0 the last fma is the only rounding that counts."""
    high, low = LN2[m.kind]
    low_part = m.mul(e, low)
    if m.kind == "f32":
        rest = m.add(f, m.fma(m.mul(f, f), m.polynomial(f, _LOG), low_part))
    else:
        s = m.div(f, m.add(f, 2.0))
        u = m.mul(s, s)
        half_square = m.mul(m.mul(f, 0.5), f)
        bent = m.fma(s, m.fma(u, m.polynomial(u, _ATANH), half_square), low_part)
        rest = m.sub(f, m.sub(half_square, bent))
    return m.fma(e, high, rest)


def _at_the_ends(m: Real, x: str, y: str) -> str:
    """log x where x is not positive and finite; y elsewhere."""
    y = m.select(m.compare("olt", x, math.inf), y, x)  # NaN and inf stay what they are
    at_most_zero = m.select(m.compare("oeq", x, 0.0), -math.inf, math.nan)
    return m.select(m.compare("ole", x, 0.0), at_most_zero, y)


def log(w: Writer, kind: str, x: str) -> str:
    m = Real(w, kind)
    return _at_the_ends(m, x, _log_of_parts(m, *split_any(m, x)))


def log1p(w: Writer, kind: str, x: str) -> str:
    """log(u + lost), u = fl(1 + x): what the sum lost goes back into f."""
    m = Real(w, kind)
    u = m.add(x, 1.0)
    added = m.sub(u, 1.0)
    lost = m.add(m.sub(1.0, m.sub(u, added)), m.sub(x, added))
    e, f, word = split(m, u)
    exponent = m.on_bits("and", word, -1 << m.mantissa)
    inverse = m.on_bits("sub", (2 * m.bias + 1) << m.mantissa, exponent)  # the bits of 2^-e
    inverse = w.intrinsic("smax", m.integer, inverse, w.splat(m.integer, 0))  # e = bias + 1 has none, nor needs it
    y = _log_of_parts(m, e, m.fma(lost, m.from_bits(inverse), f))
    return m.call("copysign", _at_the_ends(m, u, y), x)
