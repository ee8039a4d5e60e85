"""Fused multiply-add, emulated exactly on numpy arrays: a * b + c rounded once.

f16 and f32: the product is exact in f64 and the sum is rounded to odd there, after which rounding to the narrower type
can't round twice (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Computers 57(4),
2008). f64: the same on a double-double product; lanes whose exponents are extreme take exact rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .types import DType, f64

Array = npt.NDArray[Any]


def fma(to: DType, a: Array, b: Array, c: Array) -> Array:
    """`a * b + c` with one rounding, elementwise."""
    a, b, c = np.broadcast_arrays(a, b, c)
    if to is f64:
        return _fma64(a, b, c)
    wide = np.float64
    product = a.astype(wide) * b.astype(wide)
    return _add_to_odd(product, c.astype(wide)).astype(to.numpy)


def _add_to_odd(a: Array, b: Array) -> Array:
    """`a + b` rounded to odd: toward the neighbour with an odd last bit where the sum is inexact."""
    total = a + b
    error = _two_sum_error(a, b, total)
    bits = total.view(np.int64)
    fix = (error != 0) & np.isfinite(total) & ((bits & 1) == 0)
    # the magnitude grows where the error has the sign of the sum, and shrinks otherwise
    away = np.signbit(error) == np.signbit(total)
    return np.where(fix, bits + np.where(away, 1, -1), bits).view(np.float64)


def _two_sum_error(a: Array, b: Array, total: Array) -> Array:
    """Knuth's TwoSum: what `total = a + b` lost."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Dekker's product: `a * b` as an unevaluated sum of two doubles."""
    product = a * b
    split = np.float64(134217729.0)
    ta, tb = split * a, split * b
    ah, bh = ta - (ta - a), tb - (tb - b)
    al, bl = a - ah, b - bh
    return product, al * bl - (((product - ah * bh) - al * bh) - ah * bl)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    high, low = _two_product(a, b)
    upper = c + low
    upper_error = _two_sum_error(c, low, upper)
    total = high + upper
    total_error = _two_sum_error(high, upper, total)
    result = total + _add_to_odd(total_error, upper_error)
    hard = ~(_tame(a, 300) & _tame(b, 300) & _tame(high, 600) & (_tame(c, 600) | (c == 0)))
    easy = ~hard
    if easy.all():
        return result
    result = np.where(easy, result, a * b + c)
    finite = hard & np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    flat = result.reshape(-1)
    for i in np.flatnonzero(finite):
        flat[i] = _exact(a.flat[i], b.flat[i], c.flat[i])
    return flat.reshape(result.shape)


def _tame(a: Array, exponent: int) -> Array:
    """Where the binary exponent of `a` is at most `exponent` in magnitude, and `a` is finite and not zero."""
    size = np.abs(a)
    return (size >= 2.0**-exponent) & (size <= 2.0**exponent)


def _exact(a: float, b: float, c: float) -> float:
    """By rational arithmetic; the operands are finite, a and b are not zero."""
    total = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if total == 0:
        # an exact cancellation gives +0; a product that only underflows is not one
        return 0.0
    try:
        return float(total)
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")
