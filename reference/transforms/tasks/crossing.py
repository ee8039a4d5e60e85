"""What crosses tasks: where each value of the kernel's level comes from, and whether a later task can recompute it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ...analysis.facts import MAY_ALIAS, alias_class, may_raise, memory_of
from ...ir.ops import LOAD, PARALLEL_FOR
from ...ir.structure import Op, Place, Region, Value
from ..loops.licm import COSTLY

__all__ = ["RECOMPUTED", "Crossing", "Segment", "segments"]

RECOMPUTED: Final = 32
"""The most that recomputing a value may cost: one per op, `COST` per costly one. A serial task costs a dispatch."""

COST: Final = 8


@dataclass(eq=False)
class Segment:
    """What becomes a task: a `parallel_for`, or a run of other ops, that starts at a position of the kernel's body."""

    start: int
    parallel: bool = False
    ops: list[Op] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The kind of task that it becomes: "parallel" or "serial"."""
        return "parallel" if self.parallel else "serial"

    def walk(self) -> Iterator[Op]:
        """Every op, at any depth."""
        return Region(ops=self.ops).walk()


def segments(body: Region) -> list[Segment]:
    """The body's ops without the `return`, in segments."""
    stretches: list[Segment] = []
    for position, op in enumerate(body.ops[:-1]):
        parallel = op.opdef is PARALLEL_FOR
        if parallel or not stretches or stretches[-1].parallel:
            stretches.append(Segment(position, parallel))
        stretches[-1].ops.append(op)
    return stretches


class Crossing:
    """Facts of the kernel's level.

    Attributes:
        origin: the segment that computes a value.
        weight: what recomputing it costs, loads allowed; values without one can't be recomputed, or should not be.
    """

    def __init__(self, body: Region, stretches: list[Segment]) -> None:
        self.origin: dict[Value, Segment] = {}
        self.weight: dict[Value, int] = dict.fromkeys(body.args, 0)
        self._params = set(body.args)
        self._position: dict[Op, int] = {op: position for position, op in enumerate(body.ops)}
        self._writes: dict[object, list[int]] = {}
        for segment in stretches:
            for op in segment.ops:
                self._note(op, segment)

    def _note(self, op: Op, segment: Segment) -> None:
        self.origin.update(dict.fromkeys(op.results, segment))
        if op.opdef is LOAD or (op.opdef.pure and not may_raise(op)):
            self._weigh(op)
        for inner in Region(ops=[op]).walk():
            access = memory_of(inner)
            if access is not None and inner.opdef.writes:
                for who in (access[0], alias_class(access[0])):
                    self._writes.setdefault(who, []).append(self._position[op])

    def _weigh(self, op: Op) -> None:
        total = COST if op.opdef in COSTLY else 1
        for value in op.operands:
            weight = self.weight.get(value)
            if weight is None:
                return
            total += weight
        if total <= RECOMPUTED:
            self.weight.update(dict.fromkeys(op.results, total))

    def needs(self, segment: Segment) -> dict[Value, None]:
        """The values from before that the segment's ops use, parameters aside, in the order of their first use."""
        return {
            value: None
            for op in segment.walk()
            for value in op.operands
            if self.origin.get(value, segment) is not segment
        }

    def recomputable(self, value: Value, segment: Segment) -> bool:
        """Whether the segment's header can compute `value` from parameters and memory."""
        if value not in self.weight:
            return False
        if value in self._params:
            return True
        op = value.op
        assert op is not None
        if op.opdef is LOAD and not self._unchanged(op, segment):
            return False
        return all(self.recomputable(operand, segment) for operand in op.operands)

    def _unchanged(self, load: Op, segment: Segment) -> bool:
        """Whether what was loaded still stands there while the segment's header runs.

        Threads of a parallel loop run it at different times, so the loop itself may not write there either.
        """
        place: Place = load.attrs["place"]
        start, end = self._position[load], segment.start if segment.parallel else segment.start - 1
        others = MAY_ALIAS[alias_class(place)]
        return not any(self._written(who, start, end) for who in (place, *others))

    def _written(self, who: object, after: int, to: int) -> bool:
        positions = self._writes.get(who, [])
        return bisect_right(positions, after) < bisect_right(positions, to)
