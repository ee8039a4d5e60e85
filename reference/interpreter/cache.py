"""Prepared kernels, kept while their IR stays what it was."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from operator import is_
from typing import Final

from ..ir.structure import Kernel, Program, Region, Task
from ..ir.types import DType
from . import control, effects, local, memory, scalar
from .frame import Slot
from .prepare import Code, Scope

RULE_MODULES: Final = (scalar, control, memory, local, effects)
"""Importing them fills the table of rules."""

CAPACITY: Final = 128


@dataclass(frozen=True)
class PreparedTask:
    """A task, or a kernel's whole body, ready to run: code, types of its parameters, values that it starts with."""

    name: str
    code: Code
    params: tuple[DType, ...]
    template: list[Slot]


@dataclass(frozen=True)
class Prepared:
    """A kernel or program ready to run, and the parts of the IR that it was made from."""

    name: str
    tasks: tuple[PreparedTask, ...]
    snapshot: list[object]


ENTRIES: OrderedDict[tuple[int, bool], Prepared] = OrderedDict()


def prepared(program: Kernel | Program, debug: bool) -> Prepared:
    """The prepared form, made again if the IR was changed since."""
    key, parts = (id(program), debug), snapshot(program)
    entry = ENTRIES.get(key)
    if entry is None or len(entry.snapshot) != len(parts) or not all(map(is_, entry.snapshot, parts)):
        tasks = tuple(prepare_task(task, program, debug) for task in tasks_of(program))
        entry = ENTRIES[key] = Prepared(program.name, tasks, parts)
    ENTRIES.move_to_end(key)
    if len(ENTRIES) > CAPACITY:
        ENTRIES.popitem(last=False)
    return entry


def tasks_of(program: Kernel | Program) -> list[Task]:
    """The tasks of a program; a kernel counts as one."""
    return program.tasks if isinstance(program, Program) else [Task(program.name, program.body)]


def prepare_task(task: Task, program: Kernel | Program, debug: bool) -> PreparedTask:
    """Prepare one task."""
    scope = Scope(program.places, debug)
    code = scope.region(task.body)
    return PreparedTask(task.name, code, tuple(arg.dtype for arg in task.body.args), scope.template)


def snapshot(program: Kernel | Program) -> list[object]:
    """The objects that the IR is made of, in order: IR with the very same ones is the same IR."""
    parts: list[object] = list(program.places)
    for task in tasks_of(program):
        parts += (task.name, *region_parts(task.body))
    return parts


def region_parts(region: Region) -> list[object]:
    """The objects that a region is made of."""
    parts: list[object] = list(region.args)
    for op in region.walk():
        parts += (op, op.opdef, *op.operands, *op.results, *op.attrs.values(), op.loc)
        for inner in op.regions:
            parts += inner.args
    return parts
