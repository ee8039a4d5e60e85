"""rsqrt, cbrt and hypot, from the correctly rounded square root and corrected quotients.

The correction of a quotient or root by its fused remainder is from P. Markstein, "Computation of elementary functions
on the IBM RISC System/6000 processor", IBM J. Res. Dev. 34(1), 1990; the cube root's start from W. Kahan's note
"Computing a real cube root", 1991; the sum of squares in two words from T. Dekker, "A floating-point technique for
extending the available precision", Numer. Math. 18, 1971.
"""

from __future__ import annotations

from ...ir import scalar_ops as ops
from .algorithms import ALGORITHMS, FAST, computes
from .formats import INFINITY, Format, format_of
from .num import Num

# the bits of x are about its logarithm: this less a third of them is x^(-1/3) within 4 %
_GUESS = {"f32": 0x54A1F400, "f64": 0x553EF0FF289DD796}
_STEPS = {"f32": 2, "f64": 3}


@computes(ops.RSQRT, ALGORITHMS, FAST)
def rsqrt(x: Num, fast: bool = False) -> Num:
    """1 / sqrt(x), the rounding of the root undone to first order; if `fast`, not undone."""
    if fast:
        return 1.0 / x.sqrt()
    fmt = format_of(x)
    up = fmt.mantissa * 2 + 2
    tiny = x < 2.0 ** (up - fmt.bias)
    scaled = tiny.where(x * 2.0**up, x)
    root = scaled.sqrt()
    value = 1.0 / root
    lost = root.fma(-root, scaled)  # scaled = root^2 + lost
    fixed = value.fma(value.fma(-root, 1.0) - (lost * 0.5) * (value * value), value)
    fixed = fixed * tiny.where(x.const(2.0 ** (up // 2)), 1.0)
    ordinary = (x > 0.0) & (x < INFINITY)
    return ordinary.where(fixed, 1.0 / x.sqrt())


@computes(ops.CBRT)
def cbrt(x: Num) -> Num:
    """The cube root: a guess of its reciprocal from the exponent, refined, then one exact remainder."""
    fmt = format_of(x)
    size = abs(x)
    third = fmt.bias // 8 * 3  # a multiple of 3, well above the mantissa's width
    limit = 2.0 ** (fmt.bias - third)
    tiny, huge = size < 1.0 / limit, size > limit
    scaled = size * tiny.where(x.const(2.0**third), huge.where(x.const(2.0**-third), 1.0))
    guess = _reciprocal_guess(scaled, fmt)
    for _ in range(_STEPS[fmt.name]):
        guess = _refine(guess, scaled)
    value = (scaled * guess) * guess  # x / x^(2/3)
    square = value * value
    square_low = value.fma(value, -square)
    remainder = square.fma(-value, scaled) - square_low * value
    value = remainder.fma((guess * guess) * (1.0 / 3.0), value)
    back = 2.0 ** (third // 3)
    value = value * tiny.where(x.const(1.0 / back), huge.where(x.const(back), 1.0))
    ordinary = (size > 0.0) & (size < INFINITY)
    return ordinary.where(value.copysign(x), x + x)


def _reciprocal_guess(x: Num, fmt: Format) -> Num:
    half = fmt.dtype.bits // 2  # a third of the upper half of the bits is near enough
    third = (x.bits(fmt.signed) >> half) * ((1 << half) // 3)
    return (_GUESS[fmt.name] - third).bits(fmt.dtype)


def _refine(y: Num, x: Num) -> Num:
    """A third-order step toward x^(-1/3): with e = 1 - x y^3, y (1 + e/3 + 2 e^2 / 9)."""
    error = ((x * y) * y).fma(-y, 1.0)
    return y.fma(error * error.fma(2.0 / 9.0, 1.0 / 3.0), y)


@computes(ops.HYPOT)
def hypot(x: Num, y: Num) -> Num:
    """sqrt(x^2 + y^2) without overflow on the way, with both squares in two words; infinite if either is."""
    bias = format_of(x).bias
    edge, up, down = (bias * part // 127 for part in (60, 100, 66))
    x, y = abs(x), abs(y)
    larger = x > y
    large, small = larger.where(x, y), larger.where(y, x)
    tiny, huge = large < 2.0**-edge, large > 2.0**edge
    factor = tiny.where(x.const(2.0**up), huge.where(x.const(2.0**-down), 1.0))
    back = tiny.where(x.const(2.0**-up), huge.where(x.const(2.0**down), 1.0))
    large, small = large * factor, small * factor
    a, b = large * large, small * small
    total = a + b
    rest = ((a - total) + b) + (large.fma(large, -a) + small.fma(small, -b))
    root = total.sqrt()
    lost = root.fma(-root, total) + rest
    value = total.eq(0.0).where(total, root + lost / (root + root)) * back
    return (x.eq(INFINITY) | y.eq(INFINITY)).where(INFINITY, value)
