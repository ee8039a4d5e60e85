"""The meaning of every scalar operation, elementwise on numpy arrays, to the bit.

Floats are IEEE 754 binary16/32/64, round to nearest even, subnormals kept. Integers wrap. What C leaves undefined is
defined here: division by zero, shifts by a negative amount or by the width or more, and conversions out of range.
Each function takes the result type first. The sign and payload of a NaN are not part of the meaning.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from . import fma as exact
from .types import Array, DType, f16, f64

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


def bitcast(to: DType, a: Array) -> Array:
    """The same bits read as another type of the same width."""
    return np.asarray(a.view(to.numpy))


def representable(value: float, to: DType) -> bool:
    """Whether a Python float is a value of a float type."""
    if value - value != 0 or to is f64:
        return True
    code = "<e" if to is f16 else "<f"
    try:
        return bool(struct.unpack(code, struct.pack(code, value))[0] == value)
    except OverflowError:
        return False
