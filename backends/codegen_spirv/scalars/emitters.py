"""One emitter per scalar operation: values in, a value out.

The meanings are those of `adstack.ir.arithmetic`, to the bit. What SPIR-V leaves undefined (division by zero, long
shifts, conversions out of range) is guarded by selects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adstack.ir import scalar_ops as ops
from adstack.ir.opdef import OpDef
from adstack.ir.types import DType, i32, u32, u64

from ..assembly.code import Num, unsigned
from ..assembly.opcodes import Op
from . import floats
from .fma import fused
from .integral import whole

__all__ = ["EMITTERS", "Site", "emit"]


@dataclass(frozen=True)
class Site:
    """What an emitter works on: the operands, and the type of the result."""

    to: DType
    args: tuple[Num, ...]

    @property
    def dtype(self) -> DType:
        """The type of the first operand."""
        return self.args[0].dtype

    def const(self, value: bool | float) -> Num:
        """A constant of the first operand's type."""
        return self.args[0].c.const(value, self.dtype)


Emitter = Callable[[Site], Num]


def emit(row: OpDef, to: DType, args: Sequence[Num]) -> Num:
    """Emit one pure scalar operation.

    Args:
        row: a scalar operation that code is generated for; KeyError for any other.
        to: the type of the result.
        args: the operands.
    """
    return EMITTERS[row](Site(to, tuple(args)))


def _two(operator: Callable[[Num, Num], Num]) -> Emitter:
    """An operation of two operands; f16 is computed in f32."""

    def emitter(s: Site) -> Num:
        a, b = (floats.wide(x) for x in s.args)
        result = operator(a, b)
        return floats.narrow(result) if s.dtype is not a.dtype and not result.dtype.is_bool else result

    return emitter


def _order(operator: Callable[[Num, Num], Num]) -> Emitter:
    """Which is before the other; of truth values, false is before true."""

    def emitter(s: Site) -> Num:
        a, b = (x.resize(u32) if s.dtype.is_bool else floats.wide(x) for x in s.args)
        return operator(a, b)

    return emitter


def _two_bits(operator: Callable[[Num, Num], Num]) -> Emitter:
    return lambda s: operator(*s.args)


def _rounding(name: str) -> Emitter:
    def emitter(s: Site) -> Num:
        x = floats.wide(s.args[0])
        rounded = whole(name, x)
        return floats.narrow(rounded) if x.dtype is not s.dtype else rounded

    return emitter


def _round(s: Site) -> Num:
    """Halves away from zero: the integral part, and one more if what it leaves is at least a half."""
    x = floats.wide(s.args[0])
    size = floats.magnitude(x)
    least = whole("Trunc", size)
    away = ((size - least) >= 0.5).choose(least + 1.0, least)
    bits = unsigned(x.dtype)
    sign = x.bits(bits) & (1 << (x.dtype.bits - 1))
    signed = (away.bits(bits) | sign).bits(x.dtype)
    return floats.narrow(signed) if x.dtype is not s.dtype else signed


def _safe_divisor(s: Site) -> tuple[Num, Num, Num | None]:
    """The divisor with 0 (and -1, which may overflow) replaced by 1; where it was 0; where it was -1."""
    b = s.args[1]
    zero = b.eq(0)
    if s.dtype.kind != "i":
        return zero.choose(s.const(1), b), zero, None
    minus = b.eq(-1)
    return (zero | minus).choose(s.const(1), b), zero, minus


def _opposite(remainder: Num, divisor: Num) -> Num:
    """Where a remainder is not zero and has another sign than the divisor."""
    return remainder.ne(0) & ((remainder ^ divisor) < 0)


def _widened(s: Site) -> Site:
    """Narrow integers divide in 32 bits: not every device has an instruction for them."""
    if s.dtype.bits >= 32:
        return s
    return Site(s.to, tuple(x.resize(i32 if s.dtype.kind == "i" else u32) for x in s.args))


