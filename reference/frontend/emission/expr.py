"""Runtime scalars at compile time: an `Expr` stands for a number that exists only when the kernel runs.

Its operators emit ops into the kernel being compiled, so plain Python code, lambdas included, works on it unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

import numpy as np

from ...errors import AdstackTypeError
from ...ir.structure import Value
from ...ir.types import DType
from .literals import describe, is_number

__all__ = ["RULES", "Expr", "emit"]

Rule = Callable[..., Any]
RULES: Final[dict[str, Rule]] = {}
"""What each operator and function of the language emits for runtime scalars; `emission.py` enters its rules here."""

_SCALARS = (bool, int, float, np.bool_, np.integer, np.floating)


def emit(name: str, args: tuple[Any, ...], attrs: Mapping[str, Any]) -> Any:
    """The result of the language's operator or function `name` of runtime scalars and numbers, as a runtime scalar.

    Raises:
        AdstackTypeError: an argument is neither.
    """
    for arg in args:
        if not isinstance(arg, Expr) and not is_number(arg):
            raise AdstackTypeError(f"{name} takes numbers", note=f"got {describe(arg)}")
    result = RULES[name](*args, **attrs)
    return Expr(result) if isinstance(result, Value) else result


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Expr, other: Any) -> Any:
        if isinstance(other, (Expr, *_SCALARS)):
            return emit(name, (self, other), {})
        return NotImplemented

    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def operator(self: Expr, other: Any) -> Any:
        if isinstance(other, _SCALARS):
            return emit(name, (other, self), {})
        return NotImplemented

    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    def operator(self: Expr) -> Any:
        return emit(name, (self,), {})

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
        return self.value.dtype

    def __repr__(self) -> str:
        return f"<runtime {self.dtype}>"

    def _emit(self, name: str, args: tuple[Any, ...], /, **attrs: Any) -> Any:
        return emit(name, args, attrs)

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("div"), _reflected("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _reflected("floordiv")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __and__, __rand__ = _binary("and"), _reflected("and")
    __or__, __ror__ = _binary("or"), _reflected("or")
    __xor__, __rxor__ = _binary("xor"), _reflected("xor")
    __lshift__, __rlshift__ = _binary("shl"), _reflected("shl")
    __rshift__, __rrshift__ = _binary("shr"), _reflected("shr")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __eq__ = _binary("eq")
    __ne__ = _binary("ne")
    __neg__, __invert__, __abs__ = _unary("neg"), _unary("invert"), _unary("abs")
    __hash__ = object.__hash__

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

    def __int__(self) -> int:
        self._not_static()

    def __float__(self) -> float:
        self._not_static()

    def __iter__(self) -> Any:
        raise AdstackTypeError(f"a scalar ({self.dtype}) can't be unpacked or looped over")
