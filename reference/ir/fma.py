"""Fused multiply-add, emulated exactly on numpy arrays: a * b + c rounded once.

f16 and f32: the product is exact in f64 and the sum is rounded to odd there, after which rounding to the narrower type
can't round twice (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Computers 57(4),
2008). f64: the same on a double-double product; lanes whose exponents are extreme take exact rational arithmetic.
Callers ignore numpy's floating-point warnings (`np.errstate(all="ignore")`).

Serial code has one lane, for which a ufunc of numpy takes as long as for a hundred: a few lanes of ordinary numbers
take the same steps on Python's floats, in a twentieth of the time.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any, Final, TypeVar

import numpy as np

from .types import Array

Doubles = TypeVar("Doubles", float, Array)
"""A number, or an array of numbers, of 53 digits."""

FEW: Final = 16
"""Up to so many lanes are computed one by one."""
_HUGE: Final = 2.0**990
_LARGE: Final = 2.0**1000
_SMALL: Final = 2.0**-960


def fma(to: np.dtype[Any], a: Array, b: Array, c: Array) -> Array:
    """`a * b + c`, elementwise, with one rounding to the floating-point type `to`, which the operands have."""
    if not a.shape == b.shape == c.shape:
        a, b, c = np.broadcast_arrays(a, b, c)
    if a.size <= FEW:
        results = _one_by_one(to, a, b, c)
        if results is not None:
            return results
    if to.itemsize == 8:
        return _fma64(a, b, c)
    wide = np.float64
    product = a.astype(wide) * b.astype(wide)
    return _add_to_odd(product, c.astype(wide)).astype(to)


def _one_by_one(to: np.dtype[Any], a: Array, b: Array, c: Array) -> Array | None:
    """`fma` on Python's floats; None if a lane holds a number for which they are not enough."""
    one = _one64 if to.itemsize == 8 else _one32
    results = []
    for lane in zip(a.ravel().tolist(), b.ravel().tolist(), c.ravel().tolist(), strict=True):
        result = one(*lane)
        if result is None:
            return None
        results.append(result)
    return np.array(results).reshape(a.shape).astype(to)


def _one32(a: float, b: float, c: float) -> float | None:
    """`a * b + c` rounded to odd, of numbers of at most 24 digits; None if it is not finite."""
    total = _odd_sum(a * b, c)
    return total if math.isfinite(total) else None


def _one64(a: float, b: float, c: float) -> float | None:
    """`a * b + c` rounded once; None if it is not tame, for which see `_fma64`."""
    high = a * b
    if not (abs(a) <= _HUGE and abs(b) <= _HUGE and abs(c) <= _LARGE and _SMALL <= abs(high) <= _LARGE):
        return None
    low = _two_product(a, b)[1]
    upper = c + low
    total = high + upper
    return total + _odd_sum(_two_sum_error(high, upper, total), _two_sum_error(c, low, upper))


def _odd_sum(a: float, b: float) -> float:
    """`_add_to_odd` of two numbers."""
    total = a + b
    error = _two_sum_error(a, b, total)
    if error and math.isfinite(total) and not struct.pack("<d", total)[0] & 1:
        return math.nextafter(total, math.copysign(math.inf, error))
    return total


def _add_to_odd(a: Array, b: Array) -> Array:
    """`a + b` rounded to odd: toward the neighbour with an odd last bit where the sum is inexact."""
    total = a + b
    error = _two_sum_error(a, b, total)
    bits = total.view(np.int64)
    fix = (error != 0) & np.isfinite(total) & ((bits & 1) == 0)
    # the magnitude grows where the error has the sign of the sum, and shrinks otherwise
    away = np.signbit(error) == np.signbit(total)
    return np.asarray(np.where(fix, bits + np.where(away, 1, -1), bits).view(np.float64))


def _two_sum_error(a: Doubles, b: Doubles, total: Doubles) -> Doubles:
    """Knuth's TwoSum: what `total = a + b` lost."""
    virtual = total - a
    lost: Doubles = (a - (total - virtual)) + (b - virtual)
    return lost


def _two_product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Dekker's product: `a * b` as an unevaluated sum of two doubles."""
    product = a * b
    ta, tb = 134217729.0 * a, 134217729.0 * b
    ah, bh = ta - (ta - a), tb - (tb - b)
    al, bl = a - ah, b - bh
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    """The fast way on every lane, then the lanes it does not fit by other ways."""
    fast, product = _by_double_double(a, b, c)
    tame = (np.abs(a) <= _HUGE) & (np.abs(b) <= _HUGE) & (np.abs(c) <= _LARGE)
    tame &= (np.abs(product) >= _SMALL) & (np.abs(product) <= _LARGE)
    if tame.all():
        return fast
    finite = np.isfinite(a) & np.isfinite(b)
    # the product may overflow where the exact one is finite; an infinite or NaN addend decides alone then
    result = np.where(tame, fast, np.where(finite & ~np.isfinite(c), c, product + c))
    hard = finite & np.isfinite(c) & (a != 0) & (b != 0) & ~tame
    flat = result.reshape(-1)
    for i in np.flatnonzero(hard):
        flat[i] = _exact(float(a.flat[i]), float(b.flat[i]), float(c.flat[i]))
    return flat.reshape(result.shape)


def _by_double_double(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """`a * b + c` rounded once, and `a * b` rounded, where nothing overflows and the product's error is a double.

    The error of a product is a multiple of the last places of its operands, multiplied: of 2^-106 times the product, so
    with a product of at least 2^-960 it is a double. Splitting multiplies by 2^27: operands up to 2^990 stay finite.
    Sums never underflow inexactly, so a small or zero addend needs no care; neither do the signs of zeros, since the
    product is not zero and an exact cancellation is +0.
    """
    high, low = _two_product(a, b)
    upper = c + low
    total = high + upper
    rest = _add_to_odd(_two_sum_error(high, upper, total), _two_sum_error(c, low, upper))
    return total + rest, high


def _exact(a: float, b: float, c: float) -> float:
    """By rational arithmetic; the operands are finite, a and b are not zero."""
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total == 0:
        # an exact cancellation gives +0; a sum that only underflows keeps its sign below
        return 0.0
    try:
        return float(total)
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")
