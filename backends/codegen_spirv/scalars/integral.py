"""Whole numbers of floats, where a device's instructions for them can't be relied on.

Mesa's driver for the processor, where it has no instruction for vectors as long as its own, takes f64 of 2^24 and more
for whole numbers, and leaves the fraction out where it should round to nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.ir.types import f64

from ..assembly.code import Num, unsigned
from .floats import magnitude

__all__ = ["WAYS", "whole"]


def _down(size: Num, near: Num) -> Num:
    return (near > size).choose(near - 1.0, near)


def _up(size: Num, near: Num) -> Num:
    return (near < size).choose(near + 1.0, near)


WAYS: Final[dict[str, Callable[[Num, Num, Num], Num]]] = {
    "Trunc": lambda size, near, negative: _down(size, near),
    "RoundEven": lambda size, near, negative: near,
    "Floor": lambda size, near, negative: negative.choose(_up(size, near), _down(size, near)),
    "Ceil": lambda size, near, negative: negative.choose(_down(size, near), _up(size, near)),
}
"""By name: the size of the result, of a number's size, the whole number next to that, and whether it is negative."""


def whole(name: str, x: Num) -> Num:
    """The whole number that an instruction of `WAYS` gives."""
    traits = x.c.m.traits
    sure = traits.round64 if x.dtype is f64 else traits.round32
    return x.c.std(name, x.dtype, x) if sure else _computed(name, x)


def _computed(name: str, x: Num) -> Num:
    """Beside numbers that have no fractions, those of a sum are rounded off; larger ones, and NaNs, are left alone."""
    bits = unsigned(x.dtype)
    least = 2.0 ** (23 if x.dtype.bits == 32 else 52)
    size, sign = magnitude(x), x.bits(bits) & (1 << (x.dtype.bits - 1))
    near = (size + least) - least
    integral = WAYS[name](size, near, sign.ne(0))
    return (size < least).choose((integral.bits(bits) | sign).bits(x.dtype), x)
