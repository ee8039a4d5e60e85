"""sin, cos and tan: reduction modulo pi/2 in two words, then polynomials on [-pi/4, pi/4].

Near zero the reduction follows W. Cody and W. Waite, "Software Manual for the Elementary Functions", 1980, with fused
multiply-adds and the rounding error kept (T. Dekker's fast two-sum); far.py has the rest. Coefficients:
tools/accuracy/coefficients.py.

`fast` leaves out far.py: beyond 2^17 (f32) or 2^30 (f64) the result is what the reduction for near arguments makes of
them, a number without meaning; infinities and NaN still give NaN.
"""

from __future__ import annotations

from ...ir import scalar_ops as ops
from . import coefficients as table
from .algorithms import ALGORITHMS, FAST, SINCOS, computes
from .far import Reduced, reduce_far
from .formats import format_of
from .num import Num, branch, horner

NEAR = {"f32": 2.0**17, "f64": 2.0**30}


@computes(ops.SIN, ALGORITHMS, FAST)
def sin(x: Num, fast: bool = False) -> Num:
    """The sine, from the quadrant's polynomial and sign."""
    r = reduce(x, fast)
    sine, cosine = both(r)
    return turned(sine, cosine, r.quadrant)


@computes(ops.COS, ALGORITHMS, FAST)
def cos(x: Num, fast: bool = False) -> Num:
    """The cosine: the sine a quadrant further on."""
    r = reduce(x, fast)
    sine, cosine = both(r)
    return turned(sine, cosine, r.quadrant + 1)


@computes(SINCOS, ALGORITHMS, FAST)
def sincos(x: Num, fast: bool = False) -> tuple[Num, Num]:
    """Both, for the price of one reduction; the same bits as `sin` and `cos`."""
    r = reduce(x, fast)
    sine, cosine = both(r)
    return turned(sine, cosine, r.quadrant), turned(sine, cosine, r.quadrant + 1)


def both(r: Reduced) -> tuple[Num, Num]:
    """Sine and cosine of the reduced argument."""
    name = r.high.dtype.name
    square = r.high * r.high
    sine = r.high - (square * r.high).fma(horner(square, table.SIN[name]), r.minus)
    near_one = square.fma(-0.5, 1.0)
    lost = square.fma(-0.5, 1.0 - near_one)  # exactly what rounding `near_one` lost
    cosine = near_one + (square * square).fma(horner(square, table.COS[name]), r.high.fma(r.minus, lost))
    return sine, cosine


def turned(sine: Num, cosine: Num, quadrant: Num) -> Num:
    """The sine of the whole argument."""
    return oriented((quadrant & 1).ne(0).where(cosine, sine), quadrant)


def oriented(value: Num, quadrant: Num) -> Num:
    """With the other sign in the last two quadrants."""
    fmt = format_of(value)
    sign = (quadrant & 2) << (fmt.dtype.bits - 2)
    return (value.bits(fmt.signed) ^ sign).bits(fmt.dtype)


def reduce(x: Num, fast: bool = False) -> Reduced:
    """x modulo pi/2 for every finite x (if `fast`, for near ones); a NaN or an infinity becomes NaN."""
    if fast:
        return _cody_waite(x)
    near = abs(x) <= NEAR[x.dtype.name]
    return Reduced(*branch(near, lambda: list(_cody_waite(x)), lambda: list(reduce_far(x))))


def _cody_waite(x: Num) -> Reduced:
    fmt = format_of(x)
    c1, c2, c3 = table.HALF_PI[fmt.name]
    shifted = x.fma(table.TWO_OVER_PI[fmt.name][0], fmt.magic)
    k = shifted - fmt.magic
    rest = k.fma(-c1, x)  # exact: a multiple of the last place of c1 or x, and below 1
    second = k * c2
    high = rest - second
    minus = k.fma(c2, high - rest)  # the difference is exact: `rest` is a multiple of the last place of `second`
    return Reduced(shifted.bits(fmt.signed), high, k.fma(c3, minus))


@computes(ops.TAN, ALGORITHMS, FAST)
def tan(x: Num, fast: bool = False) -> Num:
    """The tangent: sine over cosine, or minus cosine over sine in odd quadrants, both in two words."""
    name = x.dtype.name
    r = reduce(x, fast)
    square = r.high * r.high
    square_low = r.high.fma(r.high, -square)
    cube = square * r.high
    cube_low = square.fma(r.high, -cube) + square_low * r.high
    fine = table.SIN_FINE[name]
    wave = cube.fma(horner(square, fine), cube_low.fma(fine[0], r.minus))
    sine = r.high - wave
    sine_low = (r.high - sine) - wave
    near_one = square.fma(-0.5, 1.0)
    lost = square.fma(-0.5, 1.0 - near_one) + square_low * -0.5
    rest = (square * square).fma(horner(square, table.COS[name]), r.high.fma(r.minus, lost))
    cosine = near_one + rest
    cosine_low = (near_one - cosine) + rest
    odd = (r.quadrant & 1).ne(0)
    above, above_low = odd.where(-cosine, sine), odd.where(-cosine_low, sine_low)
    below, below_low = odd.where(sine, cosine), odd.where(sine_low, cosine_low)
    inverse = 1.0 / below
    value = above * inverse
    remainder = value.fma(-below, above) + (above_low - value * below_low)
    tiny = abs(x) < 2.0 ** -(format_of(x).mantissa // 2 + 2)
    return tiny.where(x, remainder.fma(inverse, value))
