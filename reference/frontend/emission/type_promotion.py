"""Type promotion: the common type of operands, and literals in it.

Python's numbers are weak: they take the type of the runtime value they meet, or the default type of their kind when
they are alone or meet a value of another kind. A literal that its type can't hold is an error.
"""

from __future__ import annotations

import math

from ...errors import AdstackTypeError, AdstackValueError
from ...ir.structure import Value
from ...ir.types import DType, i32, i64, promote, u1, u64
from ...values.kinds import Operand
from .current import current
from .expr import Expr
from .literals import describe, is_number, plain

__all__ = ["alone", "arithmetic_type", "common", "literal", "materialise", "to_bool", "typed"]


def alone(value: object) -> DType:
    """The type of a runtime value, or of a literal that meets no other operand."""
    if isinstance(value, Expr):
        return value.dtype
    value = plain(value)
    if isinstance(value, bool):
        return u1
    return current().default_ip if isinstance(value, int) else current().default_fp


def literal(value: Operand, to: DType) -> Value:
    """A constant of type `to`; an error if the number is out of its range."""
    value = plain(value)
    if to.is_float:
        _check_float(value, to)
    elif to is u1:
        value = bool(value != 0)
    elif isinstance(value, float):
        value = int(value) if math.isfinite(value) else to(value)
    if to.kind in "iu" and not to.min <= value <= to.max:
        raise AdstackValueError(
            f"the literal {value} is out of range for {to}",
            note=f"{to} holds {to.min} to {to.max}",
            do="use a wider type, such as i64(...), or a smaller number"
            if i64.min <= value <= u64.max
            else "make it a float, or use a smaller number: no type of integers holds it",
        )
    return current().builder.const(value, to)


def _check_float(value: object, to: DType) -> None:
    if math.isinf(to(value)) and not (isinstance(value, float) and math.isinf(value)):
        raise AdstackValueError(f"the literal {value} is out of range for {to}", do="use a wider type")


def typed(value: object, to: DType) -> Value:
    """A runtime value cast to `to`, or a literal of that type."""
    if isinstance(value, Expr):
        return current().builder.cast(value.value, to)
    if is_number(value):
        return literal(value, to)
    raise AdstackTypeError("a number is needed here", note=f"got {describe(value)}", do="give a number, such as v[0]")


def materialise(value: object) -> Expr:
    """A runtime value as it is; a literal in its default type."""
    return value if isinstance(value, Expr) else Expr(typed(value, alone(value)))


def common(*values: object) -> DType:
    """The type in which these operands meet; literals follow the runtime values where their kind allows."""
    strong = [v.dtype for v in values if isinstance(v, Expr)]
    weak = [plain(v) for v in values if not isinstance(v, Expr)]
    if not strong:
        return _all_weak(weak)
    to = strong[0]
    for other in strong[1:]:
        to = promote(to, other) if to is not other else to
    return _with_weak(to, weak)


def _with_weak(to: DType, weak: list[Operand]) -> DType:
    for value in weak:
        if isinstance(value, float) and not to.is_float:
            to = current().default_fp
        elif isinstance(value, int) and not isinstance(value, bool) and to is u1:
            to = current().default_ip
    return to


def _all_weak(weak: list[Operand]) -> DType:
    to = alone(weak[0])
    for value in weak[1:]:
        other = alone(value)
        to = promote(to, other) if to is not other else to
    return to


def arithmetic_type(to: DType) -> DType:
    """u1 counts as i32 in arithmetic."""
    return i32 if to is u1 else to


def to_bool(value: object) -> Value:
    """A condition: integers are compared with 0; floats are refused."""
    if not isinstance(value, Expr) and not is_number(value):
        do = "compare numbers: x != 0; of a vector v.any() or v.all()"
        raise AdstackTypeError("a condition must be an integer or a bool", note=f"got {describe(value)}", do=do)
    expr = materialise(value)
    if expr.dtype is u1:
        return expr.value
    if expr.dtype.is_float:
        raise AdstackTypeError(
            "a condition must be an integer or a bool", note=f"this is {expr.dtype}", do="compare it: x != 0"
        )
    builder = current().builder
    return builder.ne(expr.value, builder.const(0, expr.dtype))
