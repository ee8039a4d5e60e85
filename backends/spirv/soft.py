"""An f64 fma by integer arithmetic: exact for every operand, subnormal ones and results included.

The product of the significands has 106 bits and stands in two words; the addend is brought to its scale. What falls off
below is remembered in the last bit, so that rounding at the end, where the result has its last place, is the only one.
"""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.types import f64, i64, u64

from .code import Code, Num
from .module import Module, instruction
from .opcodes import Op

__all__ = ["fma64"]

_FRACTION = (1 << 52) - 1
_INFINITY = 0x7FF << 52
_BIAS = 1075
"""A double is significand * 2^(exponent - 1075), its significand an integer of 53 bits."""
_ROOM = 74
"""How far an addend of 53 bits may stand to the left so that a sum of 128 bits does not overflow."""


@dataclass(frozen=True)
class _Parts:
    """A double taken apart: its bits, exponent (i64) and significand (u64)."""

    bits: Num
    exponent: Num
    significand: Num


@dataclass(frozen=True)
class _Pair:
    """128 bits in two words."""

    high: Num
    low: Num


def fma64(a: Num, b: Num, x: Num) -> Num:
    """`a * b + x`, rounded once: a call of a function of the module."""
    m = a.c.m
    if "fma64" not in m.helpers:
        m.helpers["fma64"] = _function(m)
    return Num(a.c, f64, a.c.raw(Op.FunctionCall, m.type(f64), m.helpers["fma64"], a.id, b.id, x.id))


def _function(m: Module) -> int:
    c, ty = Code(m), m.type(f64)
    ids = [m.new() for _ in range(3)]
    a, b, x = (Num(c, f64, id_) for id_ in ids)
    c.do(Op.ReturnValue, _fused(a, b, x).id)
    name = m.new()
    params = [word for id_ in ids for word in instruction(Op.FunctionParameter, ty, id_)]
    m.add(c.function(name, ty, m.signature(ty, ty, ty, ty), params))
    return name


def _fused(a: Num, b: Num, x: Num) -> Num:
    finite = _is_finite(a) & _is_finite(b)
    easy = ~finite | ~_is_finite(x) | a.eq(0) | b.eq(0)
    product = a * b  # may overflow where the exact one would not: then an infinite or NaN addend decides alone
    simple = (finite & ~_is_finite(x)).choose(x, product + x)
    return easy.choose(simple, _hard(_parts(_normal(a)), _parts(_normal(b)), _parts(_as_is(x))).bits(f64))


def _is_finite(x: Num) -> Num:
    return (x.bits(u64) & _INFINITY).ne(_INFINITY)


def _normal(x: Num) -> tuple[Num, Num]:
    """A number with a leading bit, and what its exponent is too large by."""
    tiny = (x.bits(u64) & _INFINITY).eq(0)
    return tiny.choose(x * 2.0**54, x), tiny.choose(x.c.const(54, i64), 0)


def _as_is(x: Num) -> tuple[Num, Num]:
    return x, x.c.const(0, i64)


def _parts(scaled: tuple[Num, Num]) -> _Parts:
    x, excess = scaled
    bits = x.bits(u64)
    field = bits >> 52 & 0x7FF
    none = field.eq(0)
    significand = bits & _FRACTION | none.choose(x.c.const(0, u64), 1 << 52)
    return _Parts(bits, none.choose(x.c.const(1, u64), field).signed(i64) - excess, significand)


def _hard(a: _Parts, b: _Parts, x: _Parts) -> Num:
    """Finite operands, a and b not zero; the bits of the result."""
    c = a.bits.c
    product = _product(a.significand, b.significand)
    unit = a.exponent + b.exponent - 2 * _BIAS
    shift = x.exponent - _BIAS - unit  # of the addend, to the left
    # far to the left, the addend stays within the room and the product moves to the right instead
    beyond = _clamped(shift - _ROOM, 127)
    product = _shifted_right(product, beyond)
    unit = (shift > _ROOM).choose(x.exponent - (_BIAS + _ROOM), unit)
    addend = _placed(x.significand, shift)
    negative = (a.bits ^ b.bits) >> 63
    differ = (negative ^ (x.bits >> 63)).ne(0)
    total, flipped = _sum(product, addend, differ)
    sign = (negative ^ flipped.resize(u64)) << 63
    bits = _rounded(total, unit) | sign
    nothing = (total.high | total.low).eq(0)
    return nothing.choose(differ.choose(c.const(0, u64), sign), bits)


