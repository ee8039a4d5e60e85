"""The operators and functions of the language on single elements, host numbers included.

Runtime values bring their own operators. Numbers on the host mean what they mean in a kernel as far as a number without
a width can: floats are f64 and follow IEEE 754 (1 / 0 is infinity, not an exception), integer division by zero is 0.
Transcendental functions are numpy's, fast for single numbers; a kernel's may differ from them in the last place.
Numbers of other kinds (`fractions.Fraction`) keep their own arithmetic.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from ..errors import AdstackTypeError, AdstackValueError
from ..ir import arithmetic
from ..ir import scalar_ops as ops
from ..ir.opdef import OpDef
from ..ir.ops import TABLE
from ..ir.types import ALL, DType, by_name, cast_number, f64, i32, i64, u1, u32, u64, unsigned
from ..ir.ufuncs import UFUNCS
from ..runtime.state import active, current
from .elements import describe
from .kinds import Operand, TypeLike
from .linked import tracked
from .operations import BIT_SHR, LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR, POS
from .protocol import is_expr

__all__ = ["HOST", "OPERATORS", "dtype_of", "host_cast", "quotient", "resolve", "settled", "uint"]

Number = Operand


def plain(value: object) -> Operand:
    """A numpy scalar as the Python number it is."""
    return value.item() if isinstance(value, (np.generic, np.ndarray)) and value.shape == () else value


PLAIN: Final = frozenset((float, int))
"""The classes of most numbers of the host: what is of them needs no closer look."""


def check_number(what: str, value: object) -> None:
    """An error unless `value` is a number or a runtime value."""
    if value.__class__ not in PLAIN and not (isinstance(value, (numbers.Real, np.generic)) or is_expr(value)):
        raise AdstackTypeError(
            f"{what} takes numbers, vectors and matrices", note=f"got {describe(value)}", do="pass a number"
        )


def _in_f64(function: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function of numpy arrays on Python numbers, which are taken as f64."""

    def compute(*args: Operand) -> float:
        with np.errstate(all="ignore"):
            return float(function(*(np.asarray(float(a), np.float64) for a in args)))

    return compute


def _ieee(row: OpDef) -> Callable[..., Operand]:
    """The meaning of a row in f64, on Python numbers."""
    assert row.meaning is not None
    return _in_f64(partial(row.meaning, f64))


def _is_float(*args: object) -> bool:
    return any(isinstance(a, float) for a in args)


def _is_int(*args: object) -> bool:
    return all(isinstance(a, int) for a in args)


_divide = _ieee(ops.DIV)
_power = _in_f64(np.power)


def quotient(a: Number, b: Number) -> Number:
    """`a / b`; floats and integers by zero give infinity or NaN."""
    return _divide(a, b) if b == 0 and (_is_float(a, b) or _is_int(a, b)) else a / b


def _floordiv(a: Number, b: Number) -> Number:
    if b == 0 and _is_int(a, b):
        return 0
    return _ieee(ops.FLOOR)(quotient(a, b)) if b == 0 and _is_float(a, b) else a // b


def _mod(a: Number, b: Number) -> Number:
    if b == 0 and _is_int(a, b):
        return 0
    return math.nan if b == 0 and _is_float(a, b) else a % b


def _pow(a: Number, b: Number) -> Number:
    if not (_is_int(a, b) or _is_float(a, b)):
        return a**b
    if _is_float(a, b):
        return _power(a, b)
    return a**b if b >= 0 else (a if b % 2 else 1) if a in (1, -1) else 0


def _shl(a: Number, b: Number) -> Number:
    return 0 if b < 0 else a << b


def _shr(a: Number, b: Number) -> Number:
    return 0 if b < 0 else a >> b


def _invert(a: Number) -> Number:
    return not a if isinstance(a, bool) else ~a


