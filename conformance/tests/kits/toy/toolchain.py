"""How the toy device runs a program: the interpreter does."""

from __future__ import annotations

from collections.abc import Mapping

from adstack import interpreter
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.adstacks.layout import TaskHeap
from adstack.runtime.protocol.backend import Array, Scalars

from .codegen import Executable


def run(code: Executable, memory: Mapping[str, Array], scalars: Scalars, number: int) -> Scalars:
    code.ran.clear()
    how = interpreter.RunOptions(code.options.debug, seed=code.options.random_seed, launch=number, ran=code.ran)
    return interpreter.run(code.program, {**memory, **code.depths}, scalars, options=how)


def heaps(code: Executable) -> list[TaskUse]:
    """One lane for each iteration of the last launch: the toy device has memory for all."""
    depths = next((array.tolist() for array in code.depths.values()), ())
    uses = []
    for task in code.program.tasks:
        heap = TaskHeap.of(task)
        if heap.groups:
            placed, lanes = heap.place(depths), heap.lanes(code.ran.get(task.name, 1), depths)
            uses.append(TaskUse(task.name, placed.capacities, placed.stride, 1, lanes, lanes * placed.stride, lanes))
    return uses
