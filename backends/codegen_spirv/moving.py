"""Addresses that move by a fixed number of bytes from each iteration of a short loop to the next.

Loads of `a[i, k + 1]` in a loop over `k` are at one address for all, which grows by the size of an element, plus a
constant. Such addresses are carried from iteration to iteration, so that an instruction adds what a multiplication and
conversions would compute, and iterations written out one behind the other share it (strength reduction, Cocke and
Kennedy, 1977). Drivers do not: they are shown addresses as integers, made of indices that might wrap around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from adstack.analysis.subscripts import is_wide
from adstack.ir.def_use import defined_in
from adstack.ir.ops import LOAD
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import i64

from .assembly.code import Num
from .memory import Address
from .region import RegionEmitter
from .subscripts import position, without_constants

__all__ = ["Moving"]

_MOST: Final = 6
"""Addresses that are carried, at most: each is in two registers."""
_Row = tuple[str, tuple[Value | None, ...]]
"""A place, and what its subscripts are without constants; None for a constant."""


class Moving:
    """The addresses of the loads in the body of a loop, of which each moves by the same number of bytes.

    Args:
        e: emits the loop.
        body: of the loop.
        low: where the loop begins.

    Attributes:
        start: the numbers of the addresses in the first iteration.
    """

    def __init__(self, e: RegionEmitter, body: Region, low: Num) -> None:
        self._e, self._low, self._index = e, low, body.args[0]
        self._inside = defined_in(body)
        self._rows: dict[_Row, Place] = {}
        self._loads: list[tuple[Op, _Row, int]] = []
        for op in body.ops if e.task is not None and is_wide(self._index) else ():
            if op.opdef is LOAD:
                self._note(op)
        self._steps = [_bytes(place, row[1], self._index) for row, place in self._rows.items()]
        self.start = [self._first(place, row[1]).number for row, place in self._rows.items()]

    def _note(self, op: Op) -> None:
        """Note a load, if its address moves by a fixed number of bytes."""
        place: Place = op.attrs["place"]
        bases, distance = without_constants(place, op.operands)
        row = place.name, bases
        moves = None not in place.shape and self._index in bases
        fixed = all(base is self._index or base not in self._inside for base in bases)
        if moves and fixed and (row in self._rows or len(self._rows) < _MOST):
            self._rows[row] = place
            self._loads.append((op, row, distance))

    def _first(self, place: Place, bases: Sequence[Value | None]) -> Address:
        """Where the element is in the first iteration whose subscripts have no constants."""
        e, position = self._e, self._e.c.const(0, i64)
        for base, extent in zip(bases, place.shape, strict=True):
            assert extent is not None
            position = position * extent
            if base is not None:
                position = position + (self._low if base is self._index else e.get(base)).resize(i64)
        return e.frame.pointers[place.name].elements(position, place.dtype.size)

    def show(self, numbers: Sequence[Num], ahead: int) -> None:
        """Tell the emitter of the loads where their elements are, so many iterations ahead of the carried numbers."""
        places = dict(zip(self._rows, zip(numbers, self._steps, strict=True), strict=True))
        for op, row, distance in self._loads:
            (number, step), (name, _) = places[row], row
            address = Address(number, self._e.frame.pointers[name].space)
            further = distance + ahead * step
            self._e.moving[name, tuple(op.operands)] = address + further if further else address

    def after(self, numbers: Sequence[Num], iterations: int) -> list[Num]:
        """The numbers so many iterations further on."""
        return [number + iterations * step for number, step in zip(numbers, self._steps, strict=True)]


def _bytes(place: Place, bases: Sequence[Value | None], index: Value) -> int:
    """By how many bytes the element moves."""
    return position(place, [int(base is index) for base in bases]) * place.dtype.size