_NUMBER_OPERATORS: Final[dict[OpDef, Callable[..., Operand]]] = {
    ops.ADD: operator.add,
    ops.SUB: operator.sub,
    ops.MUL: operator.mul,
    ops.DIV: quotient,
    ops.FLOORDIV: _floordiv,
    ops.MOD: _mod,
    ops.POW: _pow,
    ops.SHL: _shl,
    ops.SHR: _shr,
    ops.AND: operator.and_,
    ops.OR: operator.or_,
    ops.XOR: operator.xor,
    ops.EQ: operator.eq,
    ops.NE: operator.ne,
    ops.LT: operator.lt,
    ops.LE: operator.le,
    ops.GT: operator.gt,
    ops.GE: operator.ge,
    ops.NEG: operator.neg,
    POS: operator.pos,
    ops.NOT: _invert,
}
_EXPR_OPERATORS: Final[dict[OpDef, Callable[..., Operand]]] = {
    **_NUMBER_OPERATORS,
    ops.DIV: operator.truediv,
    ops.FLOORDIV: operator.floordiv,
    ops.MOD: operator.mod,
    ops.POW: operator.pow,
    ops.SHL: operator.lshift,
    ops.SHR: operator.rshift,
    ops.NOT: operator.invert,
}


def _operator(row: OpDef) -> Callable[..., Operand]:
    of_numbers, of_exprs = _NUMBER_OPERATORS[row], _EXPR_OPERATORS[row]
    of_linked = tracked(row, of_numbers)

    def apply(*args: object) -> Operand:
        if PLAIN.issuperset([a.__class__ for a in args]):
            return of_numbers(*args)
        for a in args:
            check_number(row.name, a)
        return of_exprs(*args) if any(is_expr(a) for a in args) else of_linked(*args)

    apply.__name__ = row.name
    return apply


OPERATORS: Final = {row: _operator(row) for row in _NUMBER_OPERATORS}
"""Operators of two (or one) elements."""


class uint:  # noqa: N801 - it stands beside Python's int
    """The unsigned type as wide as the default integer type (`init(default_ip=...)`), as `int` stands for that type."""


def default_unsigned() -> DType:
    """What `uint` means on the host: without a runtime, u32."""
    runtime = active()
    return unsigned(i32 if runtime is None else runtime.options.default_ip)


def scalar_type(dtype: object) -> Operand:
    """A scalar type as programs write it: float, int and uint are default types, bool is u1; others unchanged."""
    if dtype is float:
        return current().options.default_fp
    if dtype is int:
        return current().options.default_ip
    if dtype is uint:
        return default_unsigned()
    return u1 if dtype is bool else dtype


def settled(to: object) -> Operand:
    """`uint` as the type that it means now; other types unchanged."""
    return default_unsigned() if to is uint else to


def dtype_of(to: object) -> Operand:
    """A scalar type as it may be written: a `DType`, or int, float, bool or `uint`, which stand for defaults.

    AdstackTypeError for anything else.
    """
    if isinstance(to, DType) or any(to is t for t in (int, float, bool, uint)):
        return to
    raise AdstackTypeError(
        f"{to!r} is not a scalar type", do="use one of " + ", ".join(t.name for t in ALL) + ", or int, float, bool"
    )


def resolve(dtype: object, default_fp: DType, default_ip: DType) -> DType:
    """The scalar type that an annotation means: Python's float and int are the defaults, `uint` unsigned, bool u1."""
    named = dtype_of(dtype)
    if isinstance(named, DType):
        return named
    if named is uint:
        return unsigned(default_ip)
    return default_fp if named is float else default_ip if named is int else u1


def host_cast(value: Number, to: TypeLike) -> Number:
    """`cast` on the host; int and float do not round to a width there."""
    if isinstance(to, DType):
        return cast_number(plain(value), to)
    if to is uint:
        return cast_number(plain(value), default_unsigned())
    if to is int and isinstance(value, float):
        return cast_number(value, i64)
    return to(value)


def _bit_source(value: Number, to: object) -> DType:
    """The type that a host number has when its bits are taken as `to`: a float or signed integer of that width."""
    if not isinstance(to, DType) or to.is_bool:
        raise AdstackTypeError(f"bit_cast to {to!r} is not defined", do="name a type with a width, such as i32 or f32")
    if isinstance(value, float) and to.bits < 16:
        raise AdstackTypeError(f"no float type is as narrow as {to.name}", do="cast to an integer type first")
    return by_name(("f" if isinstance(value, float) else "i") + str(to.bits))


