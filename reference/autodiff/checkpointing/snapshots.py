"""Snapshots of a checkpointed loop's state: taken at the start of a block, and gone back to.

A snapshot holds the number of the block, the carried values that later iterations read, local arrays, and how many
entries of the logs of the launch come before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.builder import Builder
from ...ir.structure import Region, Value
from ...ir.types import ArrayType, i64
from ..emission.journal import JournalRow
from ..emission.state import Names, counter
from .cells import Cell
from .loops import CheckpointedLoop
from .slabs import Slab

__all__ = ["Course", "Site", "Snapshots", "mapped"]


@dataclass(eq=False)
class Site:
    """Where a checkpointed loop has its state in the emitted program.

    Attributes:
        plan: the loop.
        row: the row of the iteration in what the launch has logged.
        trips: its trip count, if that is counted before the nest runs.
        starts: the stack of the blocks at whose start the snapshots were taken.
        carried: the stacks of carried values, by position.
        arrays, frozen: the stacks of local arrays, by the array of the source; each of the frozen ones has one copy.
        cells: the stacks of elements of scratch memory.
    """

    plan: CheckpointedLoop
    row: JournalRow | None
    trips: Value | None = None
    starts: Value | None = None
    carried: dict[int, Value] = field(default_factory=dict)
    arrays: dict[Value, Value] = field(default_factory=dict)
    frozen: dict[Value, Value] = field(default_factory=dict)
    cells: dict[Cell | Slab, Value] = field(default_factory=dict)


@dataclass
class Course:
    """A loop at a point of the emitted program.

    Attributes:
        site: the loop.
        names: what stands for the values around it.
        trips, blocks: how many iterations and how many blocks it has.
        first: the index of its first iteration.
    """

    site: Site
    names: Names
    trips: Value
    blocks: Value
    first: Value


class Snapshots:
    """Emits what takes snapshots and goes back to them."""

    def __init__(self, b: Builder) -> None:
        self.b = b

    def save_if(self, taken: Value, course: Course, slot: Value, block: Value, values: Sequence[Value]) -> None:
        """Take a snapshot where a condition holds."""
        take, leave = Region(), Region()
        with self.b.into(take):
            self.save(course, slot, block, values)
            self.b.yield_()
        with self.b.into(leave):
            self.b.yield_()
        self.b.if_(taken, take, leave)

    def save(self, course: Course, slot: Value, block: Value, values: Sequence[Value]) -> None:
        """Take a snapshot of the state at the start of a block."""
        site = course.site
        assert site.starts is not None
        self.b.put(site.starts, slot, block)
        for k, stack in site.carried.items():
            self.b.put(stack, slot, values[k])
        self.copy_arrays(site.arrays, course.names, slot, restore=False)
        if site.cells:
            self._save_cells(course, slot)

    def _save_cells(self, course: Course, slot: Value) -> None:
        """Elements of memory; a loop that does not run may not touch them."""
        some, none = Region(), Region()
        with self.b.into(some):
            for cell, stack in course.site.cells.items():
                cell.save(self.b, course.names, stack, slot)
            self.b.yield_()
        with self.b.into(none):
            self.b.yield_()
        self.b.if_(self.b.gt(course.blocks, counter(self.b)), some, none)

    def restore(self, course: Course, slot: Value) -> tuple[Value, list[Value]]:
        """The block of a snapshot, and the carried values there; those that are not part of the state are 0."""
        site = course.site
        assert site.starts is not None
        self.copy_arrays(site.arrays, course.names, slot, restore=True)
        for cell, stack in site.cells.items():
            cell.restore(self.b, course.names, stack, slot)
        values = [
            self.b.get(site.carried[k], slot) if k in site.carried else self.b.const(0, dtype)
            for k, dtype in enumerate(site.plan.state)
        ]
        return self.b.get(site.starts, slot), values

    def copy_arrays(self, arrays: dict[Value, Value], names: Names, slot: Value, *, restore: bool) -> None:
        """Copy local arrays to a slot of their stacks, or back."""
        b = self.b
        for array, stack in arrays.items():
            assert isinstance(array.type, ArrayType)
            length, handle = counter(b, array.type.length), mapped(names, array)
            body = Region([Value(i64)])
            with b.into(body):
                element = body.args[0]
                at = b.add(b.mul(slot, length), element)
                if restore:
                    b.array_store(handle, element, b.get(stack, at))
                else:
                    b.put(stack, at, b.array_load(handle, element))
                b.yield_()
            b.for_(counter(b), length, [], body)


def mapped(names: Names, value: Value) -> Value:
    """The value that stands for another one in the reverse kernel; itself if none does."""
    return names.get(value, value)
