"""Sizers that count: a slice of the task itself, which keeps nothing but what decides trip counts."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.structure import Place, Region, Task, Value
from ..ir.types import i32, i64
from ..transforms.rewriting.rewrite import clone_op
from .capacities import Capacity, last_allocation
from .emit import Emitter
from .expr import Const
from .formulas import Element, serial_sizer
from .slicing import can_run_ahead, drop_effects, sizer

__all__ = ["CountingPasses"]


class CountingPasses:
    """Makes the counting passes of one task.

    Args:
        task: the task.
        depths: the place that sizers write.
    """

    def __init__(self, task: Task, depths: Place) -> None:
        self.task, self.depths = task, depths

    def sizers(self, sizes: Sequence[Capacity]) -> list[Task]:
        """One pass for all capacities, or, where that can't be, one for each that can be counted ahead of the task."""
        if not sizes:
            return []
        together = self._pass(sizes)
        if together is not None:
            return together
        return [task for one in sizes for task in self._pass([one]) or ()] if len(sizes) > 1 else []

    def _pass(self, sizes: Sequence[Capacity]) -> list[Task] | None:
        """The tasks of a counting pass; None if it does not compute the same ahead of the task."""
        body, names = self._copied(sizes)
        drop_effects(body)
        parallel = self.task.kind == "parallel"
        target = body.ops[-2].regions[0] if parallel else body
        target.ops[-1:-1] = self._writes(sizes, names).ops
        counting = sizer(body, self.task.kind, tuple(one.number for one in sizes))
        if not can_run_ahead(counting.body, self.task):
            return None
        if not parallel:
            return [counting]
        zeros = [Element(one.number, one.loc, Const(0)) for one in sizes]
        return [serial_sizer(self.task, self.depths, zeros), counting]

    def _copied(self, sizes: Sequence[Capacity]) -> tuple[Region, dict[Value, Value]]:
        """The task's body up to its last adstack, and what stands for its values there.

        What comes after the allocations does not count, and may need what is on the adstacks.
        """
        body = Region([Value(v.type, v.name) for v in self.task.body.args])
        names = dict(zip(self.task.body.args, body.args, strict=True))
        body.ops = [clone_op(op, names) for op in self.task.body.ops]
        target = body.ops[-2].regions[0] if self.task.kind == "parallel" else body
        behind = set(target.ops[1 + last_allocation(self.task, sizes) : -1])
        target.keep(lambda op: op not in behind)
        return body, names

    def _writes(self, sizes: Sequence[Capacity], names: dict[Value, Value]) -> Region:
        """The ops that write counts to "depths"."""
        b = Builder(Region())
        for one in sizes:
            count = Emitter(b, {}).not_negative(b.cast(names[one.value], i64))
            at = (b.const(one.number, i32),)
            if self.task.kind == "parallel":
                b.atomic("max", self.depths, at, count)
            else:
                b.store(self.depths, at, count)
        return b.region
