"""Adstacks in the frame of a task's function: how deep they are must be known when compiling."""

from __future__ import annotations

from adstack.errors import AdstackCompilationError
from adstack.ir.structure import Op, Program, Task
from adstack.runtime.adstacks.layout import Placement

from ..function.heap_table import heap_of
from .counted import counted_stacks

__all__ = ["framed"]


def framed(program: Program, task: Task) -> Placement | None:
    """Where the adstacks of a task are in a frame; None if it has none."""
    heap = heap_of(task)
    heap_slots = {} if heap is None else heap.slots
    for stack, group in counted_stacks(task.body).items():
        if stack not in heap_slots:
            raise _unknown(program, task, group[0])
    if heap is None:
        return None
    for part in heap.groups:
        if part.depth is not None:
            raise _unknown(program, task, part.stacks[0])
    return heap.place(())


def _unknown(program: Program, task: Task, stack: Op) -> AdstackCompilationError:
    return AdstackCompilationError(
        f"{program.name}: how deep the adstacks of {task.name} are is only known when it runs, and "
        "ad_stack_storage='stack' wants to know it when the kernel is compiled",
        loc=stack.loc if stack.loc.line else None,
        do="use ad_stack_storage='heap', set ad_stack_size=N, or give the loop constant bounds",
    )
