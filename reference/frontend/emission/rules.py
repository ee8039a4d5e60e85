"""What each operator and function of the language emits for runtime scalars: promotion, then ops of the table."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import AdstackTypeError, AdstackValueError
from ...ir import scalar_ops as ops
from ...ir.opdef import OpDef
from ...ir.ops import RANDOM, TABLE
from ...ir.structure import Value
from ...ir.types import DType, u1, unsigned
from ...ir.types import by_name as dtype_named
from ...values.kinds import Operand, TypeLike
from ...values.operations import BIT_SHR, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, WITHIN
from ...values.scalars import uint
from .bounds import within
from .current import current
from .expr import RULES, Expr, Rule
from .literals import is_number, plain
from .type_promotion import alone, arithmetic_type, common, materialise, to_bool, typed

__all__ = ["resolve"]

_UNROLLED_POWER = 8


def _rule(row: OpDef) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES[row] = function
        return function

    return register


def _op(row: OpDef, *operands: Value, **attrs: object) -> Value:
    return current().builder.emit(row, *operands, **attrs)


def _pair(a: object, b: object, to: DType) -> tuple[Value, Value]:
    return typed(a, to), typed(b, to)


def _numeric(row: OpDef) -> Rule:
    """An operation on operands of one numeric type; u1 counts as i32."""

    def rule(*args: object) -> Value:
        to = arithmetic_type(common(*args))
        return _op(row, *(typed(a, to) for a in args))

    return rule


def _real(row: OpDef) -> Rule:
    """A function of reals: integers are cast to the default float type."""

    def rule(*args: object) -> Value:
        to = common(*args)
        to = to if to.is_float else current().default_fp
        return _op(row, *(typed(a, to) for a in args))

    return rule


def _comparison(row: OpDef) -> Rule:
    def rule(a: object, b: object) -> Value:
        return _op(row, *_pair(a, b, common(a, b)))

    return rule


def _integers(symbol: str, args: tuple[Operand, ...]) -> DType:
    to = common(*args)
    if to.is_float:
        raise AdstackTypeError(f"operands of {symbol} must be integers", note=f"got {to}", do="cast to an integer type")
    return to


def _bits(row: OpDef, symbol: str) -> Rule:
    """A bitwise operation; on u1 it is logical."""

    def rule(a: object, b: object) -> Value:
        return _op(row, *_pair(a, b, _integers(symbol, (a, b))))

    return rule


def _integral(row: OpDef, symbol: str) -> Rule:
    """An operation of integers in which u1 counts as i32."""

    def rule(*args: object) -> Value:
        to = arithmetic_type(_integers(symbol, args))
        return _op(row, *(typed(a, to) for a in args))

    return rule


def _real_only(row: OpDef) -> Rule:
    """A function that takes no runtime integers; literals count as floats."""

    def rule(a: object) -> Value:
        if isinstance(a, Expr) and not a.dtype.is_float:
            raise AdstackTypeError(
                f"'{row.name}' takes real inputs only, however '{a.dtype}' is provided",
                do=f"write {row.name}(float(x))",
            )
        return _op(row, typed(a, a.dtype if isinstance(a, Expr) else current().default_fp))

    return rule


def _shift(row: OpDef, symbol: str) -> Rule:
    """A shift: of the type of what is shifted, whatever the type of the amount."""

    def rule(a: object, b: object) -> Value:
        _integers(symbol, (a, b))
        to = _shifted(a, b)
        return _op(row, typed(a, to), _amount(b, to))

    return rule


def _shifted(a: object, b: object) -> DType:
    """The type of what is shifted; a literal takes that of a wider amount, and any amount's that alone can hold it."""
    to = arithmetic_type(alone(a))
    if not isinstance(a, Expr) and isinstance(b, Expr):
        amount, value = arithmetic_type(b.dtype), plain(a)
        if amount.bits > to.bits or not to.min <= value <= to.max:
            return amount
    return to


def _amount(b: object, to: DType) -> Value:
    """By how much it is shifted, in the same type: an amount of a wider type stays below zero, or past the width."""
    if not isinstance(b, Expr) or b.dtype.bits <= to.bits:
        return typed(b, to)
    builder, value = current().builder, b.value
    value = builder.emit(ops.MIN, value, builder.const(to.bits, b.dtype))
    if b.dtype.is_signed:
        value = builder.emit(ops.MAX, value, builder.const(-1, b.dtype))
    return builder.cast(value, to)


RULES[WITHIN] = within
for _row in (ops.ADD, ops.SUB, ops.MUL, ops.MAX, ops.MIN, ops.NEG, ops.ABS):
    RULES[_row] = _numeric(_row)
for _row in TABLE.values():
    if _row.reals_only:
        RULES[_row] = _real_only(_row)
    elif _row.transcendental or _row in (ops.SQRT, ops.FMA):
        RULES[_row] = _real(_row)
    elif _row.signature.line == "T -> i32":
        RULES[_row] = _integral(_row, _row.name)
for _row in (ops.EQ, ops.NE, ops.LT, ops.LE, ops.GT, ops.GE):
    RULES[_row] = _comparison(_row)
for _row, _symbol in ((ops.AND, "&"), (ops.OR, "|"), (ops.XOR, "^")):
    RULES[_row] = _bits(_row, _symbol)
for _row, _symbol in ((ops.SHL, "<<"), (ops.SHR, ">>")):
    RULES[_row] = _shift(_row, _symbol)


@_rule(ops.NOT)
def _invert(a: object) -> Value:
    return _op(ops.NOT, typed(a, _integers("~", (a,))))


