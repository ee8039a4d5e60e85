"""One capacity for all adstacks, whatever they need: `with_capacity(program, slots)`.

Requires: a lowered program. Ensures: every adstack has so many slots, and nothing is counted to find how many there
should be. A push past them is an overflow, which the launch reports.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.builder import Builder
from ..ir.ops import STACK_ALLOCA
from ..ir.structure import Op, Program, Region
from ..ir.types import i64
from ..transforms.rewriting.options import Options
from ..transforms.scalar.dce import dce

__all__ = ["with_capacity"]

_OPTIONS = Options(keep_loops=True)


def with_capacity(program: Program, slots: int) -> Program:
    """The program with a fixed capacity for every adstack; it is `program` itself, changed in place."""
    for task in program.tasks:
        if any(op.opdef is STACK_ALLOCA for op in task.body.walk()):
            _force(task.body, slots)
            dce(task.body, _OPTIONS)
    return program


def _force(region: Region, slots: int) -> None:
    region.ops = list(_forced(region, slots))
    for op in region.ops:
        for inner in op.regions:
            _force(inner, slots)


def _forced(region: Region, slots: int) -> Iterator[Op]:
    """The ops, with the capacity as a constant before the first allocation; all allocations take it."""
    b = Builder(Region())
    capacity = b.const(slots, i64)
    for op in region.ops:
        if op.opdef is STACK_ALLOCA:
            yield from b.region.ops
            b.region.ops.clear()
            op.set_operand(0, capacity)
        yield op
