"""Which elements a launch certainly reads and certainly stores to: the other side of `reach`.

Only what no condition stands around counts, in loops whose bounds are known to the number, at indices that are known to
the number or run with a loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..ir.structure import Op, Program, Region, Value
from .boxes import Box, Interval, include
from .reach import Reach, Walk

__all__ = ["certain"]

MOST: Final = 16
"""How many boxes stand for one set."""


def certain(program: Program, scalars: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> Reach:
    """The elements that a launch with these arguments touches for sure; `shapes` are those of array arguments."""
    found = Reach()
    for task in program.tasks:
        walk = _Certain(shapes, found)
        for param, value in zip(task.body.args, scalars, strict=True):
            walk.know(param, (value, value) if isinstance(value, int) else None)
        walk.region(task.body)
    return found


class _Certain(Walk):
    """Follows integers as numbers, and as an index of a loop plus a number.

    Attributes:
        runs: a value -> (the loop's index that it is, plus what).
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], found: Reach) -> None:
        super().__init__(shapes, found)
        self.runs: dict[Value, tuple[Value, int]] = {}

    def region(self, region: Region) -> None:
        for op in region.ops:
            if op.name in ("for", "parallel_for"):
                self._loop(op)
            elif op.name in ("load", "store"):
                self._access(op)
            elif op.name == "shape":
                self._memory(op)
            elif not op.regions and "place" not in op.attrs and len(op.results) == 1:
                self.know(op.result, self._scalar(op))
                self._run(op)

    def _number(self, value: Value) -> int | None:
        lo, hi = self.known.get(value, (0, 1))
        return lo if lo == hi else None

    def _loop(self, op: Op) -> None:
        body = op.regions[0]
        indices = body.args if op.name == "parallel_for" else body.args[:1]
        bounds = op.operands[: 2 * len(indices)]
        for index, lo, hi in zip(indices, bounds[::2], bounds[1::2], strict=True):
            first, end = self._number(lo), self._number(hi)
            if first is None or end is None or first >= end:
                return
            self.know(index, (first, end - 1))
            self.runs[index] = index, 0
        self.region(body)

    def _run(self, op: Op) -> None:
        """Follow an index through sums with numbers, and conversions that keep it."""
        if op.name not in ("add", "sub", "cast") or op.result not in self.known:
            return
        first = op.operands[0]
        if op.name == "add" and first not in self.runs:
            first = op.operands[1]
        if first not in self.runs:
            return
        index, plus = self.runs[first]
        others = [v for v in op.operands if v is not first]
        step = 0 if op.name == "cast" else self._number(others[0]) if others else None
        if step is not None:
            self.runs[op.result] = index, plus - step if op.name == "sub" else plus + step

    def _access(self, op: Op) -> None:
        place = op.attrs["place"]
        box: list[Interval] = []
        used: set[Value] = set()
        for value, extent in zip(op.operands, self._extents(place), strict=False):
            interval = self.known.get(value)
            index, _ = self.runs.get(value, (None, 0))
            if interval is None or not 0 <= interval[0] <= interval[1] < extent:
                return
            if interval[0] != interval[1]:
                if index is None or index in used:
                    return
                used.add(index)
            box.append(interval)
        boxes = self.found.read if op.name == "load" else self.found.written
        include_exactly(boxes.setdefault(place.name, []), tuple(box))


def include_exactly(boxes: list[Box], new: Box) -> None:
    """Add a box to a set that must hold nothing else: where there are many, it is left out."""
    if len(boxes) < MOST:
        include(boxes, new)
