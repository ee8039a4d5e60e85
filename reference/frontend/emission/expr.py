"""Runtime scalars at compile time: an `Expr` stands for a number that exists only when the kernel runs.

Its operators emit ops into the kernel being compiled, so plain Python code, lambdas included, works on it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

import numpy as np

from ...errors import AdstackTypeError
from ...ir.opdef import OpDef
from ...ir.scalar_ops import (
    ABS,
    ADD,
    AND,
    DIV,
    EQ,
    FLOORDIV,
    GE,
    GT,
    LE,
    LT,
    MOD,
    MUL,
    NE,
    NEG,
    NOT,
    OR,
    POW,
    SHL,
    SHR,
    SUB,
    XOR,
)
from ...ir.structure import Value
from ...ir.types import DType
from ...values.kinds import Operand
from .literals import describe, is_number

__all__ = ["RULES", "Expr", "emit"]

Rule = Callable[..., Operand]
RULES: Final[dict[OpDef, Rule]] = {}
"""What each operator and function of the language emits for runtime scalars; `rules.py` enters its rules here."""

_SCALARS = (bool, int, float, np.bool_, np.integer, np.floating)


def emit(row: OpDef, args: tuple[Operand, ...], attrs: Mapping[str, Operand]) -> Operand:
    """The result of the language's operator or function `row` of runtime scalars and numbers, as a runtime scalar.

    Raises:
        AdstackTypeError: an argument is neither.
    """
    for arg in args:
        if not isinstance(arg, Expr) and not is_number(arg):
            raise AdstackTypeError(f"{row.name} takes numbers", note=f"got {describe(arg)}")
    result = RULES[row](*args, **attrs)
    return Expr(result) if isinstance(result, Value) else result


def _binary(row: OpDef) -> Callable[[Operand, Operand], Operand]:
    def operator(self: Expr, other: object) -> Operand:
        if isinstance(other, (Expr, *_SCALARS)):
            return emit(row, (self, other), {})
        return NotImplemented

    return operator


def _reflected(row: OpDef) -> Callable[[Operand, Operand], Operand]:
    def operator(self: Expr, other: object) -> Operand:
        if isinstance(other, _SCALARS):
            return emit(row, (other, self), {})
        return NotImplemented

    return operator


def _unary(row: OpDef) -> Callable[[Operand], Operand]:
    def operator(self: Expr) -> Operand:
        return emit(row, (self,), {})

    return operator


class Expr:
    """A runtime scalar: an SSA value with the language's operators."""

    __slots__ = ("value",)
    __array_ufunc__ = None
    """numpy scalars on the left leave the operation to us."""

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def dtype(self) -> DType:
        """The scalar type, after promotion."""
        return self.value.dtype

    def __repr__(self) -> str:
        return f"<runtime {self.dtype}>"

    def __adstack_emit__(self, row: OpDef, args: tuple[Operand, ...], /, **attrs: object) -> Operand:
        return emit(row, args, attrs)

    __add__, __radd__ = _binary(ADD), _reflected(ADD)
    __sub__, __rsub__ = _binary(SUB), _reflected(SUB)
    __mul__, __rmul__ = _binary(MUL), _reflected(MUL)
    __truediv__, __rtruediv__ = _binary(DIV), _reflected(DIV)
    __floordiv__, __rfloordiv__ = _binary(FLOORDIV), _reflected(FLOORDIV)
    __mod__, __rmod__ = _binary(MOD), _reflected(MOD)
    __pow__, __rpow__ = _binary(POW), _reflected(POW)
    __and__, __rand__ = _binary(AND), _reflected(AND)
    __or__, __ror__ = _binary(OR), _reflected(OR)
    __xor__, __rxor__ = _binary(XOR), _reflected(XOR)
    __lshift__, __rlshift__ = _binary(SHL), _reflected(SHL)
    __rshift__, __rrshift__ = _binary(SHR), _reflected(SHR)
    __lt__, __le__, __gt__, __ge__ = _binary(LT), _binary(LE), _binary(GT), _binary(GE)
    __eq__ = _binary(EQ)
    __ne__ = _binary(NE)
    __neg__, __invert__, __abs__ = _unary(NEG), _unary(NOT), _unary(ABS)

    def __pos__(self) -> Expr:
        return self

    # ---- what only a compile-time value can do

    def _not_static(self) -> NoReturn:
        raise AdstackTypeError(
            "values used while compiling must be compile-time constants",
            note=f"this is a runtime {self.dtype}",
            do="use the language's functions and operators on runtime values",
        )

    def __bool__(self) -> bool:
        raise AdstackTypeError(
            "conditions of Python code run while compiling must be compile-time constants",
            note=f"this is a runtime {self.dtype}",
            do="move the branch into the @kernel or a @func, or use select(...)",
        )

    def __index__(self) -> int:  # noqa: PLE0305 - it never returns
        self._not_static()

    def __hash__(self) -> int:  # a key or an element of a set would be found by identity, not by its number
        raise AdstackTypeError(
            "keys of dicts and elements of sets must be compile-time constants",
            note=f"this is a runtime {self.dtype}",
            do="compare with each of them: if a == 1.0: ...",
        )

    def __int__(self) -> int:
        self._not_static()

    def __float__(self) -> float:
        self._not_static()

    def __iter__(self) -> Operand:
        raise AdstackTypeError(f"a scalar ({self.dtype}) can't be unpacked or looped over", do="use it as it is")
