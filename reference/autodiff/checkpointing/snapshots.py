"""Snapshots of a checkpointed loop's state: taken at the start of a block, and gone back to.

A snapshot holds the number of the block, the carried values that later trips look at, and local arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.builder import Builder
from ...ir.structure import Region, Value
from ...ir.types import ArrayType, i64
from ..emission.state import Names, counter
from .site import Site, mapped

__all__ = ["Course", "Snapshots"]


@dataclass
class Course:
    """A loop at a point of the emitted program.

    Attributes:
        site: the loop.
        names: what stands for the values around it.
        trips, blocks: how many it has.
        first: the index of its first trip.
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
                assert stack is not None
                self.b.put(stack, slot, cell.load(self.b, course.names))
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
            assert stack is not None
            cell.store(self.b, course.names, self.b.get(stack, slot))
        values = [
            self.b.get(site.carried[k], slot) if k in site.carried else self.b.const(0, arg.dtype)
            for k, arg in enumerate(site.args)
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
