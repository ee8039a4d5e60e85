"""Adstacks in the heap: laid out for a task when its depths, its iterations or the heap have changed.

Every thread of a launch is a lane, or, where only some iterations push, each that comes to one; all lanes share the
rows. No more threads are launched than the device runs at
once, nor than the heap has room for; each goes on to further iterations.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_llvm.function.heap_table import Words
from adstack.ir.structure import Program
from adstack.runtime.adstacks.budget import current
from adstack.runtime.adstacks.heap import UNCOUNTABLE, Heap, HeapLimit, TaskUse, known, touched, uncountable
from adstack.runtime.adstacks.layout import Placement

__all__ = ["Layouts"]

Array = npt.NDArray[np.int64]


class Layouts:
    """Where the adstacks of a program's tasks are.

    Args:
        program: what runs.
        rows: which words tell about each task.
        words: those words, for the tasks.
        heap: the device's.
        limit: bytes that the heap may take; 0 for no limit.

    Attributes:
        uses: what was laid out last, by the number of the task.
        wanted: for how many lanes that was.
    """

    def __init__(self, program: Program, rows: dict[int, Words], words: Array, heap: Heap, limit: int) -> None:
        self._program, self._rows, self._words = program, rows, words
        self._heap, self._limit = heap, limit
        self.wanted: dict[int, int] = {}
        self.uses: dict[int, TaskUse] = {}

    @property
    def tasks(self) -> list[int]:
        """Numbers of the tasks that have adstacks in the heap."""
        return list(self._rows)

    def stands(self, number: int, lanes: int) -> bool:
        """Whether a task whose depths have not changed is ready for so many lanes."""
        use = self.uses.get(number)
        return use is not None and self.wanted[number] == lanes and use.bytes <= self._heap.size

    def lay_out(self, number: int, lanes: int, depths: Array) -> int:
        """Make a task ready for so many threads; gives how many may run."""
        task, words = self._program.tasks[number], self._rows[number]
        placement = self.place(number, depths)
        size = placement.stride + placement.beyond
        wanted = words.heap.lanes(lanes, depths.tolist())
        granted = self._heap.room(size, wanted, self._limit)
        if not granted:
            raise self._limit_reached(number, size, number)
        table = self._words
        table[words.blocks], table[words.block], table[words.covered] = granted, size, lanes
        table[words.bases : words.capacities] = placement.bases
        table[words.capacities : words.end] = placement.capacities
        self.wanted[number] = lanes
        self.uses[number] = TaskUse(
            task.name, placement.capacities, placement.stride, 1, granted, granted * size, wanted
        )
        return lanes if granted == wanted else granted

    def looks_ahead(self, number: int) -> bool:
        """Whether the sizers before a task compute depths of it or of later tasks."""
        rows = (self._rows[later] for later in self._known(number))
        return any(group.depth is not None for words in rows for group in words.heap.groups)

    def check(self, depths: Array, number: int) -> None:
        """Before a task runs: can it and later ones, as far as their depths are known? HeapLimit if one can't."""
        limit = current().heap_limit(self._limit)
        for later in self._known(number) if limit else ():
            placement = self.place(later, depths)
            if placement.stride + placement.beyond > limit:
                raise self._limit_reached(later, placement.stride + placement.beyond, number)

    def _known(self, number: int) -> list[int]:
        return known(self._program, {k: words.heap for k, words in self._rows.items()}, number)

    def _limit_reached(self, number: int, size: int, reached: int) -> HeapLimit:
        """The error for a task of which not even one lane has room, where a launch has come to the task `reached`."""
        loc = self._rows[number].heap.groups[0].stacks[0].loc
        return HeapLimit(
            self._program.name,
            self._program.tasks[number].name,
            size,
            self._limit,
            number=number,
            touched=touched(self._program.tasks[:reached]),
            loc=loc if loc.line else None,
        )

    def place(self, number: int, depths: Array) -> Placement:
        """Where the adstacks of a task would be with these depths."""
        words = self._rows[number]
        placement = words.heap.place(depths.tolist())
        for group, capacity in zip(words.heap.groups, placement.capacities, strict=True):
            if capacity >= UNCOUNTABLE:
                loc = group.stacks[0].loc
                raise uncountable(self._program.name, self._program.tasks[number].name, loc if loc.line else None)
        return placement
