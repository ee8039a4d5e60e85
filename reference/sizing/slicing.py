"""Code of a task without its effects, to be run ahead of it as a sizer: program slicing."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.def_use import defined_in
from ..ir.ops import ASSERT, LOAD, PLACE_WRITES, PRINT, RANDOM, STACK_OPS
from ..ir.structure import Op, Region, Task, Value
from ..transforms.rewriting.options import Options
from ..transforms.scalar.cse import cse
from ..transforms.scalar.dce import dce
from ..transforms.scalar.simplify import simplify

__all__ = ["OPTIONS", "can_run_ahead", "drop_effects", "reads", "sizer", "task_builder", "writes"]

OPTIONS = Options(keep_loops=True)
"""What passes over sizers are asked for: parallel loops stay."""


def task_builder(task: Task) -> tuple[Builder, dict[Value, Value]]:
    """A builder of a body with the same parameters as a task's, and which parameter stands for which."""
    region = Region([Value(v.type, v.name) for v in task.body.args])
    return Builder(region), dict(zip(task.body.args, region.args, strict=True))


def sizer(body: Region, kind: str, numbers: tuple[int, ...]) -> Task:
    """A task without a name that computes these elements of "depths", simplified."""
    drop_effects(body)
    for run in (simplify, cse, dce):
        run(body, OPTIONS)
    return Task("", body, kind, numbers)


def drop_effects(region: Region) -> None:
    """Erase, in place, the ops with effects other than writes of "depths"."""
    region.keep(_only_computes)
    for op in region.ops:
        for inner in op.regions:
            drop_effects(inner)


def _only_computes(op: Op) -> bool:
    """Whether an op does nothing but compute, or write "depths"."""
    if op.opdef in STACK_OPS or op.opdef in (PRINT, ASSERT):
        return False
    return op.opdef not in PLACE_WRITES or op.attrs["place"].kind == "depths"


def can_run_ahead(body: Region, task: Task) -> bool:
    """Whether code taken out of a task computes the same ahead of it.

    It does if it uses no value that was left behind, reads no memory that the task writes and draws no random number.
    """
    defined = defined_in(body)
    if any(op.opdef is RANDOM or not defined.issuperset(op.operands) for op in body.walk()):
        return False
    return not {op.attrs["place"].name for op in body.walk() if op.opdef is LOAD} & writes(task)


def reads(task: Task) -> set[str]:
    """Names of the places that a task loads from, "depths" left out."""
    loads = (op.attrs["place"] for op in task.body.walk() if op.opdef is LOAD)
    return {place.name for place in loads if place.kind != "depths"}


def writes(task: Task) -> set[str]:
    """Names of the places that a task writes, "depths" left out."""
    places = (op.attrs["place"] for op in task.body.walk() if op.opdef in PLACE_WRITES)
    return {place.name for place in places if place.kind != "depths"}
