"""How far a result is from the exact value, in units in the last place (ulp) of the format at the exact value.

One ulp of a value v with 2^e <= |v| < 2^(e+1) is 2^(e - p + 1) for a significand of p bits, and the smallest subnormal
below the normal range. What can't be rounding - a NaN for a number, the wrong sign, the sign of a zero included - is
`WRONG` far away. A result that overflows counts as the power of two behind the largest number.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from adstack.ir.builder import Builder
from adstack.ir.structure import Region, Value
from adstack.ir.types import Array, DType, f16, f32, f64, i64
from adstack.transforms.math.algorithms import ALGORITHMS
from adstack.transforms.math.num import Num

__all__ = ["LIMITS", "WRONG", "distance_region", "distances"]


WRONG: Final = 2.0**40

LIMITS: Final = {f16: (10, -24, 16), f32: (23, -149, 128), f64: (52, -1074, 1024)}
"""Per format: bits stored of a significand, exponents of the smallest subnormal and of the first power out of range."""


def distance_region(name: str, dtype: DType) -> Region:
    """(arguments, exact f64 value) -> distance as f64: the function and its judge in one, for f16 and f32."""
    algorithm = ALGORITHMS[name]
    region = Region([*(Value(dtype) for _ in range(algorithm.arity)), Value(f64, "exact")])
    b = Builder(region)
    *args, exact = (Num(b, v) for v in region.args)
    result = algorithm.build(*(n.to(f32) for n in args))
    assert isinstance(result, Num)
    b.yield_(_distance(result.to(dtype).to(f64), exact, dtype).v)
    return region


def _distance(result: Num, exact: Num, dtype: DType) -> Num:
    mantissa, least, beyond = LIMITS[dtype]
    limit = 2.0**beyond
    got = (abs(result) > limit).where(result.const(limit).copysign(result), result)
    want = (abs(exact) > limit).where(exact.const(limit).copysign(exact), exact)
    exponent = ((want.bits(i64) >> 52) & 2047) - (1023 + mantissa)
    exponent = (exponent > beyond - 1 - mantissa).where(beyond - 1 - mantissa, exponent)
    exponent = (exponent < least).where(least, exponent)
    inverse = ((1023 - exponent) << 52).bits(f64)
    wrong = result.is_nan() | exact.is_nan() | ((result.bits(i64) ^ exact.bits(i64)) < 0)
    value = wrong.where(WRONG, abs(got - want) * inverse)
    return (result.is_nan() & exact.is_nan()).where(0.0, value)


def distances(got: Array, exact: Array) -> Array:
    """The same for f64 results and exact values in long double."""
    mantissa, least, beyond = LIMITS[f64]
    with np.errstate(all="ignore"):
        near = exact.astype(np.float64)
        _, exponent = np.frexp(np.abs(near))
        exponent = np.where(np.isinf(near), beyond, np.where(near == 0, least, exponent)) - 1 - mantissa
        exponent = np.clip(exponent, least, beyond - 1 - mantissa)
        apart = np.abs(got.astype(exact.dtype) - exact)
        distance = np.ldexp(apart, -exponent).astype(np.float64)
        infinite = np.isinf(got) | np.isinf(near)
        if infinite.any():
            distance[infinite] = _at_infinity(got[infinite], exact[infinite])
        lost, missing = np.isnan(got), np.isnan(near)
        wrong = (lost != missing) | (np.signbit(got) != np.signbit(exact))
        return np.where(lost & missing, 0.0, np.where(wrong, WRONG, distance))


def _at_infinity(got: Array, exact: Array) -> Array:
    """Distances where one side or the other is infinite in f64: infinity stands for 2^1024."""
    half = np.longdouble(2.0) ** 1023
    clipped = (np.clip(a.astype(np.longdouble) / 2, -half, half) for a in (got, exact))
    low, high = clipped
    return np.asarray(np.abs((low - high) / np.longdouble(2.0) ** (1023 - 1 - 52)), np.float64)
