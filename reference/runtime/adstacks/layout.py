"""Where adstacks are in the heap of a device: `TaskHeap.of(task)`, the one place that knows.

A heap holds rows. A row is one element for each lane, side by side, so that neighbouring lanes touch neighbouring
words; a slot of a stack is one row. All stacks of one capacity are a *group*: they are pushed together. In a group
those with elements of one size are a *part*, and stand slot by slot: the row of slot d of the j-th of a part's `count`
stacks is `first row + d * count + j`. Parts of 8-byte elements come first, then 4, 2, 1, so that all are aligned.
Where only one of several branches can be taken, their rows are the same.

So the address of an element is `base + (d * count + j) * size * lanes + lane * size` bytes into the heap of `lanes`
lanes, where `base` is `lanes` times the bytes of one lane before the part. There are no headers and no adjoints, and
nothing is lost between parts: a lane's bytes are the sum of capacity x size.

Where not every iteration pushes, and a backend hands out rows while a task runs, there are only as many lanes as there
are iterations that do (`stack.claim`): a thread takes its lane when it first comes to one, and keeps it.

Capacities are known when a task is launched: constants, or elements of the program's place "depths", which sizer tasks
have computed by then. Stacks whose capacity only the thread knows are no part of the heap: the thread keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...ir.ops import (
    LOAD,
    STACK_ACC_ADJOINT,
    STACK_ALLOCA,
    STACK_CLAIM,
    STACK_LOAD_TOP,
    STACK_LOAD_TOP_ADJ,
    STACK_POP,
    STACK_PUSH,
)
from ...ir.scalar_ops import CONST
from ...ir.structure import Op, Task, Value
from ...ir.types import DType, StackType

__all__ = ["MACHINE", "Group", "Part", "Placement", "Slot", "TaskHeap", "held"]

SIZES = (8, 4, 2, 1)
"""Bytes of elements, in the order of their parts."""

MACHINE = frozenset({STACK_PUSH, STACK_POP, STACK_LOAD_TOP, STACK_LOAD_TOP_ADJ, STACK_ACC_ADJOINT})
"""Operations of stacks that count for themselves, and may have adjoints."""

Rows = dict[int, int]
"""Element size -> a number of rows."""


@dataclass(frozen=True)
class Group:
    """Stacks with one capacity.

    Attributes:
        capacity: the operand of their allocations.
        depth: the element of "depths" that it is; None if it is a constant.
        constant: the constant.
        around: the sides of branches that it is in.
        stacks: their allocations.
    """

    capacity: Value
    depth: int | None
    constant: int
    around: tuple[int, ...]
    stacks: tuple[Op, ...]

    def slots(self, depths: Sequence[int]) -> int:
        """The capacity in a launch."""
        return max(0, self.constant if self.depth is None else depths[self.depth])


@dataclass(frozen=True)
class Part:
    """The stacks of a group with elements of one size: `count` rows per slot."""

    group: int
    size: int
    count: int


@dataclass(frozen=True)
class Slot:
    """Where a stack is: the `position`th row of every slot of a part."""

    part: int
    position: int
    dtype: DType


@dataclass(frozen=True)
class Placement:
    """The rows of a task in one launch.

    Attributes:
        bases: for each part, the bytes of one lane before it.
        stride: bytes of one lane.
        capacities: for each group.
        beyond: bytes of one lane after them that must be there too: what is looked up in a stack without slots is
            there, where its first slot would be.
    """

    bases: tuple[int, ...]
    stride: int
    capacities: tuple[int, ...]
    beyond: int = 0


@dataclass(frozen=True)
class TaskHeap:
    """The adstacks of a task that live in the heap.

    Attributes:
        groups: by capacity and branch, in program order.
        parts: of all groups.
        slots: of each stack, by the result of its allocation.
        claims: the element of "depths" that is the number of iterations that need rows; None if all may.
    """

    groups: tuple[Group, ...]
    parts: tuple[Part, ...]
    slots: dict[Value, Slot]
    claims: int | None = None

    @classmethod
    def of(cls, task: Task) -> TaskHeap:
        """Read off a task's IR."""
        groups = tuple(_groups(task))
        parts: list[Part] = []
        slots: dict[Value, Slot] = {}
        for number, group in enumerate(groups):
            positions, counts = _inside(group)
            numbers = {size: len(parts) + k for k, size in enumerate(s for s in SIZES if counts[s])}
            parts += [Part(number, size, counts[size]) for size in numbers]
            for op in group.stacks:
                dtype = _dtype(op)
                slots[op.result] = Slot(numbers[dtype.size], positions[op], dtype)
        return cls(groups, tuple(parts), slots, _claims(task))

    def group_of(self, stack: Value) -> int:
        """The number of the group that a stack in the heap belongs to."""
        return self.parts[self.slots[stack].part].group

    def lanes(self, threads: int, depths: Sequence[int]) -> int:
        """How many of so many threads need rows at the same time, at most."""
        return threads if self.claims is None else min(threads, max(1, depths[self.claims]))

    def place(self, depths: Sequence[int]) -> Placement:
        """Where the parts are when the depths are these."""
        capacities = tuple(group.slots(depths) for group in self.groups)
        rows = [capacities[part.group] * part.count for part in self.parts]
        first: dict[int, int] = {}
        items = [(self.groups[part.group].around, part.size, rows[k], k) for k, part in enumerate(self.parts)]
        total = _lay(items, dict.fromkeys(SIZES, 0), 0, first)
        before, start = {}, 0
        for size in SIZES:
            before[size] = start
            start += size * total[size]
        bases = tuple(before[part.size] + part.size * first[k] for k, part in enumerate(self.parts))
        ends = [bases[k] + part.size * part.count for k, part in enumerate(self.parts) if not capacities[part.group]]
        return Placement(bases, start, capacities, max(0, *ends, start) - start)


