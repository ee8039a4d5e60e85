"""What a task is told about its adstacks in the heap: words of a table, and code that reads them.

The table belongs to a program; the runtime writes it where the depths of stacks have changed (see
`adstack.runtime.adstacks.layout` for what the words mean), and a task reads its own part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adstack.ir.structure import Program, Task
from adstack.runtime.adstacks.layout import Placement, TaskHeap

if TYPE_CHECKING:
    from .region import RegionEmitter

__all__ = ["Rows", "Words", "heap_of", "product", "table", "word"]


@dataclass(frozen=True)
class Words:
    """Where the words of a task stand.

    Attributes:
        heap: what they are about.
        blocks: how many blocks there are, that is, how many threads may run the task at the same time.
        block: bytes of a block.
        covered: the most iterations that all this is for; below 0 while nothing is laid out.
        total: the iterations of the present launch.
        taken: where rows are handed out, the address of how many are (i64), 0 when the task begins.
        bases: the first of as many words as there are parts: bytes of one lane before each.
        capacities: the first of as many words as there are groups: how deep each may be.
        end: what comes after them.
    """

    heap: TaskHeap
    blocks: int
    block: int
    covered: int
    total: int
    taken: int
    bases: int
    capacities: int
    end: int

    @classmethod
    def of(cls, heap: TaskHeap, at: int) -> Words:
        """From a position on."""
        capacities = at + 5 + len(heap.parts)
        return cls(heap, at, at + 1, at + 2, at + 3, at + 4, at + 5, capacities, capacities + len(heap.groups))


def heap_of(task: Task) -> TaskHeap | None:
    """Its adstacks in the heap, if it has any."""
    if not any(op.name == "stack.alloca" for op in task.body.walk()):
        return None
    heap = TaskHeap.of(task)
    return heap if heap.groups else None


def table(program: Program) -> dict[int, Words]:
    """The words of each task that has adstacks in the heap, by its number."""
    found: dict[int, Words] = {}
    at = 0
    for number, task in enumerate(program.tasks):
        heap = heap_of(task)
        if heap is not None:
            found[number] = Words.of(heap, at)
            at = found[number].end
    return found


@dataclass(frozen=True)
class Rows:
    """How the code of a task finds its rows.

    Attributes:
        heap: their layout.
        block: a pointer to the memory.
        words: where the rest is told; None if it is known when compiling.
        placement: what is known when compiling.
    """

    heap: TaskHeap
    block: str
    words: Words | None = None
    placement: Placement | None = None

    def base(self, e: RegionEmitter, part: int) -> str:
        """The bytes of one lane before a part."""
        if self.words is None:
            assert self.placement is not None
            return str(self.placement.bases[part])
        return word(e, self.words.bases + part)

    def capacity(self, e: RegionEmitter, group: int) -> str:
        """How many slots a group has."""
        found = self.heap.groups[group]
        if found.depth is None:
            return str(max(0, found.constant))
        assert self.words is not None
        return word(e, self.words.capacities + group)


def word(e: RegionEmitter, at: int) -> str:
    """A word of the table."""
    return e.w.let(f"load i64, ptr {e.w.let(f'getelementptr i64, ptr %rows, i64 {at}')}, align 8")


def product(e: RegionEmitter, a: str, b: str) -> str:
    """Of two i64, at once if they are known."""
    if a.isdigit() and b.isdigit():
        return str(int(a) * int(b))
    if a == "1" or b == "1":
        return b if a == "1" else a
    return e.w.let(f"mul i64 {a}, {b}")
