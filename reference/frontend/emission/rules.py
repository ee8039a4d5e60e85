"""What each operator and function of the language emits for runtime scalars: promotion, then ops of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import AdstackTypeError, AdstackValueError
from ...ir.ops import TABLE
from ...ir.structure import Value
from ...ir.types import DType, u1, unsigned
from ...ir.types import by_name as dtype_named
from ...values.scalars import uint
from .bounds import within
from .current import current
from .expr import RULES, Expr, Rule
from .literals import is_number, plain
from .type_promotion import arithmetic_type, common, materialise, to_bool, typed

__all__ = ["resolve"]

_UNROLLED_POWER = 8


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


def _op(name: str, *operands: Value, **attrs: Any) -> Value:
    return current().builder.emit(name, *operands, **attrs)


def _pair(a: Any, b: Any, to: DType) -> tuple[Value, Value]:
    return typed(a, to), typed(b, to)


def _numeric(name: str) -> Rule:
    """An operation on operands of one numeric type; u1 counts as i32."""

    def rule(*args: Any) -> Value:
        to = arithmetic_type(common(*args))
        return _op(name, *(typed(a, to) for a in args))

    return rule


def _real(name: str) -> Rule:
    """A function of reals: integers are cast to the default float type."""

    def rule(*args: Any) -> Value:
        to = common(*args)
        to = to if to.is_float else current().default_fp
        return _op(name, *(typed(a, to) for a in args))

    return rule


def _comparison(name: str) -> Rule:
    def rule(a: Any, b: Any) -> Value:
        return _op(name, *_pair(a, b, common(a, b)))

    return rule


def _integers(name: str, symbol: str, args: tuple[Any, ...]) -> DType:
    to = common(*args)
    if to.is_float:
        raise AdstackTypeError(f"operands of {symbol} must be integers", note=f"got {to}", do="cast to an integer type")
    return to


def _bits(name: str, symbol: str) -> Rule:
    """A bitwise operation; on u1 it is logical."""

    def rule(a: Any, b: Any) -> Value:
        return _op(name, *_pair(a, b, _integers(name, symbol, (a, b))))

    return rule


def _integral(name: str, symbol: str) -> Rule:
    """An operation of integers in which u1 counts as i32."""

    def rule(*args: Any) -> Value:
        to = arithmetic_type(_integers(name, symbol, args))
        return _op(name, *(typed(a, to) for a in args))

    return rule


def _real_only(name: str) -> Rule:
    """A function that takes no runtime integers; literals count as floats."""

    def rule(a: Any) -> Value:
        if isinstance(a, Expr) and not a.dtype.is_float:
            raise AdstackTypeError(
                f"'{name}' takes real inputs only, however '{a.dtype}' is provided", do=f"write {name}(float(x))"
            )
        return _op(name, typed(a, a.dtype if isinstance(a, Expr) else current().default_fp))

    return rule


RULES["within"] = within
for _name in ("add", "sub", "mul", "max", "min", "neg", "abs"):
    RULES[_name] = _numeric(_name)
for _name, _row in TABLE.items():
    if _row.reals_only:
        RULES[_name] = _real_only(_name)
    elif _row.transcendental or _name in ("sqrt", "fma"):
        RULES[_name] = _real(_name)
    elif _row.signature.line == "T -> i32":
        RULES[_name] = _integral(_name, _name)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    RULES[_name] = _comparison(_name)
for _name, _symbol in (("and", "&"), ("or", "|"), ("xor", "^")):
    RULES[_name] = _bits(_name, _symbol)
for _name, _symbol in (("shl", "<<"), ("shr", ">>")):
    RULES[_name] = _integral(_name, _symbol)


@_rule("invert")
def _invert(a: Any) -> Value:
    return _op("not", typed(a, _integers("not", "~", (a,))))


@_rule("div")
def _div(a: Any, b: Any) -> Value:
    """Integers are divided in the default float type."""
    to = common(a, b)
    return _op("div", *_pair(a, b, to if to.is_float else current().default_fp))


@_rule("floordiv")
def _floordiv(a: Any, b: Any) -> Value:
    to = arithmetic_type(common(a, b))
    x, y = _pair(a, b, to)
    return _op("floor", _op("div", x, y)) if to.is_float else _op("floordiv", x, y)


@_rule("mod")
def _mod(a: Any, b: Any) -> Value:
    """For floats `a - b * floor(a / b)`."""
    to = arithmetic_type(common(a, b))
    x, y = _pair(a, b, to)
    if not to.is_float:
        return _op("mod", x, y)
    return _op("sub", x, _op("mul", y, _op("floor", _op("div", x, y))))


@_rule("raw_div")
def _raw_div(a: Any, b: Any) -> Value:
    to = arithmetic_type(common(a, b))
    return _op("div" if to.is_float else "raw_div", *_pair(a, b, to))


@_rule("raw_mod")
def _raw_mod(a: Any, b: Any) -> Value:
    """For floats `a - b * trunc(a / b)`."""
    to = arithmetic_type(common(a, b))
    x, y = _pair(a, b, to)
    if not to.is_float:
        return _op("raw_mod", x, y)
    return _op("sub", x, _op("mul", y, _op("trunc", _op("div", x, y))))


@_rule("bit_shr")
def _bit_shr(a: Any, b: Any) -> Value:
    """The bits are shifted as an unsigned number's."""
    to = arithmetic_type(_integers("shr", "bit_shr", (a, b)))
    x, y = _pair(a, b, to)
    if not to.is_signed:
        return _op("shr", x, y)
    unsigned = dtype_named(f"u{to.bits}")
    builder = current().builder
    return builder.bitcast(_op("shr", builder.bitcast(x, unsigned), builder.bitcast(y, unsigned)), to)


