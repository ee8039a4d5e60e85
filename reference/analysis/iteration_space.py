"""The iteration space of a parallel loop: what is known of its extents, and in which order its lanes should run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..ir.ops import PLACE_ACCESSES
from ..ir.scalar_ops import CONST
from ..ir.structure import Op, Region, Value
from .manager import Analyses
from .strides import Strides
from .uniformity import varying_in_row, varying_values

__all__ = [
    "SideBySide",
    "bound_ops",
    "known_extent",
    "row_length",
    "side_by_side",
    "side_by_side_in_row",
    "stays_in_rows",
]


@dataclass(frozen=True)
class SideBySide:
    """What is known of the iterations of a `parallel_for` that run side by side, as lanes of vectors.

    Attributes:
        loop: the loop.
        varying: the values that may differ between them.
    """

    loop: Op
    varying: frozenset[Value]

    @cached_property
    def strides(self) -> Strides:
        """How far apart the elements are that neighbours access."""
        return Strides(self.loop, self.varying)

    @cached_property
    def vectors(self) -> int:
        """How many accesses touch one element, or a run of them, in all lanes."""
        accesses = [op for op in self.loop.regions[0].walk() if op.opdef in PLACE_ACCESSES]
        indices = [(op.attrs["place"], op.operands[: op.attrs["place"].rank]) for op in accesses]
        return sum(
            self.varying.isdisjoint(index) or self.strides.run(place, index) is not None for place, index in indices
        )


def side_by_side(task: Region) -> SideBySide:
    """An analysis of the body of a parallel task: neighbours are successive in the row-major order of the loop."""
    loop = task.ops[-2]
    return SideBySide(loop, frozenset(varying_values(loop.regions[0])))


def side_by_side_in_row(task: Region) -> SideBySide:
    """An analysis of the body of a parallel task: neighbours differ in the last index of the loop alone."""
    loop = task.ops[-2]
    return SideBySide(loop, frozenset(varying_in_row(loop.regions[0])))


def known_extent(loop: Op, header: Sequence[Op]) -> int | None:
    """How many iterations a `parallel_for` has, if constants of its header say so."""
    return _product(loop.operands, header)


def row_length(loop: Op, header: Sequence[Op]) -> int | None:
    """How many iterations the last axis of a `parallel_for` has, if constants of its header say so."""
    return _product(loop.operands[-2:], header)


def bound_ops(task: Region) -> list[Op]:
    """An analysis of the body of a parallel task: the ops in front that the bounds of its loop depend on, in order."""
    *header, loop, _ = task.ops
    needed, ops = {*loop.operands}, []
    for op in reversed(header):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands, (v for region in op.regions for o in region.walk() for v in o.operands))
            ops.append(op)
    return ops[::-1]


def stays_in_rows(task: Region, lanes: int, analyses: Analyses) -> bool:
    """Whether lanes should be neighbours in a row of the last axis, rather than run on into the next row.

    Within a row all other indices are uniform, so an access is one vector where only the last index counts. But the end
    of every row leaves lanes without work.

    Args:
        task: the body of a parallel task.
        lanes: how many iterations run side by side.
        analyses: what is known of the task.
    """
    *header, loop, _ = task.ops
    if lanes == 1 or len(loop.regions[0].args) == 1:
        return False
    length = row_length(loop, header)
    if length is not None and 2 * length < lanes * -(-length // lanes):
        return False
    if length is not None and length < lanes:
        return True
    return analyses.get(side_by_side_in_row, task).vectors > analyses.get(side_by_side, task).vectors


def _product(bounds: Sequence[Value], header: Sequence[Op]) -> int | None:
    """The extents between pairs of bounds, multiplied; None if one is not constant."""
    numbers = {op.result: int(op.attrs["value"]) for op in header if op.opdef is CONST and op.result.dtype.is_integer}
    total = 1
    for lo, hi in zip(bounds[::2], bounds[1::2], strict=True):
        if lo not in numbers or hi not in numbers:
            return None
        total *= max(0, numbers[hi] - numbers[lo])
    return total
