"""May-access: which elements a launch may read and write, as boxes of indices, for the arguments of that launch.

This is interval analysis: integers are followed from parameters, extents and constants through arithmetic and loops.
An index that can't be followed may be any of its axis. `must_access.py` is the dual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..ir.opdef import OpDef
from ..ir.ops import FOR, IF, PARALLEL_FOR, SHAPE, WHILE
from ..ir.scalar_ops import CONST, SELECT
from ..ir.structure import Op, Place, Program, Region, Value
from ..ir.types import DType
from .boxes import Box, include
from .intervals import RULES, Interval, Rule, hull

__all__ = ["Accesses", "IntervalWalk", "may_access"]


@dataclass
class Accesses:
    """Elements that are read and elements that are written, as boxes by the name of the place. An atomic does both."""

    read: dict[str, list[Box]] = field(default_factory=dict)
    written: dict[str, list[Box]] = field(default_factory=dict)


def may_access(program: Program, scalars: Sequence[object], shapes: Mapping[str, tuple[int, ...]]) -> Accesses:
    """The elements that a launch may access: no other element is read or written.

    Args:
        program: lowered.
        scalars: the arguments of the launch, one per scalar parameter of the program.
        shapes: the shapes of array arguments, by the name of the place.
    """
    accesses = Accesses()
    for task in program.tasks:
        IntervalWalk(shapes, accesses).launched(task.body, task.body.args, scalars)
    return accesses


class IntervalWalk:
    """Follows the integers of one task as intervals, and notes what it accesses.

    Args:
        shapes: the shapes of array arguments, by the name of the place.
        accesses: where the accesses of the task are added.

    Attributes:
        known: the interval of each integer that can be followed: the least and the greatest that it can be.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], accesses: Accesses) -> None:
        self.shapes = shapes
        self.accesses = accesses
        self.known: dict[Value, Interval] = {}

    def know(self, value: Value, interval: Interval | None) -> None:
        """Note an interval, unless it leaves the range of the type: then the value wraps around."""
        dtype = value.type
        if interval is None or not isinstance(dtype, DType) or dtype.is_float or dtype.is_bool:
            return
        if dtype.min <= interval[0] and interval[1] <= dtype.max:
            self.known[value] = interval

    def launched(self, body: Region, params: Sequence[Value], scalars: Sequence[object]) -> None:
        """Follow a region whose parameters have these arguments, of which integers are known."""
        for param, value in zip(params, scalars, strict=True):
            self.know(param, (int(value), int(value)) if isinstance(value, int) else None)
        self.region(body)

    def region(self, region: Region) -> None:
        """Note the intervals of what the ops of a region define and the elements that they access, in program order."""
        for op in region.ops:
            visit = _STRUCTURED.get(op.opdef)
            if visit is not None:
                visit(self, op)
            elif "place" in op.attrs:
                self._memory(op)
            elif len(op.results) == 1:
                self.know(op.result, self._scalar(op))

    def _scalar(self, op: Op) -> Interval | None:
        if op.opdef is CONST:
            value = op.attrs["value"]
            return (int(value), int(value)) if isinstance(value, int) else None
        rule: Rule | None = hull if op.opdef is SELECT else RULES.get(op.opdef)
        if rule is None:
            return None
        operands = op.operands[1:] if op.opdef is SELECT else op.operands
        intervals = [self.known.get(v) for v in operands]
        return None if None in intervals else rule(*intervals)

    # ---- memory

    def _extents(self, place: Place) -> tuple[int, ...]:
        return tuple(
            self.shapes[place.name][axis] if extent is None else extent for axis, extent in enumerate(place.shape)
        )

    def _memory(self, op: Op) -> None:
        place: Place = op.attrs["place"]
        if op.opdef is SHAPE:
            extent = self._extents(place)[op.attrs["axis"]]
            self.know(op.result, (extent, extent))
            return
        box = []
        for index, extent in zip(op.operands, self._extents(place), strict=False):
            lo, hi = self.known.get(index, (0, extent - 1))
            box.append((max(lo, 0), min(hi, extent - 1)))
        if all(lo <= hi for lo, hi in box):
            if op.opdef.reads:
                include(self.accesses.read.setdefault(place.name, []), tuple(box))
            if op.opdef.writes:
                include(self.accesses.written.setdefault(place.name, []), tuple(box))

    # ---- control

    def visit_if(self, op: Op) -> None:
        """Both sides may run: a result is in the hull of the intervals of what the two sides yield."""
        for inner in op.regions:
            self.region(inner)
        for k, result in enumerate(op.results):
            then, orelse = (self.known.get(r.terminator.operands[k]) for r in op.regions)
            if then is not None and orelse is not None:
                self.know(result, hull(then, orelse))

    def visit_for(self, op: Op) -> None:
        """The body is walked if its index has an interval that is not empty; what it carries has no interval."""
        (body,) = op.regions
        if self._indices(body.args[:1], op.operands[:2]):
            self.region(body)

    def visit_parallel_for(self, op: Op) -> None:
        """The body is walked if every index has an interval that is not empty."""
        (body,) = op.regions
        if self._indices(body.args, op.operands):
            self.region(body)

    def _indices(self, indices: Sequence[Value], bounds: Sequence[Value]) -> bool:
        """Note what loop indices may be; False if there is certainly no iteration."""
        for index, lo, hi in zip(indices, bounds[::2], bounds[1::2], strict=True):
            first, end = self.known.get(lo), self.known.get(hi)
            if first is not None and end is not None:
                if first[0] >= end[1]:
                    return False
                self.know(index, (first[0], end[1] - 1))
        return True

    def visit_while(self, op: Op) -> None:
        """Condition and body are walked once; what they carry has no interval."""
        for inner in op.regions:
            self.region(inner)


_STRUCTURED: Final[dict[OpDef, Callable[[IntervalWalk, Op], None]]] = {
    IF: IntervalWalk.visit_if,
    FOR: IntervalWalk.visit_for,
    WHILE: IntervalWalk.visit_while,
    PARALLEL_FOR: IntervalWalk.visit_parallel_for,
}
