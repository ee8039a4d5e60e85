"""What the emission of a reverse kernel carries along: names of primals, adjoints, counters of adstacks."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass

from ...ir.builder import Builder
from ...ir.structure import Op, Region, Value
from ...ir.types import i64
from ..saving.plan import Counted

__all__ = ["Adjoints", "Counters", "Entries", "Names", "Stacks", "counter", "scoped"]

Names = MutableMapping[Value, Value]
"""A value of the kernel -> the one that stands for it in the reverse kernel."""


@dataclass(frozen=True)
class Entries:
    """The key in `Counters` of a number of log entries: those before the next one of the ops in a loop.

    That is the number of iterations that it has run since the parallel iteration began. Only where a loop around it
    starts from a snapshot is it counted beside the slots of the adstacks, which start anew there.
    """

    loop: Op


Counters = dict[Counted | Entries, Value]
"""Loop -> how many iterations have run, or are still to be reversed; side of an `if` -> how often it was taken."""

Stacks = dict[tuple[Region, Value], Value]
"""The adstack of a value that a region saves."""


class Adjoints:
    """The adjoints summed up so far, of the values of the region being reversed and of those around it."""

    def __init__(self, b: Builder) -> None:
        self._b = b
        self._sums: dict[Value, Value] = {}
        self._loose: set[Value] = set()

    def add(self, value: Value, adjoint: Value, *, loose: bool = False) -> None:
        """Add to a value's adjoint; `loose` says that it may be 0 because nothing is connected there."""
        old = self._sums.get(value)
        total = adjoint if old is None else self._b.add(old, adjoint)
        if loose and (old is None or old in self._loose):
            self._loose.add(total)
        self._sums[value] = total

    def take(self, value: Value) -> Value | None:
        """The adjoint of a value whose definition is being reversed; None is a true zero."""
        return self._sums.pop(value, None)

    def take_or_zero(self, value: Value) -> Value:
        """The adjoint of a value whose definition is being reversed; a constant 0 for a true zero."""
        adjoint = self.take(value)
        return self.zero(value) if adjoint is None else adjoint

    def zero(self, value: Value) -> Value:
        """A true zero, where an adjoint has to be given."""
        zero = self._b.const(0.0, value.dtype)
        self._loose.add(zero)
        return zero

    def is_loose(self, adjoint: Value | None) -> bool:
        """Whether an adjoint may be 0 because nothing is connected: then its product with inf and NaN is 0 too."""
        return adjoint is None or adjoint in self._loose

    @contextmanager
    def inner(self) -> Iterator[None]:
        """A context in which no value has an adjoint yet; adjoints that are left at its end are dropped."""
        outer, self._sums = self._sums, {}
        try:
            yield
        finally:
            self._sums = outer


def scoped(names: Names) -> ChainMap[Value, Value]:
    """A copy to which additions stay local."""
    return ChainMap({}, names)


def counter(b: Builder, number: int = 0) -> Value:
    """A constant of the type that counters have."""
    return b.const(number, i64)
