"""Adstacks in the heap: how many threads have rows, and where, when a task is dispatched.

A thread is a lane, and there are no more lanes than threads are dispatched: each takes several iterations, one after
another, in the same rows. Where only some iterations push, threads take a lane when they come to one, and there are as
many as such iterations. Where memory is short, fewer threads run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from adstack.ir.structure import Program
from adstack.runtime.adstacks.budget import current
from adstack.runtime.adstacks.heap import (
    UNCOUNTABLE,
    Heap,
    HeapLimit,
    TaskUse,
    known,
    least,
    sized_ahead,
    touched,
    uncountable,
)
from adstack.runtime.adstacks.layout import Placement, TaskHeap

__all__ = ["Layouts"]

_MARGIN: Final = 8
"""Bytes per lane that are there in any case: what is looked up in a stack without slots is somewhere."""


class Words(Protocol):
    """The words of a task, of which only the adstacks that they are about matter here."""

    @property
    def heap(self) -> TaskHeap:
        """These."""


class Layouts:
    """Where the adstacks of a program's tasks are.

    Args:
        program: what runs.
        heaps: the words of its tasks.
        heap: the device's.
        limit: bytes that the heap may take; 0 for no limit.
        most: bytes that the device binds as one heap; 0 where it is reached by addresses.

    Attributes:
        limit: see above.
        uses: what was laid out last, by the number of the task.
        threads, running: for how many threads that was, and how many run then.
    """

    def __init__(self, program: Program, heaps: Mapping[int, Words], heap: Heap, limit: int, most: int = 0) -> None:
        self._program, self._heaps, self._heap, self.limit, self._most = program, heaps, heap, limit, most
        self.uses: dict[int, TaskUse] = {}
        self.threads: dict[int, int] = {}
        self.running: dict[int, int] = {}
        self._asked: dict[int, tuple[int, Sequence[int], Any]] = {}
        self._sized_ahead = sized_ahead(program)

    def has(self, number: int) -> bool:
        """Whether task `number` has adstacks in the heap."""
        return number in self._heaps

    def heap(self, number: int) -> TaskHeap:
        """The adstacks of task `number`, which has some."""
        return self._heaps[number].heap

    def stands(self, number: int, threads: int, depths: Sequence[int]) -> bool:
        """Whether task `number` has been laid out for so many threads and these depths, and the heap is what it was."""
        asked = self._asked.get(number)
        return asked is not None and asked[0] == threads and asked[1] == depths and asked[2] is self._heap.storage

    def needs_depths(self, number: int) -> bool:
        """Whether the capacities of task `number` are computed by sizers."""
        return any(group.depth is not None for group in self._heaps[number].heap.groups)

    def lay_out(self, number: int, threads: int, depths: Sequence[int]) -> list[int]:
        """Make room for up to so many threads; the task's words.

        HeapLimit if there is not even room for one.
        """
        placement = self.place(number, depths)
        stride = placement.stride + max(placement.beyond, _MARGIN)
        wanted = self._heaps[number].heap.lanes(threads, depths)
        lanes = self._heap.room(stride, wanted, least(self.limit, self._most))
        if not lanes:
            raise self._limit_reached(number, stride)
        name = self._program.tasks[number].name
        use = TaskUse(name, placement.capacities, placement.stride, 1, lanes, lanes * stride, wanted)
        self.uses[number] = use
        storage: Any = self._heap.storage
        self.threads[number] = threads
        self.running[number] = running = threads if lanes == wanted else lanes
        if lanes == wanted:
            self._asked[number] = threads, depths, storage
        else:  # there may be more room next time
            self._asked.pop(number, None)
        return [storage.address, lanes, running, 0, *placement.bases, *placement.capacities]

    def looks_ahead(self, number: int) -> bool:
        """Whether, when a launch comes to task `number`, others have depths that sizers before it have computed."""
        return number == self._sized_ahead and any(self.needs_depths(k) for k in self._known(number))

    def check(self, depths: Sequence[int], number: int = 0) -> None:
        """Before a task runs: can it and later ones, as far as their depths are known? HeapLimit if one can't."""
        limit = current().heap_limit(least(self.limit, self._most))
        for later in self._known(number) if limit else ():
            placement = self.place(later, depths)
            stride = placement.stride + max(placement.beyond, _MARGIN)
            if stride > limit:
                raise self._limit_reached(later, stride, reached=number)

    def _known(self, number: int) -> list[int]:
        return known(self._program, {k: words.heap for k, words in self._heaps.items()}, number)

    def _limit_reached(self, number: int, stride: int, reached: int | None = None) -> HeapLimit:
        loc = self._heaps[number].heap.groups[0].stacks[0].loc
        before = self._program.tasks[: number if reached is None else reached]
        return HeapLimit(
            self._program.name,
            self._program.tasks[number].name,
            stride,
            self.limit,
            number=number,
            most=self._most,
            touched=touched(before),
            loc=loc if loc.line else None,
        )

    def place(self, number: int, depths: Sequence[int]) -> Placement:
        """Where the adstacks of task `number` would be with these depths; AdstackMemoryError if one is too deep."""
        layout = self.heap(number)
        placement = layout.place(depths)
        for group, capacity in zip(layout.groups, placement.capacities, strict=True):
            if capacity >= UNCOUNTABLE:
                loc = group.stacks[0].loc
                raise uncountable(self._program.name, self._program.tasks[number].name, loc if loc.line else None)
        return placement
