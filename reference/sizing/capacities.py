"""The adstacks of a task whose capacities are to be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis.facts import constant
from ..ir.location import Loc
from ..ir.ops import STACK_ALLOCA
from ..ir.structure import Op, Task, Value

__all__ = ["Capacity", "capacities", "last_allocation", "outermost"]


@dataclass(frozen=True)
class Capacity:
    """The capacity of some adstacks of a task, computed by the task itself.

    Attributes:
        value: what the task computes it as.
        number: the element of "depths" that takes its place.
        stacks: the `stack.alloca`s that have it.
    """

    value: Value
    number: int
    stacks: list[Op]

    @property
    def loc(self) -> Loc:
        """The location of the first of its adstacks in the source."""
        return self.stacks[0].loc


def capacities(task: Task, start: int) -> list[Capacity]:
    """The capacities of adstacks at the outermost level of a task or iteration that are not constants.

    They are numbered from `start`, in the order of their first adstack.
    """
    sizes: dict[Value, Capacity] = {}
    for op in outermost(task):
        if op.opdef is STACK_ALLOCA:
            value = op.operands[0]
            if constant(value) is None:
                sizes.setdefault(value, Capacity(value, start + len(sizes), [])).stacks.append(op)
    return list(sizes.values())


def outermost(task: Task) -> list[Op]:
    """The ops of an iteration, or of serial code."""
    return task.body.ops[-2].regions[0].ops if task.kind == "parallel" else task.body.ops


def last_allocation(task: Task, sizes: Sequence[Capacity]) -> int:
    """The position, among the outermost ops, of the last adstack with one of these capacities."""
    stacks = {op for one in sizes for op in one.stacks}
    return max(position for position, op in enumerate(outermost(task)) if op in stacks)
