"""Adstacks in the heap: laid out for a task when its depths, its iterations or the heap have changed.

A block holds the rows of one vector of lanes. There is one for every thread that takes part in a loop, and they are
given back and taken again from loop to loop. Machine code looks whether all is as it was (`codegen`), and comes here
only if not.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_llvm.function.heap_table import Words
from adstack.backends.codegen_llvm.tasks import Emitted
from adstack.backends.shared.memory_left import memory_left
from adstack.ir.structure import Program
from adstack.runtime.adstacks.budget import current
from adstack.runtime.adstacks.heap import (
    UNCOUNTABLE,
    Heap,
    HeapLimit,
    TaskUse,
    known,
    sized_ahead,
    touched,
    uncountable,
)
from adstack.runtime.adstacks.layout import Placement

from . import layout
from .grain import grain
from .pool import pool

__all__ = ["DeviceHeap", "Layouts"]

Array = npt.NDArray[np.int64]

_BLOCK: Final = layout.ALIGNMENT
"""Blocks begin at multiples of this, a line of the cache, so that threads share none."""
_ALL: Final = 2**63 - 1


class DeviceHeap:
    """The heap of this process' memory.

    Attributes:
        heap: the manager.
        record: [address, bytes], where machine code looks.
    """

    def __init__(self) -> None:
        self.heap = Heap(_allocate, lambda storage: None)
        self.record = layout.words(2)

    def room(self, block: int, blocks: int, limit: int) -> int:
        """See `Heap.room`."""
        try:
            return self.heap.room(block, blocks, limit)
        finally:
            storage = self.heap.storage
            self.record[:] = (0, 0) if storage is None else (storage.ctypes.data, self.heap.size)


def _allocate(size: int) -> npt.NDArray[np.generic]:
    left = memory_left()
    if left is not None and size > left:
        raise MemoryError(f"{size} bytes, and {left} are left")
    return layout.take(size, zeroed=False)


class Layouts:
    """Where the adstacks of a program's tasks are.

    Args:
        program: what runs.
        emitted: its code, of which the lanes matter.
        depths: memory of its place "depths", if it has one.
        heap: the device's.
        limit: bytes that the heap may take; 0 for no limit.
        uses: told what was laid out last, by the number of the task.

    Attributes:
        table: words about every task, for machine code.
    """

    def __init__(
        self,
        program: Program,
        emitted: Emitted,
        depths: npt.NDArray[np.generic] | None,
        heap: DeviceHeap,
        limit: int,
        uses: dict[int, TaskUse],
    ) -> None:
        self._program, self._emitted, self._depths = program, emitted, depths
        self._heap, self._limit, self._uses = heap, limit, uses
        size = max((words.end for words in emitted.rows.values()), default=0)
        self.table = layout.words(max(1, size))
        for words in emitted.rows.values():
            self.table[words.covered] = -1

    def total(self, number: int) -> int:
        """The iterations that a task has found it has."""
        return int(self.table[self._emitted.rows[number].total])

    def lay_out(self, number: int, total: int) -> bool:
        """Make a task ready to run so many iterations; False if there is not even room for one block of its lanes."""
        task, words = self._program.tasks[number], self._emitted.rows[number]
        placement = self._place(number, words)
        lanes = self._emitted.lanes[number]
        block = _rounded(lanes * (placement.stride + placement.beyond))
        threads, least = (pool().threads, grain(task, lanes)) if task.kind == "parallel" else (1, _ALL)
        wanted = 1 if total <= least else min(threads, -(-total // lanes))
        blocks = self._heap.room(block, wanted, self._limit)
        if not blocks:
            return False
        covered = _ALL if blocks < wanted or wanted == threads else max(least, wanted * lanes)
        table = self.table
        table[words.blocks], table[words.block], table[words.covered] = blocks, block, covered
        table[words.bases : words.capacities] = placement.bases
        table[words.capacities : words.end] = placement.capacities
        self._uses[number] = TaskUse(
            task.name, placement.capacities, placement.stride, lanes, blocks, blocks * block, wanted
        )
        return True

    def check(self, number: int) -> None:
        """Before a task runs: can it and later ones run at all, as far as their depths are known by now?

        A number behind the last stands for the first task that is no sizer.
        """
        number = number if number < len(self._program.tasks) else sized_ahead(self._program)
        heaps = {number: words.heap for number, words in self._emitted.rows.items()}
        for later in known(self._program, heaps, number):
            limit = current().heap_limit(self._limit)
            if limit and self._least(later) > limit:
                raise self.limit_reached(later, number)
            self._note(later)

    def _note(self, number: int) -> None:
        """Let the table have the depths of a task; if they are new, it is laid out when the launch comes to it."""
        words = self._emitted.rows[number]
        capacities = self._place(number, words).capacities
        if self.table[words.capacities : words.end].tolist() != list(capacities):
            self.table[words.capacities : words.end] = capacities
            self.table[words.covered] = -1

    def limit_reached(self, number: int, reached: int) -> HeapLimit:
        """The error for a task of which not even one lane has room, where a launch has come to the task `reached`."""
        task, words = self._program.tasks[number], self._emitted.rows[number]
        loc = words.heap.groups[0].stacks[0].loc
        return HeapLimit(
            self._program.name,
            task.name,
            self._least(number),
            self._limit,
            number=number,
            touched=touched(self._program.tasks[:reached]),
            loc=loc if loc.line else None,
        )

    def _least(self, number: int) -> int:
        """The bytes of a block of one lane."""
        placement = self._place(number, self._emitted.rows[number])
        return _rounded(placement.stride + placement.beyond)

    def _place(self, number: int, words: Words) -> Placement:
        depths = () if self._depths is None else self._depths.tolist()
        placement = words.heap.place(depths)
        for group, capacity in zip(words.heap.groups, placement.capacities, strict=True):
            if capacity >= UNCOUNTABLE:
                loc = group.stacks[0].loc
                raise uncountable(self._program.name, self._program.tasks[number].name, loc if loc.line else None)
        return placement


def _rounded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK
