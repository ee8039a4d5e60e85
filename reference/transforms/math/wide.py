"""Sine and cosine of f32 for devices whose multiply-add is made of f64: the same bits by other operations.

There an operation of f64 costs a fraction of a multiply-add. So near arguments are reduced in f64, and a sine or a
cosine alone is one polynomial, of which the coefficients are chosen, where `trigonometric` chooses between two.
"""

from __future__ import annotations

from ...ir import scalar_ops as ops
from ...ir.types import f32, f64, i32, u64
from . import coefficients as table
from .algorithms import SINCOS, WIDE, computes
from .far import Reduced, reduce_far
from .num import Num, branch, horner
from .trigonometric import NEAR, both, oriented, turned

__all__ = ["cos", "sin", "sincos"]

_MAGIC = 1.5 * 2.0**52


@computes(ops.SIN, WIDE)
def sin(x: Num) -> Num:
    """The sine."""
    r = _reduce(x)
    return _one(r, r.quadrant)


@computes(ops.COS, WIDE)
def cos(x: Num) -> Num:
    """The cosine: the sine a quadrant further on."""
    r = _reduce(x)
    return _one(r, r.quadrant + 1)


@computes(SINCOS, WIDE)
def sincos(x: Num) -> tuple[Num, Num]:
    """Both."""
    r = _reduce(x)
    sine, cosine = both(r)
    return turned(sine, cosine, r.quadrant), turned(sine, cosine, r.quadrant + 1)


def _reduce(x: Num) -> Reduced:
    near = abs(x) <= NEAR["f32"]
    return Reduced(*branch(near, lambda: list(_near(x)), lambda: list(reduce_far(x))))


def _near(x: Num) -> Reduced:
    """As `trigonometric` does for near arguments, where every number but `high` is a sum that is rounded once.

    So they are here: products of two f32 are f64, and the sums are exact, for quarters are integers of at most 2^17,
    the parts of pi/2 multiples of 2^-23, 2^-47 and 2^-73, what is left is below 1, and the argument is a multiple of
    2^-25, unless it is in the first quarter: then it is all that is left, and nothing is lost.
    """
    c1, c2, c3 = table.HALF_PI["f32"]
    wide = x.to(f64)
    shifted = wide * table.TWO_OVER_PI["f32"][0] + _MAGIC
    k = shifted - _MAGIC
    rest = wide - k * c1
    second = k * c2
    high = rest.to(f32) - second.to(f32)
    minus = (second + (high.to(f64) - rest)).to(f32)
    return Reduced(shifted.bits(u64).to(i32), high, (k * c3 + minus.to(f64)).to(f32))


def _one(r: Reduced, quadrant: Num) -> Num:
    """In odd quadrants the cosine, else the sine: `both` with the terms chosen before they are computed with."""
    odd = (quadrant & 1).ne(0)
    square = r.high * r.high
    near_one = square.fma(-0.5, 1.0)
    lost = square.fma(-0.5, 1.0 - near_one)
    pairs = zip(table.COS["f32"], table.SIN["f32"], strict=True)
    polynomial = horner(square, [odd.where(square.const(c), s) for c, s in pairs])
    last = odd.where(r.high.fma(r.minus, lost), r.minus)
    rest = (square * odd.where(square, r.high)).fma(polynomial, last)
    return oriented(odd.where(near_one, r.high) + odd.where(rest, -rest), quadrant)