@_rule("pow")
def _pow(a: Any, b: Any) -> Any:
    """Integers: `ipow`. A float to a small whole literal: multiplications. Otherwise the function."""
    to = arithmetic_type(common(a, b))
    exponent = plain(b) if is_number(b) else None
    if not to.is_float:
        _check_exponent(exponent)
        return _op("ipow", *_pair(a, b, to))
    if isinstance(exponent, int) and abs(exponent) <= _UNROLLED_POWER:
        return _power(typed(a, to), exponent, to)
    return _op("pow", *_pair(a, b, to))


def _check_exponent(exponent: Any) -> None:
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
            result = square if result is None else _op("mul", result, square)
        rest >>= 1
        if rest:
            square = _op("mul", square, square)
    one = current().builder.const(1, to)
    if result is None:
        return one
    return result if exponent > 0 else _op("div", one, result)


@_rule("logical_not")
def _logical_not(a: Any) -> Value:
    return _op("not", to_bool(a))


@_rule("logical_and")
def _logical_and(a: Any, b: Any) -> Value:
    return _op("and", to_bool(a), to_bool(b))


@_rule("logical_or")
def _logical_or(a: Any, b: Any) -> Value:
    return _op("or", to_bool(a), to_bool(b))


@_rule("select")
def _select(condition: Any, a: Any, b: Any) -> Value:
    return _op("select", to_bool(condition), *_pair(a, b, common(a, b)))


def resolve(to: Any) -> DType:
    """A type given as a DType, or as Python's int, float or bool, or as `uint`, which stand for the default types."""
    if isinstance(to, DType):
        return to
    defaults = {int: current().default_ip, uint: unsigned(current().default_ip), float: current().default_fp, bool: u1}
    return defaults[to]


@_rule("cast")
def _cast(a: Any, *, to: Any) -> Value:
    """A literal is converted while compiling, as the op would convert it."""
    dtype = resolve(to)
    if isinstance(a, Expr):
        return current().builder.cast(a.value, dtype)
    return current().builder.const(plain(a), dtype)


@_rule("bitcast")
def _bitcast(a: Any, *, to: Any) -> Value:
    dtype, expr = resolve(to), materialise(a)
    if expr.dtype.bits != dtype.bits or u1 in (expr.dtype, dtype):
        raise AdstackTypeError("bit_cast needs types of the same width", note=f"from {expr.dtype} to {dtype}")
    return current().builder.bitcast(expr.value, dtype)


@_rule("random")
def _random(*, to: Any) -> Value:
    dtype = resolve(to)
    if dtype is u1:
        raise AdstackTypeError("random has no u1", do="write random(i32) & 1 == 1")
    return _op("random", to=dtype)
