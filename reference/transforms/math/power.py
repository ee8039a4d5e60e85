"""pow: a logarithm in two words, times the exponent, exponentiated.

Words: T. Dekker, "A floating-point technique for extending the available precision", Numer. Math. 18, 1971, with fused
multiply-adds for the products. The logarithm is 2 artanh s, s = (m - 1) / (m + 1); special cases as in C23 Annex F.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir import scalar_ops as ops
from . import coefficients as table
from .algorithms import computes
from .formats import INFINITY, format_of, rounded_integer, scale
from .logarithmic import parts
from .num import Num, horner


class Words(NamedTuple):
    """An unevaluated sum, the low word a rounding error of the high one."""

    high: Num
    low: Num


def log2_words(x: Num) -> Words:
    """log2 of a positive finite x, relative error about 2^-33 for f32, 2^-64 for f64."""
    name = x.dtype.name
    third, log2_e = table.THIRD[name], table.LOG2_E[name]
    p = parts(x)
    bottom = 2.0 + p.f
    bottom_low = p.f - (bottom - 2.0)
    s = p.f / bottom
    s_low = (s.fma(-bottom, p.f) - s * bottom_low) / bottom
    t = s * s
    t_low = s.fma(s, -t) + 2.0 * (s * s_low)
    c = t * third[0]
    c_low = t.fma(third[0], -c) + t.fma(third[1], t_low * third[0])
    rest = c_low + (t * t) * horner(t, table.ARTANH[name])
    v = c + rest
    v_low = (c - v) + rest
    q = s * v
    q_low = s.fma(v, -q) + s.fma(v_low, s_low * v)
    half = s + q
    half_low = ((s - half) + q) + (s_low + q_low)
    half, half_low = half * 2.0, half_low * 2.0
    m = half * log2_e[0]
    m_low = half.fma(log2_e[0], -m) + half.fma(log2_e[1], half_low * log2_e[0])
    high = p.k + m
    return Words(high, ((p.k - high) + m) + m_low)


@computes(ops.POW)
def pow(x: Num, y: Num) -> Num:  # noqa: A001 - its name in the table of operations
    """x to the power y."""
    size = abs(x)
    log = log2_words(size)
    edge = size.eq(0.0) | size.eq(INFINITY)
    high = edge.where(size.eq(0.0).where(x.const(-INFINITY), INFINITY), log.high)
    product = y * high
    reach = float(format_of(x).reach)
    inside = abs(product) < reach
    product_low = inside.where(y.fma(high, -product) + y * log.low, 0.0)
    beyond = (product > 0.0).where(x.const(reach), (product < 0.0).where(x.const(-reach), product))
    product = inside.where(product, beyond)
    k, rounded = rounded_integer(product)
    first = product - rounded
    r = first + product_low
    r_low = (first - r) + product_low
    return _with_sign(x, y, size, scale(_exp2_near(r, r_low), k))


def _exp2_near(r: Num, low: Num) -> Num:
    """2^(r + low) for |r| <= 1/2, the linear term in two words."""
    ln2 = table.LN2_FULL[r.dtype.name]
    linear = r * ln2[0]
    linear_low = r.fma(ln2[0], -linear) + r.fma(ln2[1], low * ln2[0])
    high = 1.0 + linear
    rest = ((1.0 - high) + linear) + linear_low
    return high + (r * r).fma(horner(r, table.EXP2[r.dtype.name][1:]), rest)


def _with_sign(x: Num, y: Num, size: Num, power: Num) -> Num:
    """The power of |x| given the sign of x ** y, or replaced where x ** y is not real."""
    half = y * 0.5
    integral, even = y.op(ops.FLOOR).eq(y), half.op(ops.FLOOR).eq(half)
    negative = x.bits(format_of(x).signed) < 0
    signed = (negative & integral & ~even).where(-power, power)
    unreal = (x < 0.0) & (size < INFINITY) & ~integral
    signed = unreal.where(float("nan"), signed)
    signed = (size.eq(1.0) & (integral | ~negative)).where((negative & ~even).where(x.const(-1.0), 1.0), signed)
    signed = (x.is_nan() | y.is_nan()).where(float("nan"), signed)
    return (x.eq(1.0) | y.eq(0.0)).where(1.0, signed)
