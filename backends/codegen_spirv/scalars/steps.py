"""Quotients and square roots of f32 by Newton's steps and an exact remainder, where a device's own are inexact or slow.

The device gives a reciprocal root that is a few units in the last place off; its square is a reciprocal that is some
more off. Steps improve these, and the remainder, which one fma computes exactly, mends the last digit (Markstein,
"Computation of elementary functions on the IBM RISC System/6000 processor", 1990). One step improves a root and half of
its reciprocal together; of a reciprocal the first step leaves less than a unit, and the second one rounds it, unless
all digits of the divisor are ones. That this holds for every significand, whatever first guess within three units of a
reciprocal root and nine of a reciprocal, is tested one by one.

No other instruction of SPIR-V gives a reciprocal that is only nearly right: where quotients are rounded correctly, so
is the quotient of 1, by a sequence of the driver's own that takes twice as long as this one.

With operands in [2^-78, 2^101), and divisors in [2^-24, 2^25), no intermediate result is subnormal, which devices take
for zero, or too large: remainders are multiples of 2^-126. A dividend of zero is usual, too: the first product has the
right sign, which the correction would lose. Other operands are rare, and their results are computed in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.ir.types import f32, u32

from ..assembly.code import Num

__all__ = ["quotient", "root", "usual_quotient", "usual_root"]

_BIAS, _DIGITS = 127, 23
_USUAL: Final = (-78, 100)
"""Exponents of the least and the greatest operands that take the usual path."""
_DIVISORS: Final = (-24, 24)
_SIZE, _SIGN, _SIGNIFICAND = 0x7FFFFFFF, 0x80000000, 0x7FFFFF


def quotient(a: Num, b: Num, rare: Callable[[Num, Num], Num]) -> Num:
    """The quotient, rounded once.

    Args:
        a: an f32.
        b: an f32.
        rare: emits the quotient of any operands.
    """
    dividend, divisor = (x.bits(u32) & _SIZE for x in (a, b))
    fine = dividend.eq(0) | _is_between(dividend, *_USUAL)
    usual = fine & _is_between(divisor, *_DIVISORS) & (divisor & _SIGNIFICAND).ne(_SIGNIFICAND)
    near = usual_quotient(a, b)  # ahead of the branch, so that quotients by one divisor share its reciprocal
    return a.c.either(usual, lambda: [near], lambda: [rare(a, b)])[0]


def usual_quotient(a: Num, b: Num) -> Num:
    """The quotient of usual operands."""
    raw, less = b.bits(u32), _negated(b)
    about = a.c.std("InverseSqrt", f32, (raw & _SIZE).bits(f32))
    reciprocal = ((about * about).bits(u32) | raw & _SIGN).bits(f32)
    for _ in range(2):
        reciprocal = _fma(_fma(less, reciprocal, a.c.const(1.0, f32)), reciprocal, reciprocal)
    product = a * reciprocal
    return (a.bits(u32) & _SIZE).eq(0).choose(product, _fma(_fma(less, product, a), reciprocal, product))


def root(x: Num, rare: Callable[[Num], Num]) -> Num:
    """The square root, rounded once.

    Args:
        x: an f32.
        rare: emits the root of any operand.
    """
    usual = _is_between(x.bits(u32), *_USUAL)
    return x.c.either(usual, lambda: [usual_root(x)], lambda: [rare(x)])[0]


def usual_root(x: Num) -> Num:
    """The square root of a usual operand."""
    c = x.c
    about = c.std("InverseSqrt", f32, x)
    near, half = x * about, about * 0.5
    error = _fma(_negated(near), half, c.const(0.5, f32))
    near, half = _fma(near, error, near), _fma(half, error, half)
    return _fma(_fma(_negated(near), near, x), half, near)


def _negated(x: Num) -> Num:
    return (x.bits(u32) ^ _SIGN).bits(f32)


def _fma(a: Num, b: Num, x: Num) -> Num:
    """The device's own: nothing here is subnormal."""
    return a.c.std("Fma", f32, a, b, x)


def _is_between(raw: Num, least: int, most: int) -> Num:
    """Whether a number with such bits, which has no sign, is at least 2^least and below 2^(most + 1)."""
    return raw - ((least + _BIAS) << _DIGITS) < (most - least + 1) << _DIGITS
