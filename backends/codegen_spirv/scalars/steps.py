"""Square roots of f32 by Newton's steps and an exact remainder, where a device's own are only nearly right.

The device gives a reciprocal root that is a few units in the last place off. One step improves the root and half of its
reciprocal together, and the remainder, which one fma computes exactly, mends the last digit (Markstein, "Computation of
elementary functions on the IBM RISC System/6000 processor", 1990). That this holds for every significand, whatever
first guess within three units, is tested one by one.

With operands in [2^-78, 2^101) no intermediate result is subnormal, which devices take for zero: remainders are
multiples of 2^-126. Other operands are rare, and their roots are computed in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.ir.types import f32, u32

from ..assembly.code import Num

__all__ = ["root", "usual_root"]

_BIAS, _DIGITS = 127, 23
_USUAL: Final = (-78, 100)
"""Exponents of the least and the greatest operands that take the usual path."""


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
    return (x.bits(u32) ^ (1 << 31)).bits(f32)


def _fma(a: Num, b: Num, x: Num) -> Num:
    """The device's own: nothing here is subnormal."""
    return a.c.std("Fma", f32, a, b, x)


def _is_between(raw: Num, least: int, most: int) -> Num:
    """Whether a number with such bits, which has no sign, is at least 2^least and below 2^(most + 1)."""
    return raw - ((least + _BIAS) << _DIGITS) < (most - least + 1) << _DIGITS
