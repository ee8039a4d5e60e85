"""Operators of structs: `a + b` is the function `__add__` that the type of `a` declares, as in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, Protocol, TypeAlias

from ...errors import AdstackTypeError
from ..kinds import Operand

__all__ = ["OPERATORS", "StructOperators", "binary_function", "function_name", "unary_function"]

_Pair: TypeAlias = tuple[str, str]


def _with_reflected(name: str) -> _Pair:
    return f"__{name}__", f"__r{name}__"


_BINARY: Final[dict[str, _Pair]] = {
    **{symbol: _with_reflected(name) for symbol, name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("@", "matmul"))},
    **{symbol: _with_reflected(name) for symbol, name in (("/", "truediv"), ("//", "floordiv"), ("%", "mod"))},
    **{symbol: _with_reflected(name) for symbol, name in (("**", "pow"), ("<<", "lshift"), (">>", "rshift"))},
    **{symbol: _with_reflected(name) for symbol, name in (("&", "and"), ("|", "or"), ("^", "xor"))},
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
}
_UNARY: Final = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
OPERATORS: Final = frozenset(name for names in (*_BINARY.values(), _UNARY.values()) for name in names)
"""The names of the functions of a struct type that its operators call."""


class _Typed(Protocol):
    """What a struct type is to its operators."""

    @property
    def methods(self) -> dict[str, Operand]:
        """The functions by their names."""

    def function(self, name: str, owner: object = None) -> Operand:
        """One of them, bound to a struct."""


def binary_function(symbol: str, left: object, right: object) -> Callable[[], Operand] | None:
    """What computes `left symbol right` where one of them is a struct; None if its type declares no such function."""
    forward, reflected = _BINARY[symbol]
    if (function := _declared(left, forward)) is not None:
        return partial(function, right)
    if (function := _declared(right, reflected)) is not None:
        return partial(function, left)
    return None


def unary_function(symbol: str, operand: object) -> Callable[[], Operand] | None:
    """What computes `symbol operand`; None if the operand is no struct, or its type declares no such function."""
    return _declared(operand, _UNARY[symbol])


def function_name(symbol: str, operands: int) -> str:
    """What the function is called that an operator of one or two operands calls."""
    return _UNARY[symbol] if operands == 1 else _BINARY[symbol][0]


def _declared(value: object, name: str) -> Callable[..., Operand] | None:
    type_: _Typed | None = value.__adstack_type__() if isinstance(value, StructOperators) else None
    return type_.function(name, value) if type_ is not None and name in type_.methods else None


class StructOperators:
    """The operators of structs for Python: on the host, and in plain functions that a kernel calls."""

    __slots__ = ()

    def __adstack_type__(self) -> _Typed | None:
        """The type that declares the functions, if any."""
        raise NotImplementedError


def _binary(name: str) -> Callable[[StructOperators, object], Operand]:
    def operate(struct: StructOperators, other: object) -> Operand:
        function = _declared(struct, name)
        return NotImplemented if function is None else function(other)

    return operate


def _unequal(struct: StructOperators, other: object) -> Operand:
    """`!=` is what `==` is not, as in Python, where the type does not declare it."""
    function = _declared(struct, "__ne__")
    return object.__ne__(struct, other) if function is None else function(other)


def _unary(symbol: str) -> Callable[[StructOperators], Operand]:
    def operate(struct: StructOperators) -> Operand:
        if (function := unary_function(symbol, struct)) is None:
            raise AdstackTypeError(f"the type of this struct declares no function {_UNARY[symbol]}")
        return function()

    return operate


# Two structs stay equal only if they are one, and have hashes, where their type does not say what is equal.
for _name in OPERATORS - {"__ne__", *_UNARY.values()}:
    setattr(StructOperators, _name, _binary(_name))
for _symbol, _name in _UNARY.items():
    setattr(StructOperators, _name, _unary(_symbol))
StructOperators.__ne__ = _unequal  # type: ignore[assignment,method-assign]
