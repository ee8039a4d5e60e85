"""log, log2, log10, log1p: exponent and significand apart, a polynomial on [sqrt(1/2), sqrt(2)].

Method: P. Tang, "Table-driven implementation of the logarithm function", ACM TOMS 16(4), 1990, without the table; other
bases multiply in two words. Coefficients: tools/accuracy/coefficients.py.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir import scalar_ops as ops
from . import coefficients as table
from .algorithms import computes
from .formats import INFINITY, format_of
from .num import Num, horner

# the bits of sqrt(1/2)
_SQRT_HALF = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}


class Parts(NamedTuple):
    """x = 2^k (1 + f), 1 + f from sqrt(1/2) to sqrt(2); k as a float."""

    k: Num
    f: Num


def parts(x: Num) -> Parts:
    """Split a positive, finite x, subnormal or not."""
    fmt = format_of(x)
    root = _SQRT_HALF[fmt.name]
    tiny = x < fmt.smallest_normal
    word = tiny.where(x * 2.0 ** (fmt.mantissa + 1), x).bits(fmt.signed) - root
    k = (word >> fmt.mantissa).to(fmt.dtype) - tiny.where(x.const(fmt.mantissa + 1), 0.0)
    significand = ((word & fmt.significand_mask) + root).bits(fmt.dtype)
    return Parts(k, significand - 1.0)


def special(x: Num, value: Num) -> Num:
    """`value` where x is positive and finite; -inf at zero, NaN below, x itself at +inf and NaN."""
    ordinary = (x > 0.0) & (x < INFINITY)
    other = (x < 0.0).where(float("nan"), x.eq(0.0).where(-INFINITY, x))
    return ordinary.where(value, other)


@computes(ops.LOG)
def log(x: Num) -> Num:
    """The natural logarithm."""
    p = parts(x)
    first, second = table.LN2[x.dtype.name]
    high, low = _log1p_words(p.f)
    lead = p.k * first  # exact
    total = lead + high
    rest = ((lead - total) + high) + p.k.fma(second, low)
    return special(x, p.k.eq(0.0).where(high + low, total + rest))


def _log1p_words(f: Num) -> tuple[Num, Num]:
    """log(1 + f) = high + low for f within the binade: high is f - f^2 / 2 rounded."""
    half = f * 0.5
    high = f.fma(-half, f)
    low = f.fma(-half, f - high)
    cube = (f * f) * f
    return high, cube.fma(horner(f, table.LOG[f.dtype.name]), low)


def _times(words: tuple[Num, Num], factor: tuple[float, ...]) -> tuple[Num, Num]:
    """The product of two sums of two words, in two words."""
    high, low = words
    total = high + low
    rest = (high - total) + low
    product = total * factor[0]
    return product, total.fma(factor[0], -product) + total.fma(factor[1], rest * factor[0])


@computes(ops.LOG2)
def log2(x: Num) -> Num:
    """The logarithm to base 2; exact at powers of two."""
    p = parts(x)
    high, low = _times(_log1p_words(p.f), table.LOG2_E[x.dtype.name])
    total = p.k + high
    rest = ((p.k - total) + high) + low
    return special(x, p.k.eq(0.0).where(high + low, total + rest))


@computes(ops.LOG10)
def log10(x: Num) -> Num:
    """The logarithm to base 10."""
    name = x.dtype.name
    p = parts(x)
    first, second = table.LOG10_2[name]
    high, low = _times(_log1p_words(p.f), table.LOG10_E[name])
    lead = p.k * first  # exact
    total = lead + high
    rest = ((lead - total) + high) + p.k.fma(second, low)
    return special(x, p.k.eq(0.0).where(high + low, total + rest))


@computes(ops.LOG1P)
def log1p(x: Num) -> Num:
    """log(1 + x): the logarithm of the rounded sum, and what rounding it lost."""
    first, second = table.LN2[x.dtype.name]
    base = 1.0 + x
    lost = (x < 1.0).where(x - (base - 1.0), 1.0 - (base - x))
    p = parts(base)
    near = p.k.eq(0.0)
    high, low = _log1p_words(near.where(x, p.f))
    low = low + near.where(0.0, lost / base)
    lead = p.k * first
    total = lead + high
    rest = ((lead - total) + high) + p.k.fma(second, low)
    value = near.where(high + low, total + rest)
    value = (x > -1.0).where(value, x.eq(-1.0).where(x.const(-INFINITY), float("nan")))
    return (x < INFINITY).where(x.eq(0.0).where(x, value), x + x)
