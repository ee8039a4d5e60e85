"""The meaning of every scalar operation, elementwise on numpy arrays, to the bit.

Floats are IEEE 754 binary16/32/64, round to nearest even, subnormals kept. Integers wrap. What C leaves undefined is
defined here: division by zero, shifts by a negative amount or by the width or more, and conversions out of range.
Each function takes the result type first. The sign and payload of a NaN are not part of the meaning.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from . import fma as exact
from .types import Array, DType, f16, f64, u1, u64

Meaning = Callable[..., Array]


def plain(ufunc: Callable[..., object]) -> Meaning:
    """The meaning of an operation that numpy computes as IEEE 754 or two's complement says."""

    def meaning(to: DType, *args: Array) -> Array:
        return np.asarray(ufunc(*args))

    return meaning


def unsigned_view(a: Array) -> Array:
    """The bits of an integer array as unsigned integers of the same width."""
    return np.asarray(a.view(f"u{a.dtype.itemsize}")) if a.dtype.kind == "i" else a


def floor_div(to: DType, a: Array, b: Array) -> Array:
    """Quotient rounded toward minus infinity; 0 where b is 0. The most negative value by -1 wraps to itself."""
    zero = b == 0
    minus_one = (b == -1) if to.is_signed else np.False_
    quotient = np.floor_divide(a, np.where(zero | minus_one, np.ones_like(b), b))
    return np.where(zero, np.zeros_like(a), np.where(minus_one, np.negative(a), quotient))


def floor_mod(to: DType, a: Array, b: Array) -> Array:
    """Remainder with the sign of b: `a - floor_div(a, b) * b`; 0 where b is 0."""
    zero = b == 0
    minus_one = (b == -1) if to.is_signed else np.False_
    return np.where(zero, np.zeros_like(a), np.remainder(a, np.where(zero | minus_one, np.ones_like(b), b)))


def fma(to: DType, a: Array, b: Array, c: Array) -> Array:
    """`a * b + c`, rounded once."""
    return exact.fma(to.numpy, a, b, c)


def trunc_div(to: DType, a: Array, b: Array) -> Array:
    """Quotient rounded toward zero; 0 where b is 0."""
    quotient = floor_div(to, a, b)
    remainder = floor_mod(to, a, b)
    inexact_negative = (remainder != 0) & ((a < 0) != (b < 0))
    return np.asarray(quotient + inexact_negative.astype(to.numpy))


def trunc_mod(to: DType, a: Array, b: Array) -> Array:
    """Remainder with the sign of a: `a - trunc_div(a, b) * b`; 0 where b is 0."""
    return np.where(b == 0, np.zeros_like(a), a - trunc_div(to, a, b) * b)


def shift(towards: Callable[[Array, Array], Any]) -> Meaning:
    """A shift whose result is 0 where the amount is negative, or at least the width."""

    def meaning(to: DType, a: Array, b: Array) -> Array:
        bad = out_of_width(a, b)
        return np.where(bad, np.zeros_like(a), towards(a, np.where(bad, np.zeros_like(b), b)))

    return meaning


def out_of_width(a: Array, b: Array) -> Array:
    """Where `b` is no shift amount for the width of `a`."""
    return np.asarray((b < 0) | (b >= 8 * a.dtype.itemsize))


def is_zero(a: Array, b: Array) -> Array:
    """Where the divisor is zero."""
    return np.asarray(b == 0)


def negative_exponent(a: Array, b: Array) -> Array:
    """Where an integer power has a negative exponent."""
    return np.asarray(b < 0)


def integer_power(to: DType, base: Array, exponent: Array) -> Array:
    """`base ** exponent` modulo 2^bits; a negative exponent gives 0, except for the bases 1 and -1."""
    base, exponent = np.broadcast_arrays(base, exponent)
    result = np.ones_like(base)
    square = base.copy()
    negative = np.asarray(exponent < 0)
    odd = (exponent & exponent.dtype.type(1)) != 0
    rest = np.where(negative, np.zeros_like(exponent), exponent).astype(np.uint64)
    while np.any(rest):
        result = np.where((rest & np.uint64(1)) != 0, result * square, result)
        square = square * square
        rest = rest >> np.uint64(1)
    if not to.is_signed:
        return result
    of_minus_one = np.where(odd, base, np.ones_like(base))
    below = np.where(base == 1, base, np.where(base == -1, of_minus_one, np.zeros_like(base)))
    return np.where(negative, below, result)


def larger(to: DType, a: Array, b: Array) -> Array:
    """`a` where a > b or b is NaN, else `b`: a NaN loses to a number, and at a tie the right operand is taken."""
    return np.where((a > b) | (b != b), a, b)