@_rule(ops.DIV)
def _div(a: object, b: object) -> Value:
    """Integers are divided in the default float type."""
    to = common(a, b)
    return _op(ops.DIV, *_pair(a, b, to if to.is_float else current().default_fp))


@_rule(ops.FLOORDIV)
def _floordiv(a: object, b: object) -> Value:
    to = arithmetic_type(common(a, b))
    x, y = _pair(a, b, to)
    return _op(ops.FLOOR, _op(ops.DIV, x, y)) if to.is_float else _op(ops.FLOORDIV, x, y)


@_rule(ops.MOD)
def _mod(a: object, b: object) -> Value:
    """For floats `a - b * floor(a / b)`."""
    to = arithmetic_type(common(a, b))
    x, y = _pair(a, b, to)
    if not to.is_float:
        return _op(ops.MOD, x, y)
    return _op(ops.SUB, x, _op(ops.MUL, y, _op(ops.FLOOR, _op(ops.DIV, x, y))))


@_rule(ops.RAW_DIV)
def _raw_div(a: object, b: object) -> Value:
    to = arithmetic_type(common(a, b))
    return _op(ops.DIV if to.is_float else ops.RAW_DIV, *_pair(a, b, to))


@_rule(ops.RAW_MOD)
def _raw_mod(a: object, b: object) -> Value:
    """For floats `a - b * trunc(a / b)`."""
    to = arithmetic_type(common(a, b))
    x, y = _pair(a, b, to)
    if not to.is_float:
        return _op(ops.RAW_MOD, x, y)
    return _op(ops.SUB, x, _op(ops.MUL, y, _op(ops.TRUNC, _op(ops.DIV, x, y))))


@_rule(BIT_SHR)
def _bit_shr(a: object, b: object) -> Value:
    """The bits are shifted as an unsigned number's."""
    _integers("bit_shr", (a, b))
    to = _shifted(a, b)
    x, y = typed(a, to), _amount(b, to)
    if not to.is_signed:
        return _op(ops.SHR, x, y)
    unsigned = dtype_named(f"u{to.bits}")
    builder = current().builder
    return builder.bitcast(_op(ops.SHR, builder.bitcast(x, unsigned), builder.bitcast(y, unsigned)), to)


@_rule(ops.POW)
def _pow(a: object, b: object) -> Operand:
    """Integers: `ipow`. A float to a small whole literal: multiplications. Otherwise the function."""
    to = arithmetic_type(common(a, b))
    exponent = plain(b) if is_number(b) else None
    if not to.is_float:
        _check_exponent(exponent)
        return _op(ops.IPOW, *_pair(a, b, to))
    if isinstance(exponent, int) and abs(exponent) <= _UNROLLED_POWER:
        return _power(typed(a, to), exponent, to)
    return _op(ops.POW, *_pair(a, b, to))


def _check_exponent(exponent: object) -> None:
    if isinstance(exponent, int) and exponent < 0:
        raise AdstackValueError(
            "Negative exponent in a power of integers is not allowed",
            note=f"the exponent is {exponent}",
            do="make the base a float, such as float(n) ** -1",
        )


def _power(base: Value, exponent: int, to: DType) -> Value:
    """Binary powering; the reciprocal for a negative exponent."""
    result: Value | None = None
    square, rest = base, abs(exponent)
    while rest:
        if rest & 1:
            result = square if result is None else _op(ops.MUL, result, square)
        rest >>= 1
        if rest:
            square = _op(ops.MUL, square, square)
    one = current().builder.const(1, to)
    if result is None:
        return one
    return result if exponent > 0 else _op(ops.DIV, one, result)


@_rule(LOGICAL_NOT)
def _logical_not(a: object) -> Value:
    return _op(ops.NOT, to_bool(a))


@_rule(LOGICAL_AND)
def _logical_and(a: object, b: object) -> Value:
    return _op(ops.AND, to_bool(a), to_bool(b))


@_rule(LOGICAL_OR)
def _logical_or(a: object, b: object) -> Value:
    return _op(ops.OR, to_bool(a), to_bool(b))


@_rule(ops.SELECT)
def _select(condition: object, a: object, b: object) -> Value:
    return _op(ops.SELECT, to_bool(condition), *_pair(a, b, common(a, b)))


def resolve(to: TypeLike) -> DType:
    """A type given as a DType, or as Python's int, float or bool, or as `uint`, which stand for the default types."""
    if isinstance(to, DType):
        return to
    defaults = {int: current().default_ip, uint: unsigned(current().default_ip), float: current().default_fp, bool: u1}
    return defaults[to]


@_rule(ops.CAST)
def _cast(a: object, *, to: object) -> Value:
    """A literal is converted while compiling, as the op would convert it."""
    dtype = resolve(to)
    if isinstance(a, Expr):
        return current().builder.cast(a.value, dtype)
    return current().builder.const(plain(a), dtype)


@_rule(ops.BITCAST)
def _bitcast(a: object, *, to: object) -> Value:
    dtype, expr = resolve(to), materialise(a)
    if expr.dtype.bits != dtype.bits or u1 in (expr.dtype, dtype):
        raise AdstackTypeError(
            "bit_cast needs types of the same width", note=f"from {expr.dtype} to {dtype}", do="cast first"
        )
    return current().builder.bitcast(expr.value, dtype)


@_rule(RANDOM)
def _random(*, to: object) -> Value:
    dtype = resolve(to)
    if dtype is u1:
        raise AdstackTypeError("random has no u1", do="write random(i32) & 1 == 1")
    return _op(RANDOM, to=dtype)
