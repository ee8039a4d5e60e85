"""Guards: `guard(body)` marks the accesses that may be outside.

Requires: verified IR, with no pass to follow: an access with a mark differs from one without.
Ensures: an access to a place or a local array is inside whenever it runs, whatever memory holds and whatever the
arguments are, on every axis that its attribute `guarded` does not list. On those that it lists it may be outside: then
it gives 0, or does nothing, and is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.facts import extents, memory_of
from ...analysis.ranges import Range, Ranges, is_integer
from ...ir.ops import FOR, IF, WHILE
from ...ir.structure import Op, Region

__all__ = ["Walk", "guard"]


def guard(body: Region) -> None:
    """Mark accesses in place."""
    Walk(Ranges()).region(body)


class Walk:
    """One task, from the outside to the inside."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    def region(self, region: Region) -> None:
        """Look at the accesses of a region."""
        for op in region.ops:
            if op.regions:
                self._structured(op)
            elif memory_of(op) is not None:
                self.access(op)

    def access(self, op: Op) -> None:
        """Look at an access."""
        axes = tuple(self.outside(op))
        if axes:
            op.attrs["guarded"] = axes

    def outside(self, op: Op) -> Iterator[int]:
        """The axes on which an access may be outside."""
        memory = memory_of(op)
        assert memory is not None
        indices = op.operands[memory[1] :]
        for axis, (index, extent) in enumerate(zip(indices, extents(op), strict=False)):
            if not self.below(self.ranges.of(index), extent, op, axis):
                yield axis

    def below(self, index: Range, extent: int | None, op: Op, axis: int) -> bool:
        """Whether an index is certainly inside."""
        return index.is_inside(extent, op, axis)

    def _structured(self, op: Op) -> None:
        if op.opdef is IF:
            for region, truth in zip(op.regions, (True, False), strict=True):
                with self.ranges.under(op.operands[0], truth):
                    self.region(region)
        elif op.opdef is WHILE:
            self._while(op)
        else:
            (body,) = op.regions
            bounds = op.operands[:2] if op.opdef is FOR else op.operands
            for arg, lo, hi in zip(body.args, bounds[::2], bounds[1::2], strict=False):
                self.ranges.index(arg, lo, hi)
            self.region(body)

    def _while(self, op: Op) -> None:
        """The body has what the condition handed on, and the condition holds."""
        test, body = op.regions
        self.region(test)
        condition, *handed = test.terminator.operands
        with self.ranges.under(condition, True):
            for arg, value in zip(body.args, handed, strict=True):
                if is_integer(value):
                    self.ranges.know(arg, self.ranges.of(value))
            self.region(body)
