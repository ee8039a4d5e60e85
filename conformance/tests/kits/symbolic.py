"""A stand-in for runtime values: a number in disguise that records every operation it takes part in."""

from __future__ import annotations

from typing import Any

from adstack.ir.opdef import OpDef
from adstack.ir.ops import RANDOM, TABLE
from adstack.ir.types import DType, f64, i32
from adstack.values.operations import POS, WITHIN
from adstack.values.scalars import HOST, OPERATORS, plain

RECORD: list[str] = []
"""The names of the operations recorded, oldest first; `recorded()` empties it."""


def recorded() -> list[str]:
    """What was recorded since the last call."""
    names = RECORD[:]
    RECORD.clear()
    return names


def value_of(thing: Any) -> Any:
    """The number behind a runtime value, or behind the elements of a vector or matrix."""
    if isinstance(thing, Term):
        return thing.value
    return thing.map(value_of).to_list() if hasattr(thing, "entries") else thing


class Term:
    """A runtime value: it can't be branched on, and is no index and no number to Python."""

    __array_ufunc__ = None

    def __init__(self, value: Any, dtype: DType | None = None) -> None:
        self.value = value
        self.dtype = dtype or (f64 if isinstance(value, float) else i32)

    def __adstack_emit__(self, row: OpDef, args: tuple[Any, ...], /, **attrs: Any) -> Term:
        if row is WITHIN:  # a check of debug mode, which passes its index on
            return args[0]
        RECORD.append(row.name)
        numbers = [plain(value_of(a)) for a in args]
        if row is RANDOM:
            return Term(0.25)
        return Term(HOST[row](*numbers, **attrs), attrs.get("to") if isinstance(attrs.get("to"), DType) else None)

    def _operate(self, row: OpDef, *args: Any) -> Any:
        if any(hasattr(a, "entries") for a in args):
            return NotImplemented
        RECORD.append(row.name)
        return Term(OPERATORS[row](*(value_of(a) for a in args)))

    def __bool__(self) -> bool:
        raise AssertionError("a runtime value was branched on")

    __hash__ = None  # type: ignore[assignment]


def _install(method: str, row: OpDef) -> None:
    def forward(self: Term, *other: Any) -> Any:
        return self._operate(row, self, *other)

    def reflected(self: Term, other: Any) -> Any:
        return self._operate(row, other, self)

    setattr(Term, f"__{method}__", forward)
    if method not in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert"):
        setattr(Term, f"__r{method}__", reflected)


_SPELLED = {"truediv": "div", "lshift": "shl", "rshift": "shr", "invert": "not"}
for _method in (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"),
    *("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert"),
):
    _install(_method, POS if _method == "pos" else TABLE[_SPELLED.get(_method, _method)])
