"""`a * b + x`, rounded once, made of operations that a device does right where it has no such instruction."""

from __future__ import annotations

import math

from adstack.ir.types import DType, f16, f32, f64, u32

from ..assembly.code import Num, unsigned
from ..assembly.fast_path import FastPath
from .floats import narrow
from .fma64 import fast_fma64, fma64, to_odd

__all__ = ["fused"]

_SIGN = {32: 1 << 31, 64: 1 << 63}
_NORMAL = {32: 2.0**-126, 64: 2.0**-1022}
"""The least normal number."""
_LEAST_FACTOR = 2.0**-20
_LARGE = 2.0**-60
"""A product that nearly cancels an f32 of this size is a multiple of 2^-108: what is left is 0 or normal."""


def fused(a: Num, b: Num, x: Num) -> Num:
    """`a * b + x`, rounded once."""
    traits = a.c.m.traits
    if a.dtype is f16:
        return _fma_through(a, b, x, f32)
    if traits.fma32 if a.dtype is f32 else traits.fma64:
        return a.c.std("Fma", a.dtype, a, b, x)
    if traits.fma32_normal and a.dtype is f32:
        return _fma_of_normal(a, b, x)
    if a.c.fast is not None:
        return _fast_fma(a.c.fast, a, b, x)
    return _fma_through(a, b, x, f64) if a.dtype is f32 else fma64(a, b, x)


def _fma_of_normal(a: Num, b: Num, x: Num) -> Num:
    """The device's, where no number is so small that it may be flushed; a result of zero may be one that was.

    Not that of a factor that is zero: it is the addend. Nor that with a large addend.
    """
    c, fused = a.c, a.c.std("Fma", f32, a, b, x)
    if c.fast is not None and c.fast.ordinary:
        return fused
    small = (_size(fused) < 0x800000) & (_size(x) < c.const(_LARGE, f32).bits(u32))
    for factor in (a, b):
        if not c.m.floats.get(factor.id):
            small = small & _size(factor).ne(0)
    for operand in (a, b, x):
        if abs(c.m.floats.get(operand.id, _NORMAL[32] / 2)) < _NORMAL[32]:
            small = small | (_size(operand) - 1 < 0x7FFFFF)
    if c.fast is not None:
        c.fast.reject(small)
        return fused
    return c.either(small, lambda: [_fma_through(a, b, x, f64)], lambda: [fused])[0]


def _size(x: Num) -> Num:
    """The bits of an f32 but for its sign."""
    return x.bits(u32) & 0x7FFFFFFF


def _fast_fma(fast: FastPath[Num], a: Num, b: Num, x: Num) -> Num:
    """In a way that is nearly always right; where it may be wrong is noted."""
    for factor, other in ((a, b), (b, a)):
        size = abs(a.c.m.floats.get(factor.id, 0.0))
        if _LEAST_FACTOR <= size <= 1 and math.frexp(size)[0] == 0.5:
            # a power of two: the product is exact, unless it is too small
            if not (fast.ordinary and a.dtype is f32):
                least = _NORMAL[a.dtype.bits] / size
                bits = other.bits(unsigned(a.dtype)) & (_SIGN[a.dtype.bits] - 1)
                fast.reject(bits - 1 < a.c.const(least, a.dtype).bits(bits.dtype) - 1)
            return factor * other + x
    if a.dtype is f32:
        return _fast_fma32(fast, a, b, x)
    result, doubtful = fast_fma64(a, b, x)
    fast.reject(doubtful)
    return result


def _fast_fma32(fast: FastPath[Num], a: Num, b: Num, x: Num) -> Num:
    """A sum of f64 rounded twice.

    The second rounding is of a number on the same side of every middle between two f32, each of which is an f64, as
    the exact sum, unless it is such a middle itself. Where results are subnormal, middles are others.
    """
    total = a.convert(f64) * b.convert(f64) + x.convert(f64)
    result = total.convert(f32)
    fast.reject_midpoint(total)
    if not _large(x):
        fast.reject_subnormal(result)
    return result


def _large(addend: Num) -> bool:
    """Whether it is known to be large."""
    return abs(addend.c.m.floats.get(addend.id, 0.0)) >= _LARGE


def _fma_through(a: Num, b: Num, x: Num, through: DType) -> Num:
    """In a type of twice the digits: the product is exact, the sum rounded to odd, the last rounding the only one.

    A sum rounded to nearest would not do: rounding again, to the narrower type, may then go the wrong way.
    """
    product = a.convert(through) * b.convert(through)
    total = to_odd(product, x.convert(through))
    return narrow(total) if a.dtype is f16 else total.convert(a.dtype)
