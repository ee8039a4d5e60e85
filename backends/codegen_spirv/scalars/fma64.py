"""An f64 fma of other operations: exact for every operand, subnormal ones and results included.

The product is an unevaluated sum of two doubles, high + low. Adding the addend leaves a double and two errors; these
are added to odd (toward the neighbour with an odd last bit where the sum is between two), so that the last addition is
the only rounding (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Trans. Computers 57(4),
2008).

Numbers so small or large that this would lose bits are scaled by powers of two before, and the result after. A result
that is subnormal then is rounded where subnormal numbers have their last place: by adding what brings that place to the
end.
"""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.types import f64, i64, u64

from ..assembly.code import Code, Num, unsigned
from ..assembly.module import Module, instruction
from ..assembly.opcodes import Op

__all__ = ["fast_fma64", "fma64", "to_odd"]

_SIGN = 1 << 63
_SPECIAL = 2047
"""The exponent of infinities and NaNs."""
_SMALL, _LARGE, _HUGE = 1146, 2996, 1993
"""Sums of two exponents below which a product is scaled up and above which it is scaled down; the exponent above
which an addend is scaled down."""
_BEYOND = 3200
"""A product with such an exponent is infinite, whatever is added."""
_TOP = 1900
"""An operand with an exponent above this gives of it to the other, so that taking it apart does not overflow."""
_UP, _DOWN, _SHARE = 600, -300, 500
"""Powers of two that each operand is scaled by."""


@dataclass(frozen=True)
class _Scaled:
    """Operands that can be worked on.

    Attributes:
        back: by what the result is multiplied, twice.
        small: whether they were scaled up.
    """

    a: Num
    b: Num
    x: Num
    back: Num
    small: Num


def fma64(a: Num, b: Num, x: Num) -> Num:
    """`a * b + x`, rounded once: a call of a function of the module."""
    m = a.c.m
    if "fma64" not in m.helpers:
        m.helpers["fma64"] = _function(m)
    return Num(a.c, f64, a.c.raw(Op.FunctionCall, m.type(f64), m.helpers["fma64"], a.id, b.id, x.id))


def fast_fma64(a: Num, b: Num, x: Num) -> tuple[Num, Num]:
    """The same for operands that need no scaling; and whether these may need it, which makes the number worthless."""
    exponents = [v.bits(u64) >> 52 & 0x7FF for v in (a, b, x)]
    ea, eb, ex = exponents
    total, rest = _sum(a, b, x)
    product = ea + eb - _SMALL
    return total + rest, (product > _LARGE - _SMALL) | (ea > _TOP) | (eb > _TOP) | (ex > _HUGE)


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
    exponents = tuple((v.bits(u64) >> 52 & 0x7FF).signed(i64) for v in (a, b, x))
    ea, eb, ex = exponents
    finite = (ea < _SPECIAL) & (eb < _SPECIAL)
    easy = ~finite | ex.eq(_SPECIAL) | a.eq(0.0) | b.eq(0.0) | (ea + eb > _BEYOND)
    # an infinite or NaN addend decides alone, even if the product, which is finite, overflows
    simple = (finite & ex.eq(_SPECIAL)).choose(x, a * b + x)
    scaled = _scaled(a, b, x, exponents)
    rounded = _rounded(scaled)
    # beside an addend so much larger, a small product changes nothing
    alone = scaled.small & (_size(x) >= 2.0**-700)
    return easy.choose(simple, alone.choose(x, rounded))


def _size(x: Num) -> Num:
    return (x.bits(u64) & (_SIGN - 1)).bits(f64)


def _with_sign(size: float, of: Num) -> Num:
    """A power of two with the sign of a number."""
    bits = of.c.const(size, f64).bits(u64)
    return ((of.bits(u64) & _SIGN) | bits).bits(f64)


def _scaled(a: Num, b: Num, x: Num, exponents: tuple[Num, ...]) -> _Scaled:
    c = a.c
    ea, eb, ex = exponents
    both = ea + eb
    small, large = both < _SMALL, (both > _LARGE) | (ex > _HUGE)

    def power(k: int) -> Num:
        return c.const(2.0**k, f64)

    def factor(mine: Num, other: Num) -> Num:
        shared = (mine > _TOP).choose(power(-_SHARE), (other > _TOP).choose(power(_SHARE), 1.0))
        return small.choose(power(_UP), large.choose(power(_DOWN), shared))

    # of an addend far below a large product it matters only that it is there
    trace = large & (_size(x) < 2.0**-400) & x.ne(0.0)
    kept = trace.choose(_with_sign(2.0**-400, x), x)
    each = small.choose(power(_UP), large.choose(power(_DOWN), 1.0))
    back = small.choose(power(-_UP), large.choose(power(-_DOWN), 1.0))
    return _Scaled(a * factor(ea, eb), b * factor(eb, ea), kept * each * each, back, small)


def _parts(x: Num) -> tuple[Num, Num]:
    """The upper 26 bits, rounded, and the rest: products of such parts are exact."""
    bits = x.bits(u64)
    high = ((bits + (1 << 26)) & ((1 << 64) - (1 << 27))).bits(f64)
    return high, x - high


def _product(a: Num, b: Num) -> tuple[Num, Num]:
    """As an unevaluated sum of two doubles (Dekker)."""
    high = a * b
    (ah, al), (bh, bl) = _parts(a), _parts(b)
    return high, ah * bh - high + ah * bl + al * bh + al * bl


def _error(a: Num, b: Num, total: Num) -> Num:
    """What `total = a + b` lost (Knuth)."""
    virtual = total - a
    return (a - (total - virtual)) + (b - virtual)


def to_odd(a: Num, b: Num) -> Num:
    """`a + b`, toward the neighbour with an odd last bit where it is between two."""
    total, integer = a + b, unsigned(a.dtype)
    error = _error(a, b, total)
    bits = total.bits(integer)
    inexact = error.differs(0.0).resize(integer)  # beside infinities and NaNs the error is a NaN
    beyond = (bits ^ error.bits(integer)) >> (integer.bits - 1) & inexact
    return ((bits - beyond) | inexact).bits(a.dtype)


def _sum(a: Num, b: Num, x: Num) -> tuple[Num, Num]:
    """`a * b + x` as a sum of two numbers whose sum, rounded, is the result where that is normal."""
    high, low = _product(a, b)
    upper = x + low
    total = high + upper
    return total, to_odd(_error(high, upper, total), _error(x, low, upper))


def _rounded(s: _Scaled) -> Num:
    total, rest = _sum(s.a, s.b, s.x)
    # in the scale of small numbers, 2^178 is the least normal one: added, its last place is that of subnormal ones
    near = total + rest
    subnormal = s.small & (_size(near) < 2.0 ** (2 * _UP - 1022))
    ground = subnormal.choose(_with_sign(2.0 ** (2 * _UP - 1022), near), 0.0)
    raised = ground + total
    result = raised + to_odd(total - (raised - ground), rest) - ground
    return result.eq(0.0).choose(near * 0.0, result * s.back * s.back)
