"""asin, acos, atan, atan2: odd polynomials, with the far range folded back.

Folding: asin x = pi/2 - 2 asin sqrt((1 - x) / 2) above 1/2; atan x = pi/4 + atan((x - 1) / (x + 1)) above 1/2, and
pi/2 - atan(1/x) above 2; the rounding errors of the folded argument are kept. After W. Cody and W. Waite, "Software
Manual for the Elementary Functions", 1980. Coefficients: tools/accuracy/coefficients.py.
"""

from __future__ import annotations

from ...ir import scalar_ops as ops
from . import coefficients as table
from .algorithms import computes
from .formats import INFINITY, format_of
from .num import Num, horner


@computes(ops.ATAN)
def atan(x: Num) -> Num:
    """The arc tangent."""
    value, tail = atan_ratio(abs(x), x.const(1.0))
    return (value + tail).copysign(x)


def atan_ratio(top: Num, bottom: Num) -> tuple[Num, Num]:
    """atan(top / bottom) of positive numbers in two words.

    The quotient is less than 1/2, more than 2, or between, where pi/4 is taken out.
    """
    shallow, steep = top < bottom * 0.5, top > bottom * 2.0
    upper = top > bottom
    half_pi = table.HALF_PI[top.dtype.name]
    total = top + bottom
    lost = upper.where(bottom, top) - (total - upper.where(top, bottom))
    above = shallow.where(top, steep.where(-bottom, top - bottom))
    below = shallow.where(bottom, steep.where(top, total))
    high = shallow.where(top.const(0.0), steep.where(top.const(half_pi[0]), half_pi[0] / 2))
    low = shallow.where(top.const(0.0), steep.where(top.const(half_pi[1]), half_pi[1] / 2))
    below_low = (shallow | steep).where(0.0, lost)
    r = above / below
    # what the quotient lost, weighed with atan' = 1 / (1 + r^2); where the divisor is infinite that is nothing
    remainder = r.fma(-below, above) - r * below_low
    square = r * r
    rest = remainder / (below * (1.0 + square))
    rest = rest.is_nan().where(0.0, rest)
    value = high + r
    wave = (square * r).fma(horner(square, table.ATAN[top.dtype.name]), rest)
    return value, ((high - value) + r) + (low + wave)


@computes(ops.ASIN)
def asin(x: Num) -> Num:
    """The arc sine; NaN outside [-1, 1]."""
    size = abs(x)
    far = size > 0.5
    square, r, low = _folded(size, far)
    wave = (square * r) * horner(square, table.ASIN[x.dtype.name])
    near_value = r + wave
    high, low_word, _ = table.HALF_PI[x.dtype.name]
    twice = r * 2.0
    lead = high - twice
    far_value = lead + (((high - lead) - twice) + (low_word - 2.0 * (wave + low)))
    return far.where(far_value, near_value).copysign(x)


def _folded(size: Num, far: Num) -> tuple[Num, Num, Num]:
    """The square, the argument and its low word: of |x| near, of sqrt((1 - |x|) / 2) far."""
    half = (1.0 - size) * 0.5
    square = far.where(half, size * size)
    root = half.sqrt()
    r = far.where(root, size)
    lost = root.fma(-root, half)
    low = (half > 0.0).where(lost / (root + root), 0.0)
    return square, r, low


@computes(ops.ACOS)
def acos(x: Num) -> Num:
    """The arc cosine; NaN outside [-1, 1]."""
    size = abs(x)
    far = size > 0.5
    square, r, low = _folded(size, far)
    wave = (square * r) * horner(square, table.ASIN[x.dtype.name])
    high, low_word, _ = table.HALF_PI[x.dtype.name]
    signed, signed_wave = r.copysign(x), wave.copysign(x)
    lead = high - signed
    near_value = lead + (((high - lead) - signed) + (low_word - signed_wave))
    corrected = wave + low
    positive = 2.0 * (r + corrected)
    twice = r * 2.0
    start = 2.0 * high - twice
    negative = start + (((2.0 * high - start) - twice) + (2.0 * low_word - 2.0 * corrected))
    return far.where((x > 0.0).where(positive, negative), near_value)


@computes(ops.ATAN2)
def atan2(y: Num, x: Num) -> Num:
    """The angle of the point (x, y), with the signed zeros and infinities of IEEE 754."""
    fmt = format_of(x)
    top, bottom = abs(y), abs(x)
    both_infinite = top.eq(INFINITY) & bottom.eq(INFINITY)
    both_zero = top.eq(0.0) & bottom.eq(0.0)
    # keep sums, and remainders of the quotient, inside the normal range; what is made smaller loses nothing that counts
    largest = (top > bottom).where(top, bottom)
    shift = 2.0 ** (fmt.bias // 3)
    factor = (largest > 1.0 / shift).where(top.const(1.0), shift)
    factor = (largest > 2.0 ** (fmt.bias - 2)).where(0.125, factor)
    angle, tail = atan_ratio(both_infinite.where(1.0, top * factor), both_infinite.where(1.0, bottom * factor))
    angle, tail = both_zero.where(0.0, angle), both_zero.where(0.0, tail)
    high, low, _ = (2.0 * word for word in table.HALF_PI[fmt.name])
    left = x.bits(fmt.signed) < 0
    turned = high - angle
    turned = turned + (((high - turned) - angle) + (low - tail))
    value = left.where(turned, angle + tail).copysign(y)
    return (x.is_nan() | y.is_nan()).where(float("nan"), value)
