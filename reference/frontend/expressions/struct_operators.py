"""Operators on structs in kernels: what their types declare, or an error that tells what to declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ...errors import AdstackTypeError
from ...values.kinds import KernelObject
from ...values.matrices.struct import Struct
from ...values.matrices.struct_operators import binary_function, function_name, unary_function
from ..emission.context import Context
from ..emission.literals import describe
from .foreign import guarded

__all__ = ["binary_on_structs", "declares", "is_struct", "unary_on_struct"]


def is_struct(*operands: object) -> bool:
    """Whether one of the operands is a struct, so that its type says what an operator does."""
    return any(isinstance(operand, Struct) for operand in operands)


def declares(symbol: str, left: object, right: object) -> bool:
    """Whether the type of a struct among the two says what `left symbol right` is."""
    return binary_function(symbol, left, right) is not None


def binary_on_structs(context: Context, symbol: str, left: object, right: object) -> KernelObject:
    """`left symbol right`, one of which is a struct; AdstackTypeError where no type declares it."""
    function = binary_function(symbol, left, right)
    if function is None:
        _undeclared(context, symbol, (left, right))
    return guarded(context, function)


def unary_on_struct(context: Context, symbol: str, operand: object) -> KernelObject:
    """`symbol operand` of a struct; AdstackTypeError where its type does not declare it."""
    function = unary_function(symbol, operand)
    if function is None:
        _undeclared(context, symbol, (operand,))
    return guarded(context, function)


def _undeclared(context: Context, symbol: str, operands: Sequence[object]) -> NoReturn:
    name = function_name(symbol, len(operands))
    context.fail(
        AdstackTypeError,
        f"the type of this struct does not say what {symbol} does",
        note=f"got {' and '.join(describe(operand) for operand in operands)}",
        do=f"write {_example(symbol, len(operands))}, with members, or declare {name} in a class under @qd.dataclass",
    )


def _example(symbol: str, operands: int) -> str:
    return f"{symbol}a.x" if operands == 1 else f"a.x {symbol} b.x"