def _divide(rounding_down: bool) -> Emitter:
    def emitter(narrow: Site) -> Num:
        s = _widened(narrow)
        safe, zero, minus = _safe_divisor(s)
        a = s.args[0]
        quotient = a // safe
        if minus is not None:
            if rounding_down:
                quotient = quotient - _opposite(a - quotient * safe, safe).resize(s.dtype)
            quotient = minus.choose(s.const(0) - a, quotient)
        return zero.choose(s.const(0), quotient).resize(narrow.dtype)

    return emitter


def _remainder(rounding_down: bool) -> Emitter:
    def emitter(narrow: Site) -> Num:
        s = _widened(narrow)
        safe, zero, minus = _safe_divisor(s)
        remainder = s.args[0] % safe
        if minus is not None and rounding_down:
            remainder = remainder + _opposite(remainder, safe).choose(safe, 0)
        return zero.choose(s.const(0), remainder).resize(narrow.dtype)

    return emitter


def _shift(left: bool) -> Emitter:
    def emitter(s: Site) -> Num:
        a, b = s.args
        bits = s.dtype.bits
        unsigned = b.signed({8: u32, 16: u32, 32: u32, 64: u64}[bits]) if bits >= 32 else _unsigned_narrow(b)
        bad = unsigned >= bits
        safe = bad.choose(s.const(0), b)
        return bad.choose(s.const(0), a << safe if left else a >> safe)

    return emitter


def _unsigned_narrow(b: Num) -> Num:
    """A narrow integer as a u32 by its bits: a negative one is far above every width."""
    return b.resize(i32 if b.dtype.kind == "i" else u32).signed(u32)


def _extreme(larger: bool) -> Emitter:
    """max or min: the left operand where it wins or the right one is NaN, else the right one."""

    def emitter(s: Site) -> Num:
        a, b = (floats.wide(x) for x in s.args)
        wins = a > b if larger else a < b
        if s.dtype.is_float:
            wins = wins | b.ne(b)
        return wins.choose(*s.args)

    return emitter


def _integer_power(s: Site) -> Num:
    """By squaring, as often as the exponent, an unsigned one, has bits; a negative exponent is another case."""
    base, exponent = s.args
    c, dtype = base.c, s.dtype
    one = s.const(1)
    negative = exponent < 0 if dtype.kind == "i" else None
    start = exponent if negative is None else negative.choose(s.const(0), exponent)

    def test(carried: Sequence[Num]) -> tuple[Num, Sequence[Num]]:
        return carried[2].ne(0), carried

    def body(carried: Sequence[Num]) -> list[Num]:
        result, square, rest = carried
        taken = (rest & 1).ne(0).choose(result * square, result)
        return [taken, square * square, c.let(Op.ShiftRightLogical, dtype, rest.id, one.id)]

    power = c.loop([one, base, start], test, body)[0]
    if negative is None:
        return power
    odd = (exponent & 1).ne(0)
    of_minus_one = odd.choose(s.const(-1), one)
    below = base.eq(1).choose(one, base.eq(-1).choose(of_minus_one, 0))
    return negative.choose(below, power)


def _negate(s: Site) -> Num:
    return floats.negate(s.args[0]) if s.dtype.is_float else s.const(0) - s.args[0]


def _magnitude(s: Site) -> Num:
    x = s.args[0]
    if s.dtype.is_float:
        return floats.magnitude(x)
    return x if s.dtype.kind == "u" else (x < 0).choose(s.const(0) - x, x)


def _count(s: Site) -> Num:
    """Set bits, of 32 at a time."""
    return _by_words(s.args[0], lambda word: word.c.let(Op.BitCount, i32, word.id))


def _by_words(x: Num, count: Callable[[Num], Num]) -> Num:
    if x.dtype.bits < 64:
        return count(_zero_extended(x))
    wide = x.signed(u64)
    return count(wide.resize(u32)) + count((wide >> 32).resize(u32))


