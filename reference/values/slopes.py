"""Derivatives of single numbers of the host, by the table of operations: `slopes(row, operands, result)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.opdef import OpDef
from ..ir.pulls import Saved
from ..ir.types import f64

__all__ = ["slopes"]


def slopes(row: OpDef, operands: Sequence[object], result: float) -> list[float]:
    """How a change of each operand of an operation reaches its result, in f64; 0 where it does not."""
    pulls = row.pulls or ()
    named = dict(zip("xyz", operands, strict=False), r=result)
    results = []
    with np.errstate(all="ignore"):
        for pull in pulls:
            saved = {} if pull is None else {letter: _Number(named[letter]) for letter in pull.needs}
            results.append(0.0 if pull is None else float(pull.map(_Number(1.0), Saved(**saved)).value))
    return results


class _Number:
    """A number of type f64 as the derivatives of the table of operations compute with it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = np.float64(value)

    def __add__(self, other: object) -> _Number:
        return _Number(self.value + _value(other))

    __radd__ = __add__

    def __sub__(self, other: object) -> _Number:
        return _Number(self.value - _value(other))

    def __rsub__(self, other: object) -> _Number:
        return _Number(_value(other) - self.value)

    def __mul__(self, other: object) -> _Number:
        return _Number(self.value * _value(other))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> _Number:
        return _Number(self.value / _value(other))

    def __neg__(self) -> _Number:
        return _Number(-self.value)

    def __lt__(self, other: object) -> _Case:
        return _Case(bool(self.value < _value(other)))

    def __gt__(self, other: object) -> _Case:
        return _Case(bool(self.value > _value(other)))

    def eq(self, other: object) -> _Case:
        return _Case(bool(self.value == _value(other)))

    def ne(self, other: object) -> _Case:
        return _Case(bool(self.value != _value(other)))

    def op(self, row: OpDef, *others: object) -> _Number:
        """An operation of the table."""
        assert row.meaning is not None
        return _Number(row.meaning(f64, *(np.asarray(_value(x), np.float64) for x in (self, *others))))


class _Case:
    """Whether a condition holds."""

    __slots__ = ("holds",)

    def __init__(self, holds: bool) -> None:
        self.holds = holds

    def __or__(self, other: _Case) -> _Case:
        return _Case(self.holds or other.holds)

    def where(self, yes: object, no: object) -> _Number:
        """One of two numbers."""
        return _Number(_value(yes if self.holds else no))


def _value(number: Any) -> Any:
    return number.value if isinstance(number, _Number) else np.float64(number)
