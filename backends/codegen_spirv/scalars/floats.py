"""Floating-point operations that a device does not do as IEEE 754 asks, made of operations that it does right.

f16 is always computed in f32: sums, products, quotients and square roots of f16, rounded to f32 and then to f16, are
rounded as if once (f32 has more than twice the digits and two more). fma is not among them: see `fma.py`.
"""

from __future__ import annotations

import math
import operator

from adstack.errors import BackendUnavailableError
from adstack.ir.types import DType, f16, f32, f64, i16, i32, i64, u16, u32

from ..assembly.code import Num, unsigned
from . import steps

__all__ = ["divide", "integer_to_float", "magnitude", "narrow", "negate", "root", "to_float", "wide"]

_SIGN = {16: 1 << 15, 32: 1 << 31, 64: 1 << 63}
_SIGNED = {16: i16, 32: i32, 64: i64}


def magnitude(x: Num) -> Num:
    """The value without its sign bit.

    Not by a mask, which compilers take for an absolute value, and leave out where they think that there is no sign:
    behind a square root, whose -0 they forget.
    """
    bits, signed = unsigned(x.dtype), _SIGNED[x.dtype.bits]
    raw = x.bits(bits)
    return (raw.signed(signed) < 0).choose(raw ^ _SIGN[x.dtype.bits], raw).bits(x.dtype)


def negate(x: Num) -> Num:
    """The value with its sign bit flipped."""
    bits = unsigned(x.dtype)
    return (x.bits(bits) ^ _SIGN[x.dtype.bits]).bits(x.dtype)


# ---- conversions


def wide(x: Num) -> Num:
    """An f16 as f32, anything else as it is."""
    return x.convert(f32) if x.dtype is f16 else x


def narrow(x: Num) -> Num:
    """An f32 rounded to f16."""
    traits = x.c.m.traits
    return x.convert(f16) if traits.half and traits.half_kept else _narrow_bits(x)


def _narrow_bits(x: Num) -> Num:
    """By integer arithmetic: the significand is shifted to where f16 has it, and what falls off decides."""
    c = x.c
    raw = x.bits(u32)
    size = raw & 0x7FFFFFFF
    exponent = size >> 23
    significand = exponent.eq(0).choose(c.const(0, u32), 0x800000) | (size & 0x7FFFFF)
    # normal results lose 13 bits, subnormal ones more; past 25 nothing is left but a trace
    below = c.const(113, u32) - exponent
    is_small = exponent < 113
    lost = is_small.choose((below < 12).choose(below, 12) + 13, 13)
    one = c.const(1, u32)
    rest = significand & ((one << lost) - 1)
    half = one << (lost - 1)
    kept = significand >> lost
    up = (rest > half) | (rest.eq(half) & (kept & 1).ne(0))
    rounded = kept + up.choose(one, 0)
    # a normal significand carries its leading bit into the exponent; so does one that is rounded up to a power of two
    normal = ((exponent - 113) << 10) + rounded
    number = is_small.choose(rounded, normal)
    number = (size >= 0x47800000).choose(c.const(0x7C00, u32), number)
    number = (size > 0x7F800000).choose(c.const(0x7E00, u32), number)
    return (number | (raw >> 16 & 0x8000)).resize(u16).bits(f16)


def to_float(x: Num, to: DType) -> Num:
    """Between float types, rounded once."""
    if x.dtype.bits - to.bits == 48:
        return narrow(_narrow_to_odd(x))
    return narrow(x) if to is f16 and x.dtype is f32 else x.convert(to)


def _narrow_to_odd(x: Num) -> Num:
    """An f64 as f32, toward the neighbour with an odd last bit where it is between two: rounding again does no harm."""
    near = x.convert(f32)
    back = near.convert(f64)
    outward = (magnitude(back) > magnitude(x)).resize(u32)
    inexact = back.differs(x).resize(u32)
    return ((near.bits(u32) - outward) | inexact).bits(f32)


def integer_to_float(x: Num, to: DType) -> Num:
    """To f16 by way of f32, which holds every integer in the range of f16 exactly."""
    if x.dtype.bits < 32:
        x = x.resize(i32 if x.dtype.kind == "i" else u32)
    return narrow(x.convert(f32)) if to is f16 else x.convert(to)


# ---- quotients and roots


def divide(a: Num, b: Num) -> Num:
    """`a / b`."""
    traits, dtype = a.c.m.traits, a.dtype
    if dtype is f16:
        return narrow(divide(wide(a), wide(b)))
    if dtype is f32:
        return _quotient(a, b)
    if traits.div64:
        return a / b
    raise _inexact("division", dtype)


def _quotient(a: Num, b: Num) -> Num:
    """Of two f32. Devices of their own have an instruction for a reciprocal root, and none for a quotient."""
    traits = a.c.m.traits
    if not (traits.div32 or traits.div64):
        raise _inexact("division", f32)
    if traits.div32_by_steps and (traits.threads > 0 or not traits.div32):
        # in f64 even where one in f32 is right: drivers have long code for that, too, and run it ahead of the branch
        return steps.quotient(a, b, _quotient_in_f64 if traits.div64 else operator.truediv)
    return a / b if traits.div32 else _quotient_in_f64(a, b)


def _quotient_in_f64(a: Num, b: Num) -> Num:
    """Rounded twice, which is innocuous: 53 digits are more than twice 24 and two."""
    return (a.convert(f64) / b.convert(f64)).convert(f32)


def root(x: Num) -> Num:
    """The square root."""
    traits, dtype = x.c.m.traits, x.dtype
    if dtype is f16:
        return narrow(root(wide(x)))
    if traits.sqrt32 if dtype is f32 else traits.sqrt64:
        square_root = x.c.std("Sqrt", dtype, x)
        flushed = dtype is f32 and not traits.order32  # a negative subnormal number may count as -0
        return (x < 0.0).choose(x.c.const(math.nan, dtype), square_root) if flushed else square_root
    if dtype is f32 and traits.sqrt64:
        return steps.root(x, _root_in_f64) if traits.sqrt32_by_steps else _root_in_f64(x)
    raise _inexact("square roots", dtype)


def _root_in_f64(x: Num) -> Num:
    return x.c.std("Sqrt", f64, x.convert(f64)).convert(f32)


def _inexact(what: str, dtype: DType) -> BackendUnavailableError:
    return BackendUnavailableError(
        f"the device does not round the {what} of {dtype} correctly, and has no wider type that would help",
        do="compute it in f32 on a device with shaderFloat64, or use another device",
    )