def _zero_extended(x: Num) -> Num:
    if x.dtype.bits == 32:
        return x.signed(u32)
    return x.c.let(Op.UConvert, u32, x.id)


def _leading_zeros(s: Site) -> Num:
    """By the number of the highest set bit, which is -1 of zero."""
    x = s.args[0]
    if x.dtype.bits < 64:
        word = _zero_extended(x)
        return x.c.const(x.dtype.bits - 1, i32) - x.c.std("FindUMsb", i32, word)
    wide = x.signed(u64)
    high, low = (wide >> 32).resize(u32), wide.resize(u32)
    zeros = [x.c.const(31, i32) - x.c.std("FindUMsb", i32, word) for word in (high, low)]
    return high.eq(0).choose(zeros[1] + 32, zeros[0])


def _cast(s: Site) -> Num:
    source, to, x = s.dtype, s.to, s.args[0]
    if to is source:
        return x
    if to.is_bool:
        return floats.wide(x).ne(0)
    if source.is_bool and to.is_float:
        return floats.integer_to_float(x.resize(u32), to)
    if source.is_integer and to.is_integer:
        return x.resize(to)
    if source.is_float and to.is_float:
        return floats.to_float(x, to)
    return _saturate(s) if source.is_float else floats.integer_to_float(x, to)


def _saturate(s: Site) -> Num:
    """Truncated where the result holds it; the nearest bound beyond, and 0 of NaN."""
    x, to = floats.wide(s.args[0]), s.to
    c = x.c
    through = to if to.bits >= 32 else i32
    low, high = float(to.min), float(to.max + 1)
    inside = (x >= low) & (x < high)
    saturated = inside.choose(x, 0.0).convert(through).resize(to)
    beyond = (x >= high).choose(c.const(to.max, to), (x < low).choose(c.const(to.min, to), 0))
    return inside.choose(saturated, beyond)


def _bitcast(s: Site) -> Num:
    return s.args[0].bits(s.to)


EMITTERS: dict[OpDef, Emitter] = {
    ops.ADD: _two(lambda a, b: a + b),
    ops.SUB: _two(lambda a, b: a - b),
    ops.MUL: _two(lambda a, b: a * b),
    ops.DIV: lambda s: floats.divide(*s.args),
    ops.FLOORDIV: _divide(rounding_down=True),
    ops.MOD: _remainder(rounding_down=True),
    ops.RAW_DIV: _divide(rounding_down=False),
    ops.RAW_MOD: _remainder(rounding_down=False),
    ops.IPOW: _integer_power,
    ops.MAX: _extreme(larger=True),
    ops.MIN: _extreme(larger=False),
    ops.NEG: _negate,
    ops.ABS: _magnitude,
    ops.FMA: lambda s: fused(*s.args),
    ops.SQRT: lambda s: floats.root(s.args[0]),
    ops.FLOOR: _rounding("Floor"),
    ops.CEIL: _rounding("Ceil"),
    ops.TRUNC: _rounding("Trunc"),
    ops.ROUND: _round,
    ops.RINT: _rounding("RoundEven"),
    ops.AND: _two_bits(lambda a, b: a & b),
    ops.OR: _two_bits(lambda a, b: a | b),
    ops.XOR: _two_bits(lambda a, b: a ^ b),
    ops.NOT: lambda s: ~s.args[0],
    ops.SHL: _shift(left=True),
    ops.SHR: _shift(left=False),
    ops.POPCNT: _count,
    ops.CLZ: _leading_zeros,
    ops.EQ: _two(lambda a, b: a.eq(b)),
    ops.NE: _two(lambda a, b: a.ne(b)),
    ops.LT: _order(lambda a, b: a < b),
    ops.LE: _order(lambda a, b: a <= b),
    ops.GT: _order(lambda a, b: a > b),
    ops.GE: _order(lambda a, b: a >= b),
    ops.SELECT: lambda s: s.args[0].choose(s.args[1], s.args[2]),
    ops.CAST: _cast,
    ops.BITCAST: _bitcast,
}