def held(task: Task) -> Op | None:
    """A stack that the thread keeps, if there is any: the heap, and what limits it, have nothing to do with it."""
    heap = TaskHeap.of(task)
    return next((op for op in task.body.walk() if op.opdef is STACK_ALLOCA and op.result not in heap.slots), None)


Item = tuple[tuple[int, ...], int, int, int]
"""Something to place: the sides of branches that it is in, element size, number of rows, and what it is called."""


def _lay(items: Iterable[Item], rows: Rows, level: int, first: dict[int, int]) -> Rows:
    """Give each item its first row, after `rows`; what is taken then. Sides of one branch get the same rows."""
    branches: dict[int, dict[int, list[Item]]] = {}
    for sides, size, count, name in items:
        if len(sides) == level:
            first[name] = rows[size]
            rows[size] += count
        else:
            branches.setdefault(sides[level] // 2, {}).setdefault(sides[level], []).append((sides, size, count, name))
    for branch in branches.values():
        ends = [_lay(side, dict(rows), level + 1, first) for side in branch.values()]
        rows = {size: max(end[size] for end in ends) for size in SIZES}
    return rows


def _inside(group: Group) -> tuple[dict[Op, int], Rows]:
    """The row of each stack in a slot, among those of its size; how many there are of each size."""
    first: dict[int, int] = {}
    items = [(op.attrs["inside"], _dtype(op).size, 1, k) for k, op in enumerate(group.stacks)]
    counts = _lay(items, dict.fromkeys(SIZES, 0), 0, first)
    return {op: first[k] for k, op in enumerate(group.stacks)}, counts


def _dtype(op: Op) -> DType:
    assert isinstance(op.result.type, StackType)
    return op.result.type.dtype


def _groups(task: Task) -> Iterable[Group]:
    machines = {op.operands[0] for op in task.body.walk() if op.opdef in MACHINE}
    stacks: dict[tuple[Source, tuple[int, ...]], list[Op]] = {}
    for op in task.body.walk():
        if op.opdef is STACK_ALLOCA and op.result not in machines:
            source = _source(op.operands[0])
            if source is not None:
                stacks.setdefault((source, op.attrs["around"]), []).append(op)
    for ((depth, constant), around), ops in stacks.items():
        yield Group(ops[0].operands[0], depth, constant, around, tuple(ops))


def _claims(task: Task) -> int | None:
    """The element that says how many iterations need rows."""
    counts = [op.operands[1] for op in task.body.walk() if op.opdef is STACK_CLAIM]
    if not counts:
        return None
    source = _source(counts[0])
    return None if source is None else source[0]


Source = tuple[int | None, int]
"""The element of "depths" that a capacity is, or None and the constant."""


def _source(capacity: Value) -> Source | None:
    """What a capacity is; None if only the thread knows it."""
    op = capacity.op
    if op is not None and op.opdef is CONST:
        return None, int(op.attrs["value"])
    if op is not None and op.opdef is LOAD and op.attrs["place"].kind == "depths":
        index = op.operands[0].op
        if index is not None and index.opdef is CONST:
            return int(index.attrs["value"]), 0
    return None
