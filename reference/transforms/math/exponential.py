"""exp, exp2, expm1, sinh, cosh, tanh: 2^k times a polynomial on half a binade.

Method: P. Tang, "Table-driven implementation of the exponential function", ACM TOMS 15(2), 1989, without the table;
expm1 after his "Table-driven implementation of the expm1 function", ACM TOMS 18(2), 1992. sinh, cosh and tanh combine
e^x and its reciprocal in two words. Coefficients: tools/accuracy/coefficients.py.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir import scalar_ops as ops
from . import coefficients as table
from .algorithms import SINHCOSH, computes
from .formats import clamp, format_of, power_of_two, rounded_integer, scale, two_sum_error
from .num import Num, horner

# beyond these e^x is 0 or infinite; 2^x is beyond +-reach
_LOWEST = {"f32": -104.0, "f64": -746.0}
_HIGHEST = {"f32": 89.0, "f64": 710.0}
# below this e^x - 1 is -1; above, tanh x is 1
_MINUS_ONE = {"f32": -18.0, "f64": -38.0}
_SATURATED = {"f32": 10.0, "f64": 20.0}


class Split(NamedTuple):
    """x = k ln 2 + r + low: k an integer, |r| at most half of ln 2."""

    k: Num
    r: Num
    low: Num


def split(x: Num) -> Split:
    """Take the nearest multiple of ln 2 out of x."""
    name = x.dtype.name
    k, rounded = rounded_integer(x, table.LOG2_E[name][0])
    first, second = table.LN2[name]
    lead = rounded.fma(-first, x)  # exact
    r = rounded.fma(-second, lead)
    return Split(k, r, rounded.fma(-second, lead - r))


@computes(ops.EXP)
def exp(x: Num) -> Num:
    """e^x."""
    name = x.dtype.name
    s = split(clamp(x, _LOWEST[name], _HIGHEST[name]))
    return scale(1.0 + ((s.r * s.r).fma(horner(s.r, table.EXP[name]), s.low) + s.r), s.k)


@computes(ops.EXP2)
def exp2(x: Num) -> Num:
    """2^x."""
    reach = float(format_of(x).reach)
    x = clamp(x, -reach, reach)
    k, rounded = rounded_integer(x)
    r = x - rounded
    return scale(r.fma(horner(r, table.EXP2[x.dtype.name]), 1.0), k)


class Grown(NamedTuple):
    """e^x = 2^k (high + low)."""

    k: Num
    high: Num
    low: Num


def grow(x: Num) -> Grown:
    """e^x in two words, for an x whose power is finite."""
    s = split(x)
    rest = (s.r * s.r).fma(horner(s.r, table.EXPM1[x.dtype.name]), s.low)
    high = 1.0 + s.r
    return Grown(s.k, high, (s.r - (high - 1.0)) + rest)


class Difference(NamedTuple):
    """e^x - 1 = 2 (high + low), halved so that it can't overflow; low need not be small."""

    high: Num
    low: Num


def _expm1(x: Num) -> Difference:
    s = split(x)
    rest = (s.r * s.r).fma(horner(s.r, table.EXPM1[x.dtype.name]), s.low)
    unit = power_of_two(s.k - 1, format_of(x))
    base, step = unit - 0.5, unit * s.r
    lost = (unit - base) - 0.5
    high = base + step
    low = (base - high) + step  # exact: base is the larger, or zero
    return Difference(high, unit.fma(rest, low) + lost)


@computes(ops.EXPM1)
def expm1(x: Num) -> Num:
    """e^x - 1 without cancellation."""
    name = x.dtype.name
    d = _expm1(clamp(x, _MINUS_ONE[name], _HIGHEST[name]))
    tiny = abs(x) < 2.0 ** -(format_of(x).mantissa + 3)
    return tiny.where(x, (d.high + d.low) * 2.0)


class Hyperbolic(NamedTuple):
    """Half of e^size and of e^-size, as 2^(k - 1) times the sum of the first two numbers and times the third one."""

    grown: Grown
    inverse: Num


def _hyperbolic(size: Num) -> Hyperbolic:
    g = grow(clamp(size, 0.0, _HIGHEST[size.dtype.name] + 1.0))
    return Hyperbolic(g, _reciprocal(g))


@computes(ops.SINH)
def sinh(x: Num) -> Num:
    """(e^x - e^-x) / 2; a polynomial below 1."""
    size = abs(x)
    return _sine(x, size, _hyperbolic(size))


@computes(ops.COSH)
def cosh(x: Num) -> Num:
    """(e^x + e^-x) / 2."""
    return _cosine(_hyperbolic(abs(x)))


@computes(SINHCOSH)
def sinhcosh(x: Num) -> tuple[Num, Num]:
    """Both, for the price of one exponential; the same bits as `sinh` and `cosh`."""
    size = abs(x)
    h = _hyperbolic(size)
    return _sine(x, size, h), _cosine(h)


def _sine(x: Num, size: Num, h: Hyperbolic) -> Num:
    g, inverse = h
    high = g.high - inverse
    low = ((g.high - high) - inverse) + g.low
    large = scale(high + low, g.k - 1)
    square = x * x
    small = (square * size).fma(horner(square, table.SINH[x.dtype.name]), size)
    return (size < 1.0).where(small, large).copysign(x)


def _cosine(h: Hyperbolic) -> Num:
    g, inverse = h
    high = g.high + inverse
    low = ((g.high - high) + inverse) + g.low
    return scale(high + low, g.k - 1)


def _reciprocal(g: Grown) -> Num:
    """e^-x / 2^k; where that is too small to count, something as small."""
    fmt = format_of(g.high)
    down = -2 * g.k
    down = (down < 1 - fmt.bias).where(1 - fmt.bias, down)
    return power_of_two(down, fmt) / (g.high + g.low)


@computes(ops.TANH)
def tanh(x: Num) -> Num:
    """E / (E + 2) with E = e^2x - 1 in two words, and one division."""
    size = abs(x)
    d = _expm1(clamp(size, 0.0, _SATURATED[x.dtype.name]) * 2.0)
    high = d.high + d.low
    low = (d.high - high) + d.low
    below = high + 1.0
    below_low = two_sum_error(high, 1.0, below) + low
    inverse = 1.0 / below
    quotient = high * inverse
    rest = quotient.fma(-below, high) + quotient.fma(-below_low, low)
    tiny = size < 2.0 ** -(format_of(x).mantissa // 2 + 2)
    return tiny.where(size, rest.fma(inverse, quotient)).copysign(x)
