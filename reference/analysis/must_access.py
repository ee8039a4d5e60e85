"""Must-access: which elements a launch reads and stores to for sure, as boxes of indices; the dual of `may_access.py`.

Only accesses under no condition count, in loops whose bounds are known as numbers, at indices that are known as numbers
or are an index of a loop plus a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..ir.ops import FOR, LOAD, PARALLEL_FOR, SHAPE, STORE
from ..ir.scalar_ops import ADD, CAST, SUB
from ..ir.structure import Op, Program, Region, Value
from .boxes import Box, include
from .intervals import Interval
from .may_access import Accesses, IntervalWalk

__all__ = ["must_access"]

MOST: Final = 16
"""The most boxes that a set consists of."""


def must_access(program: Program, scalars: Sequence[object], shapes: Mapping[str, tuple[int, ...]]) -> Accesses:
    """The elements that a launch accesses for sure; there may be more.

    Args:
        program: lowered.
        scalars: the arguments of the launch, one per scalar parameter of the program.
        shapes: the shapes of array arguments, by the name of the place.
    """
    accesses = Accesses()
    for task in program.tasks:
        _MustWalk(shapes, accesses).launched(task.body, task.body.args, scalars)
    return accesses


class _MustWalk(IntervalWalk):
    """Follows integers as numbers, and as an index of a loop plus a number.

    Attributes:
        affine: a value -> the index of a loop and the number that it is the sum of.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], accesses: Accesses) -> None:
        super().__init__(shapes, accesses)
        self.affine: dict[Value, tuple[Value, int]] = {}

    def region(self, region: Region) -> None:
        for op in region.ops:
            if op.opdef in (FOR, PARALLEL_FOR):
                self._loop(op)
            elif op.opdef in (LOAD, STORE):
                self._access(op)
            elif op.opdef is SHAPE:
                self._memory(op)
            elif not op.regions and "place" not in op.attrs and len(op.results) == 1:
                self.know(op.result, self._scalar(op))
                self._follow(op)

    def _number(self, value: Value) -> int | None:
        lo, hi = self.known.get(value, (0, 1))
        return lo if lo == hi else None

    def _loop(self, op: Op) -> None:
        body = op.regions[0]
        indices = body.args if op.opdef is PARALLEL_FOR else body.args[:1]
        bounds = op.operands[: 2 * len(indices)]
        for index, lo, hi in zip(indices, bounds[::2], bounds[1::2], strict=True):
            first, end = self._number(lo), self._number(hi)
            if first is None or end is None or first >= end:
                return
            self.know(index, (first, end - 1))
            self.affine[index] = index, 0
        self.region(body)

    def _follow(self, op: Op) -> None:
        """Follow an index through sums with numbers, and conversions that keep it."""
        if op.opdef not in (ADD, SUB, CAST) or op.result not in self.known:
            return
        first = op.operands[0]
        if op.opdef is ADD and first not in self.affine:
            first = op.operands[1]
        if first not in self.affine:
            return
        index, plus = self.affine[first]
        others = [v for v in op.operands if v is not first]
        step = 0 if op.opdef is CAST else self._number(others[0]) if others else None
        if step is not None:
            self.affine[op.result] = index, plus - step if op.opdef is SUB else plus + step

    def _access(self, op: Op) -> None:
        place = op.attrs["place"]
        box: list[Interval] = []
        used: set[Value] = set()
        for value, extent in zip(op.operands, self._extents(place), strict=False):
            interval = self.known.get(value)
            index, _ = self.affine.get(value, (None, 0))
            if interval is None or not 0 <= interval[0] <= interval[1] < extent:
                return
            if interval[0] != interval[1]:
                if index is None or index in used:
                    return
                used.add(index)
            box.append(interval)
        boxes = self.accesses.read if op.opdef is LOAD else self.accesses.written
        include_exactly(boxes.setdefault(place.name, []), tuple(box))


def include_exactly(boxes: list[Box], new: Box) -> None:
    """Add a box to a set that must hold nothing else; it is left out where there are `MOST` boxes already."""
    if len(boxes) < MOST:
        include(boxes, new)