def smaller(to: DType, a: Array, b: Array) -> Array:
    """`a` where a < b or b is NaN, else `b`."""
    return np.where((a < b) | (b != b), a, b)


def round_half_away(to: DType, a: Array) -> Array:
    """The nearest integral value, halves away from zero; the sign of zero is kept."""
    truncated = np.trunc(a)
    half = np.abs(a - truncated) >= to.numpy.type(0.5)
    return np.where(half, truncated + np.copysign(to.numpy.type(1), a), truncated)


def select(to: DType, condition: Array, a: Array, b: Array) -> Array:
    """`a` where the condition holds, else `b`."""
    return np.where(condition, a, b)


def swap_if_equal(to: DType, old: Array, expected: Array, value: Array) -> Array:
    """`value` where `old` has the bits of `expected`, else `old`: hardware compares bits, not numbers."""
    bits = f"u{to.size}"
    return np.where(np.asarray(old).view(bits) == np.asarray(expected).view(bits), value, old)


def invert(to: DType, a: Array) -> Array:
    """Every bit flipped; for u1, logical not."""
    return np.invert(a)


def count_ones(to: DType, a: Array) -> Array:
    """How many bits of `a` are set."""
    bits = unsigned_view(a).astype(np.uint64)
    total = np.zeros(bits.shape, np.uint64)
    for byte in range(8):
        total = total + _ONES[(bits >> np.uint64(8 * byte)) & np.uint64(255)]
    return total.astype(to.numpy)


_ONES = np.array([bin(n).count("1") for n in range(256)], np.uint64)


def count_leading_zeros(to: DType, a: Array) -> Array:
    """How many bits above the highest set one; the width for 0."""
    bits = unsigned_view(a).astype(np.uint64)
    width = 8 * a.dtype.itemsize
    length = np.zeros(bits.shape, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        high = bits >> np.uint64(step)
        big = high != 0
        length = length + np.where(big, np.uint64(step), np.uint64(0))
        bits = np.where(big, high, bits)
    length = length + (bits != 0)
    return np.asarray((np.uint64(width) - length).astype(to.numpy))


def float_to_integer(to: DType, a: Array) -> Array:
    """Truncated, saturated to the range of `to`; 0 for NaN."""
    wide = np.trunc(a.astype(np.float64))
    low, high = float(to.min), float(to.max + 1)
    inside = (wide >= low) & (wide < high)
    safe = np.where(inside, wide, 0.0)
    truncated = safe.astype(np.uint64).astype(to.numpy) if to is u64 else safe.astype(np.int64).astype(to.numpy)
    clipped = np.where(wide >= high, to.numpy.type(to.max), np.where(wide < low, to.numpy.type(to.min), truncated))
    return np.where(np.isnan(a), to.numpy.type(0), clipped)


def cast(to: DType, a: Array) -> Array:
    """Conversion between any two scalar types: floats round to nearest even, integers wrap, u1 is `a != 0`."""
    if to is u1:
        return np.asarray(a != 0)
    if a.dtype.kind == "f" and to.kind in "iu":
        return float_to_integer(to, a)
    return a.astype(to.numpy)


def bitcast(to: DType, a: Array) -> Array:
    """The same bits read as another type of the same width."""
    return np.asarray(a.view(to.numpy))


def cast_number(value: Any, to: DType) -> Any:
    """A Python or numpy number converted to `to` as `cast` does it, as a Python bool, int or float."""
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, (int, np.integer)):
        return _cast_int(int(value), to)
    with np.errstate(all="ignore"):
        return cast(to, np.asarray(value, np.float64)).item()


def _cast_int(value: int, to: DType) -> Any:
    if to is u1:
        return value != 0
    if to.is_float:
        return _round_int(value, to)
    wrapped = value & ((1 << to.bits) - 1)
    return wrapped - (1 << to.bits) if to.is_signed and wrapped > to.max else wrapped


def _round_int(value: int, to: DType) -> float:
    """An integer of any size rounded once to a float type."""
    try:
        if to is f64:
            return float(value)
        # 48 leading bits and a sticky one: a double, exactly, so that the rounding below is the only one
        drop = max(abs(value).bit_length() - 48, 0)
        lead = (abs(value) >> drop) << 1 | (abs(value) & ((1 << drop) - 1) != 0)
        wide = math.copysign(math.ldexp(lead, drop - 1), value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(to.numpy.type(wide))


def representable(value: float, to: DType) -> bool:
    """Whether a Python float is a value of a float type."""
    if value - value != 0 or to is f64:
        return True
    code = "<e" if to is f16 else "<f"
    try:
        return bool(struct.unpack(code, struct.pack(code, value))[0] == value)
    except OverflowError:
        return False
