"""How the toy device runs a program: the interpreter does."""

from __future__ import annotations

from collections.abc import Mapping

from adstack import interpreter
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.adstacks.layout import TaskHeap
from adstack.runtime.protocol.backend import Array, Scalars

from .codegen import Executable


def run(made: Executable, memory: Mapping[str, Array], scalars: Scalars, number: int) -> Scalars:
    made.ran.clear()
    how = interpreter.RunOptions(made.options.debug, seed=made.options.random_seed, launch=number, ran=made.ran)
    return interpreter.run(made.program, {**memory, **made.depths}, scalars, options=how)


def heaps(made: Executable) -> list[TaskUse]:
    """One lane for each iteration of the last launch: the toy device has memory for all."""
    depths = next((array.tolist() for array in made.depths.values()), ())
    uses = []
    for task in made.program.tasks:
        heap = TaskHeap.of(task)
        if heap.groups:
            placed, lanes = heap.place(depths), heap.lanes(made.ran.get(task.name, 1), depths)
            uses.append(TaskUse(task.name, placed.capacities, placed.stride, 1, lanes, lanes * placed.stride, lanes))
    return uses
