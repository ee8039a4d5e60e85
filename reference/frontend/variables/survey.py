"""What mem2reg needs to know before it starts: which cells each structured op changes, and where a cell must live."""

from __future__ import annotations

from ...ir.ops import PARALLEL_FOR
from ...ir.structure import Op, Region
from .cells import ALLOC, READ, UPDATE, WRITE, Cell

__all__ = ["SELECT_LIMIT", "Survey"]

SELECT_LIMIT = 16
"""A cell indexed at run time that has at most this many elements stays in registers, read by a chain of selects."""

Key = tuple[Cell, int]


class Survey:
    """One walk over a body.

    Attributes:
        written: for each op with regions, the elements of cells allocated outside of it that it changes, in order.
        shared: cells that a parallel loop changes and that were allocated outside of it, and large cells indexed at run
            time inside a parallel loop from outside; they live in memory all threads see.
        unread: cells that nothing reads; writes to them are dropped.
        arrays: cells with too many elements for chains of selects that are indexed at run time.
    """

    def __init__(self, body: Region) -> None:
        self.written: dict[Op, dict[Key, None]] = {}
        self.shared: dict[Cell, None] = {}
        self.arrays: dict[Cell, None] = {}
        self._home: dict[Cell, Op | None] = {}
        self._seen_inside: dict[Cell, None] = {}
        self._read: set[Cell] = set()
        self._region(body, None)
        self.unread = set(self._home) - self._read
        for cell in self._seen_inside:
            if cell in self.arrays:
                self.shared[cell] = None
        for cell in self.shared:
            self.arrays.pop(cell, None)
        self.shared = {cell: None for cell in self.shared if cell not in self.unread}

    def _region(self, region: Region, parallel: Op | None) -> dict[Key, None]:
        """The elements that the region changes and that live on outside of it."""
        written: dict[Key, None] = {}
        own: set[Cell] = set()
        for op in region.ops:
            if op.regions:
                written.update(self._structured(op, parallel))
            elif "cell" in op.attrs:
                self._cell_op(op, op.attrs["cell"], parallel, own, written)
        return {key: None for key in written if key[0] not in own}

    def _structured(self, op: Op, parallel: Op | None) -> dict[Key, None]:
        inside = op if op.opdef is PARALLEL_FOR else parallel
        merged: dict[Key, None] = {}
        for region in op.regions:
            merged.update(self._region(region, inside))
        self.written[op] = merged
        return merged

    def _cell_op(self, op: Op, cell: Cell, parallel: Op | None, own: set[Cell], written: dict[Key, None]) -> None:
        if op.opdef is ALLOC:
            own.add(cell)
            self._home[cell] = parallel
            return
        if op.attrs["at"] is None and (cell.in_memory or cell.size > SELECT_LIMIT):
            self.arrays[cell] = None
        outside = self._home[cell] is not parallel
        if outside:
            self._seen_inside[cell] = None
        if op.opdef in (READ, UPDATE):
            self._read.add(cell)
        if op.opdef in (WRITE, UPDATE):
            if outside:
                self.shared[cell] = None
            at = op.attrs["at"]
            for k in range(cell.size) if at is None else (at,):
                written[cell, k] = None
