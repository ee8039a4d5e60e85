"""Exact arithmetic to judge floats by: rounding a rational once, without any float hardware or numpy."""

from __future__ import annotations

import math
from fractions import Fraction

from adstack.ir.types import DType

__all__ = ["fma_of", "round_to"]

PRECISION = {"f16": (11, -14, 15), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
"""Bits of the significand, least and greatest exponent of a normal number."""


def round_to(value: Fraction, dtype: DType) -> float:
    """The float of `dtype` nearest to `value`, ties to even; overflow gives an infinity, a zero keeps the sign."""
    precision, least, greatest = PRECISION[dtype.name]
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = max(_floor_log2(size), least)
    unit = Fraction(2) ** (exponent - precision + 1)
    rounded = round(size / unit) * unit
    result = math.inf if rounded >= Fraction(2) ** (greatest + 1) else float(rounded)
    return math.copysign(result, 1 if value > 0 else -1)


def _floor_log2(size: Fraction) -> int:
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if Fraction(2) ** guess <= size else guess - 1


def fma_of(a: float, b: float, c: float, dtype: DType) -> float:
    """`a * b + c` rounded once to `dtype`, specials and signs of zeros included."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total != 0:
        return round_to(total, dtype)
    negative_product = math.copysign(1, a) * math.copysign(1, b) < 0
    negative = a * b == 0 == c and negative_product and math.copysign(1, c) < 0
    return -0.0 if negative else 0.0
