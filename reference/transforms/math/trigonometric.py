"""sin, cos and tan of f32: reduction modulo pi/2 in two words, then polynomials on [-pi/4, pi/4].

Reduction: W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, with fused multiply-adds and the
rounding error kept (T. Dekker's fast two-sum); above 2^17, M. Payne and R. Hanek, "Radian reduction for trigonometric
functions", SIGNUM Newsletter 18, 1983. Coefficients: tools/accuracy/minimax.py.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.types import i32, i64, u32, u64
from .num import Num, branch, horner


class Reduced(NamedTuple):
    """x = quadrant * pi/2 + high - minus, |high| at most about pi/4; of the quadrant only the two lowest bits count.

    The low word is kept negated so that a zero keeps its sign through the last subtraction.
    """

    quadrant: Num
    high: Num
    minus: Num


_TWO_OVER_PI = float.fromhex("0x1.45f306p-1")
# pi/2 in three words, the first rounded down so that the second is positive
_HALF_PI = tuple(map(float.fromhex, ("0x1.921fb4p+0", "0x1.4442d2p-24", "-0x1.ee59dap-50")))
_MAGIC = 1.5 * 2.0**23  # adding it rounds to an integer, whose low bits then are those of the sum
_NEAR = 131072.0

# (1 - sin r / r) / r^2 and (cos r - 1 + r^2 / 2) / r^4 in r^2; relative errors of sin and cos: 2^-28.0, 2^-33.1
_SIN = tuple(map(float.fromhex, ("0x1.555546p-3", "-0x1.11077cp-7", "0x1.9955b0p-13")))
_COS = tuple(map(float.fromhex, ("0x1.55554ap-5", "-0x1.6c0c1ap-10", "0x1.99e0f2p-16")))

# 2/pi after the binary point, in 32-bit words, behind one word of zeros
_BITS = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)
_HALF_PI_HIGH = float.fromhex("0x1.921fb6p+0")
_HALF_PI_LOW = float.fromhex("-0x1.777a5cp-25")


def sin_f32(x: Num) -> Num:
    """The sine, from the quadrant's polynomial and sign."""
    r = reduce_f32(x)
    return _quadrant(r, r.quadrant)


def cos_f32(x: Num) -> Num:
    """The cosine: the sine a quadrant further on."""
    r = reduce_f32(x)
    return _quadrant(r, r.quadrant + 1)


def _quadrant(r: Reduced, quadrant: Num) -> Num:
    square = r.high * r.high
    sine = r.high - (square * r.high).fma(horner(square, _SIN), r.minus)
    near_one = square.fma(-0.5, 1.0)
    lost = square.fma(-0.5, 1.0 - near_one)  # exactly what rounding `near_one` lost
    cosine = near_one + (square * square).fma(horner(square, _COS), r.high.fma(r.minus, lost))
    chosen = (quadrant & 1).ne(0).where(cosine, sine)
    sign = (quadrant & 2) << 30
    return (chosen.bits(i32) ^ sign).bits(chosen.dtype)


def reduce_f32(x: Num) -> Reduced:
    """x modulo pi/2 for every finite x; a NaN or an infinity becomes NaN."""
    return Reduced(*branch(abs(x) <= _NEAR, lambda: list(_cody_waite(x)), lambda: list(_payne_hanek(x))))


def _cody_waite(x: Num) -> Reduced:
    c1, c2, c3 = _HALF_PI
    shifted = x.fma(_TWO_OVER_PI, _MAGIC)
    k = shifted - _MAGIC
    rest = k.fma(-c1, x)  # exact: a multiple of the last place of c1 or x, and below 1
    second = k * c2
    high = rest - second
    minus = k.fma(c2, high - rest)  # the difference is exact: `rest` is a multiple of the last place of `second`
    return Reduced(shifted.bits(i32), high, k.fma(c3, minus))


def _payne_hanek(x: Num) -> Reduced:
    """The 24-bit significand times those 96 bits of 2/pi that decide the product modulo 4 at this exponent."""
    word = x.bits(u32)
    biased = (word >> 23) & 255
    significand = ((word & 0x7FFFFF) | 0x800000).to(u64)
    # the bits before this one weigh 4 or more once multiplied by 2^(biased - 150); one word of zeros is in front
    skip = biased - 120
    index, shift = skip >> 5, (skip & 31).to(u64)
    words = [_word(index, k) for k in range(4)]
    high, middle, low = (((((a << 32) | b) << shift) >> 32) for a, b in zip(words, words[1:]))
    product = ((significand * high) << 32) + significand * middle + ((significand * low) >> 32)
    # x * 2/pi modulo 4 in units of 2^-62; the nearest integer leaves, a signed fraction in units of 2^-64 stays
    quadrant = ((product + (1 << 61)) >> 62).to(i32)
    fraction = (product << 2).bits(i64)
    lead = fraction.to(x.dtype)
    rest = (fraction - lead.to(i64)).to(x.dtype)
    unit = 2.0**-64
    lead, rest = lead * unit, rest * unit
    product_high = lead * _HALF_PI_HIGH
    product_low = lead.fma(_HALF_PI_HIGH, -product_high) + lead.fma(_HALF_PI_LOW, rest * _HALF_PI_HIGH)
    reduced = product_high + product_low
    minus = (reduced - product_high) - product_low
    negative = x < 0.0
    bad = x - x  # NaN for infinities and NaN, else 0
    return Reduced(
        negative.where(-quadrant, quadrant),
        negative.where(-reduced, reduced) + bad,
        negative.where(-minus, minus),
    )


def _word(index: Num, offset: int) -> Num:
    """The word of 2/pi at `index + offset`, index from 0 to 4."""
    chosen = index.const(_BITS[offset])
    for k in range(1, 5):
        if k + offset < len(_BITS):
            chosen = index.eq(k).where(_BITS[k + offset], chosen)
    return chosen.to(u64)


# (tan r / r - 1) / r^2 in r^2
_TAN: tuple[float, ...] = ()