def _clamped(number: Num, most: int) -> Num:
    """A number as an unsigned one from 0 to `most`."""
    c = number.c
    low = (number > 0).choose(number, 0)
    return (low < most).choose(low, c.const(most, i64)).signed(u64)


def _product(a: Num, b: Num) -> _Pair:
    """Of two integers of 53 bits, by halves of 32."""
    al, ah, bl, bh = a & 0xFFFFFFFF, a >> 32, b & 0xFFFFFFFF, b >> 32
    low = al * bl
    middle = al * bh + ah * bl + (low >> 32)
    return _Pair(ah * bh + (middle >> 32), (low & 0xFFFFFFFF) | (middle << 32))


def _shifted_right(pair: _Pair, by: Num) -> _Pair:
    """By 0 to 127; what falls off is remembered in the last bit."""
    far = by >= 64
    rest = by & 63
    up = rest ^ 63  # 63 - rest, and one more: two shifts, since one of 64 is not defined
    high = far.choose(by.c.const(0, u64), pair.high >> rest)
    source = far.choose(pair.high, pair.low)
    carried = far.choose(by.c.const(0, u64), pair.high << 1 << up)
    lost = (source << 1 << up) | far.choose(pair.low, 0)
    return _Pair(high, source >> rest | carried | lost.ne(0).resize(u64))


def _placed(significand: Num, shift: Num) -> _Pair:
    """Shifted to the left by up to the room, or to the right, what falls off remembered in the last bit."""
    c = significand.c
    left = _clamped(shift, _ROOM)
    far = left >= 64
    rest = left & 63
    low = far.choose(c.const(0, u64), significand << rest)
    high = far.choose(significand << rest, significand >> 1 >> (rest ^ 63))
    right = _clamped(c.const(0, i64) - shift, 63)
    kept = significand >> right
    lost = (kept << right).ne(significand).resize(u64)
    return _Pair(high, (shift < 0).choose(kept | lost, low))


def _sum(a: _Pair, b: _Pair, differ: Num) -> tuple[_Pair, Num]:
    """|a + b| or, if the signs differ, |a - b|; and whether that turned the sign."""
    low = differ.choose(a.low - b.low, a.low + b.low)
    borrow = differ.choose(a.low < b.low, low < a.low).resize(u64)
    high = differ.choose(a.high - b.high - borrow, a.high + b.high + borrow)
    turned = differ & ((a.high < b.high) | (a.high.eq(b.high) & (a.low < b.low)))
    zero = low.c.const(0, u64)
    minus_low = zero - low
    minus_high = ~high + low.eq(0).resize(u64)
    return _Pair(turned.choose(minus_high, high), turned.choose(minus_low, low)), turned


def _leading(x: Num) -> Num:
    """The number of the highest set bit (i64); without its neighbour below, no conversion rounds up past it."""
    alone = (x & ~(x >> 1)).convert(f64)
    return (alone.bits(u64) >> 52).signed(i64) - 1023


def _rounded(total: _Pair, unit: Num) -> Num:
    """The bits of a magnitude times 2^unit, rounded to nearest even where a double has its last place."""
    c = unit.c
    is_low = total.high.eq(0)
    lead = _leading(is_low.choose(total.low, total.high)) + is_low.choose(c.const(0, i64), 64)
    least = c.const(-1074, i64) - unit
    place = (lead - 52 > least).choose(lead - 52, least)
    down = place - 2  # two bits more than are kept: half, and less or more than that
    shifted = _shifted_right(total, _clamped(down, 127)).low
    raised = total.low << _clamped(c.const(0, i64) - down, 63)
    value = (down < 0).choose(raised, shifted)
    kept = value >> 2
    up = ((value & 3) + (kept & 1)) > 2
    field = place + unit + 1074
    bits = (field.signed(u64) << 52) + kept + up.resize(u64)
    return (field > 2045).choose(c.const(_INFINITY, u64), bits)
