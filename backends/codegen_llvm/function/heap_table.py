"""Where the words of a task stand in the table that tells about adstacks in the heap.

The table belongs to a program; the runtime writes it where the depths of stacks have changed (see
`adstack.runtime.adstacks.layout` for what the words mean), and a task reads its own part.
"""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.ops import STACK_ALLOCA
from adstack.ir.structure import Program, Task
from adstack.runtime.adstacks.layout import TaskHeap

__all__ = ["Words", "heap_of", "table"]


@dataclass(frozen=True)
class Words:
    """Where the words of a task stand.

    Attributes:
        heap: what they are about.
        blocks: how many blocks there are, that is, how many threads may run the task at the same time.
        block: bytes of a block.
        covered: the most iterations that the layout is made for; below 0 while there is no layout.
        total: the iterations of the present launch.
        taken: the address of the number of rows that iterations have claimed (i64), 0 when the task begins.
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
        """The words of a task whose first word is at a position of the table."""
        capacities = at + 5 + len(heap.parts)
        return cls(heap, at, at + 1, at + 2, at + 3, at + 4, at + 5, capacities, capacities + len(heap.groups))


def heap_of(task: Task) -> TaskHeap | None:
    """Its adstacks in the heap, if it has any."""
    if not any(op.opdef is STACK_ALLOCA for op in task.body.walk()):
        return None
    heap = TaskHeap.of(task)
    return heap if heap.groups else None


def table(program: Program) -> dict[int, Words]:
    """The words of each task that has adstacks in the heap, by its number."""
    tables: dict[int, Words] = {}
    at = 0
    for number, task in enumerate(program.tasks):
        heap = heap_of(task)
        if heap is not None:
            tables[number] = Words.of(heap, at)
            at = tables[number].end
    return tables
