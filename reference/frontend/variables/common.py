"""What the threads of a block have in common: values and variables that are computed once for all of them.

A value is common if every thread would compute the same from constants, the number of the block, indices of the loops
around the threads, and elements that the loop does not write. A variable is common if nothing but common values is
assigned to it, where all threads come. The block keeps them; threads keep the rest (`phases.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...ir.ops import LOAD, PLACE_WRITES
from ...ir.structure import Op, Place, Region, Value
from .cells import ALLOC, READ, UPDATE, WRITE, Cell

__all__ = ["Common"]

_CHANGES = (ALLOC, WRITE, UPDATE)


class Common:
    """Finds them, and takes reads of common variables out of branches and loops in which no thread waits.

    Args:
        body: what a thread does, before mem2reg.
        thread: the number of a thread.
        spine: the ops around a wait.

    Attributes:
        ops: what is done once for all threads, in the order of the text.
        values: the results of those, and the indices of loops around threads.
        cells: the variables.
    """

    def __init__(self, body: Region, thread: Value, spine: Collection[object]) -> None:
        self._body, self._spine = body, spine
        self._inside = {thread, *_defined(body)}
        self._written: set[Place] = {op.attrs["place"] for op in body.walk() if op.opdef in PLACE_WRITES}
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self.cells = self._candidates()
        while not self._holds():
            pass
        self._read_first(body)

    def _candidates(self) -> set[Cell]:
        """Variables of the body that change only where all threads come."""
        uses: dict[Cell, list[Op]] = {}
        for op in self._body.walk():
            if "cell" in op.attrs:
                uses.setdefault(op.attrs["cell"], []).append(op)
        along = {op for region in self._regions(self._body) for op in region.ops}
        return {
            cell
            for cell, ops in uses.items()
            if any(op.opdef is ALLOC for op in ops)
            and all(op.opdef is ALLOC or op.attrs["at"] is not None for op in ops)
            and all(op in along for op in ops if op.opdef in _CHANGES)
        }

    def _regions(self, region: Region) -> Iterator[Region]:
        yield region
        for op in region.ops:
            if op in self._spine:
                for inner in op.regions:
                    yield from self._regions(inner)

    def _holds(self) -> bool:
        """Look once; whether all that is assigned to the variables is common. Those of which that is not so go."""
        self.ops, self.values = set(), set()
        changes: list[Op] = []
        for region in self._regions(self._body):
            if region is not self._body:
                self.values.update(region.args)
            for op in region.ops:
                if op.opdef in _CHANGES:
                    changes.append(op)
                if self._is_common(op):
                    self.ops.add(op)
                    self.values.update(op.results)
        wrong = {op.attrs["cell"] for op in changes if op not in self.ops}
        before = len(self.cells)
        self.cells -= wrong
        return len(self.cells) == before

    def _is_common(self, op: Op) -> bool:
        if op.regions or any(value in self._inside and value not in self.values for value in op.operands):
            return False
        if "cell" in op.attrs:
            return op.attrs["cell"] in self.cells
        return op.opdef.pure or (op.opdef is LOAD and not self._may_change(op.attrs["place"]))

    def _may_change(self, place: Place) -> bool:
        """Whether the loop may write a place: the caller may hand in the memory of any other as an ndarray."""
        return any(place == other or "ndarray" in (place.kind, other.kind) for other in self._written)

    def _read_first(self, region: Region) -> None:
        """Read common variables in front of branches and loops that threads run alone: nothing there changes them."""
        ops, region.ops = region.ops, []
        for op in ops:
            if op in self._spine:
                for inner in op.regions:
                    self._read_first(inner)
            for inner in () if op in self._spine else op.regions:
                region.ops += self._taken_out(inner)
            region.ops.append(op)

    def _taken_out(self, region: Region) -> list[Op]:
        """Take the reads of common variables out of a region."""
        reads = [op for op in region.ops if op.opdef is READ and op.attrs["cell"] in self.cells]
        self.ops.update(reads)
        self.values.update(op.result for op in reads)
        region.ops = [op for op in region.ops if op not in self.ops]
        for op in region.ops:
            for inner in op.regions:
                reads += self._taken_out(inner)
        return reads


def _defined(region: Region) -> Iterator[Value]:
    """The values that a body defines."""
    for op in region.walk():
        yield from op.results
        for inner in op.regions:
            yield from inner.args