def _host_bitcast(value: Number, to: TypeLike) -> Number:
    source = _bit_source(value, to)
    bits = np.asarray(cast_number(value, source), source.numpy)
    return arithmetic.bitcast(to, bits).item()


def width_type(value: int) -> DType:
    """The integer type that a host number is taken to have where bits count: the narrowest of i32 u32 i64 u64.

    AdstackValueError if none of them holds it.
    """
    for dtype in (i32, u32, i64, u64):
        if dtype.min <= value <= dtype.max:
            return dtype
    raise AdstackValueError(f"{value} does not fit in 64 bits", do="use a smaller number")


def _bits(row: OpDef) -> Callable[..., Operand]:
    """An operation on the bits of an integer of 32 or 64 bits."""

    def compute(value: object, *rest: object) -> int:
        if not isinstance(value, int):
            raise AdstackTypeError(
                f"the operand of {row.name} must be an integer", note=f"got a {type(value).__name__}"
            )
        dtype = width_type(value)
        assert row.meaning is not None
        return int(row.meaning(i32, np.asarray(value, dtype.numpy)).item())

    return compute


def _bit_shr(value: int, amount: int) -> int:
    bits = width_type(value).bits
    return 0 if not 0 <= amount < bits else (value & ((1 << bits) - 1)) >> amount


def _integers(row: OpDef) -> Callable[..., Operand]:
    """Truncating division and its remainder; 0 by zero."""

    def compute(a: Operand, b: Operand) -> Operand:
        if not _is_int(a, b):
            raise AdstackTypeError(f"each operand of {row.name} must be an integer", do="cast to an integer type")
        quotient = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if row is ops.RAW_DIV else 0 if b == 0 else a - quotient * b

    return compute


def _raw_div(a: object, b: object) -> Operand:
    return _integers(ops.RAW_DIV)(a, b) if _is_int(a, b) else quotient(a, b)


def _whole(row: OpDef, exact: Callable[[Operand], Operand]) -> Callable[..., Operand]:
    """floor, ceil, round, trunc: a float stays a float, an integer is itself."""
    of_floats = _ieee(row)

    def compute(value: Operand) -> Operand:
        if isinstance(value, int):
            return value
        return of_floats(value) if isinstance(value, float) else type(value)(exact(value))

    return compute


def _round_half_away(value: Operand) -> Operand:
    return math.floor(value + type(value)(1) / 2) if value >= 0 else math.ceil(value - type(value)(1) / 2)


def _max(a: Operand, b: Operand) -> Operand:
    return a if a > b or b != b else b


def _min(a: Operand, b: Operand) -> Operand:
    return a if a < b or b != b else b


def _select(condition: object, a: object, b: object) -> Operand:
    return a if condition else b


_PLAIN: Final[dict[OpDef, Callable[..., Operand]]] = {
    **{row: _in_f64(function) for row, function in UFUNCS.items()},
    **{row: _bits(row) for row in TABLE.values() if row.signature.line == "T -> i32"},
    ops.SQRT: _ieee(ops.SQRT),
    ops.FMA: _ieee(ops.FMA),
    ops.POW: OPERATORS[ops.POW],
    ops.FLOOR: _whole(ops.FLOOR, math.floor),
    ops.CEIL: _whole(ops.CEIL, math.ceil),
    ops.TRUNC: _whole(ops.TRUNC, math.trunc),
    ops.ROUND: _whole(ops.ROUND, _round_half_away),
    ops.ABS: abs,
    ops.MAX: _max,
    ops.MIN: _min,
    ops.SELECT: _select,
    ops.RAW_DIV: _raw_div,
    ops.RAW_MOD: _integers(ops.RAW_MOD),
    BIT_SHR: _bit_shr,
    ops.CAST: host_cast,
    ops.BITCAST: _host_bitcast,
    LOGICAL_NOT: operator.not_,
    LOGICAL_AND: lambda a, b: bool(a) and bool(b),
    LOGICAL_OR: lambda a, b: bool(a) or bool(b),
}

HOST: Final = {row: tracked(row, function) for row, function in _PLAIN.items()}
"""What the functions of the language compute on host numbers."""
