"""What a reverse program keeps on adstacks: which values, why, how deep, and the memory that takes.

`report(compiled)` reads it off the IR: formulas, no numbers that depend on a launch. `measured` adds those, by running
what computes depths on the reference interpreter, or the whole program, on copies of the memory of a call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import overload

import numpy as np

from .. import interpreter
from ..ir.location import Loc
from ..ir.ops import CALL, STACK_ALLOCA, STACK_GET, STACK_PUT, WAYS
from ..ir.structure import Op, Task, Value
from ..ir.types import DType
from ..sizing.size import Size
from ..sizing.text import Speller
from .adstacks.heap import TaskUse
from .adstacks.layout import MACHINE, Placement, TaskHeap
from .compiled import Compiled
from .protocol.backend import Array, Scalars

__all__ = ["AdstackReport", "StackRow", "TaskRow", "measured", "report"]


@dataclass(frozen=True)
class StackRow:
    """One adstack.

    Attributes:
        task: the name of its task.
        variable: what the user calls the value that is kept, if anything.
        loc: where the value is computed.
        dtype: of its slots.
        formula: its capacity, in the words of the kernel: the greatest of any thread.
        why: what the reverse pass computes from it: (operation, where).
        capacity: slots of each thread in the launch asked about; None if that was not asked, or only the launch knows.
        used: the most slots that a thread pushed to, if that was measured.
        stack: the op that makes it.
    """

    task: str
    variable: str
    loc: Loc
    dtype: DType
    formula: str
    why: tuple[tuple[str, Loc], ...]
    capacity: int | None = None
    used: int | None = None
    stack: Op | None = field(default=None, repr=False, compare=False)

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot of one thread: the primal and nothing else."""
        return self.dtype.size

    @property
    def bytes(self) -> int | None:
        """Bytes of all slots of one thread."""
        return None if self.capacity is None else self.capacity * self.slot_bytes

    def __str__(self) -> str:
        reasons = ", ".join(f"{name} (line {loc.line})" for name, loc in self.why) or "the iterations of a loop"
        what = f"{self.variable or 'a value'} (line {self.loc.line}), {self.dtype}"
        depth = self.formula
        if self.capacity is not None and str(self.capacity) != self.formula:
            depth += f" = {self.capacity}"
        used = "" if self.used is None else f", {self.used} used"
        return f"{self.task}: {what}, {self.slot_bytes} bytes x {depth}{used} per thread; needed by {reasons}"


@dataclass(frozen=True)
class TaskRow:
    """The adstacks of one task together.

    Attributes:
        task: its name.
        stride: bytes of one thread: stacks of branches of which only one is taken share them. None as `capacity` above.
        needed: bytes of all threads that ran at the same time in the last launch of this program, without any loss.
        use: how the heap was laid out then; None before a launch.
    """

    task: str
    stride: int | None
    use: TaskUse | None = None

    @property
    def lanes(self) -> int | None:
        """Threads (or vector lanes) that had heap at the same time in the last launch."""
        return None if self.use is None else self.use.lanes * self.use.blocks

    @property
    def needed(self) -> int | None:
        """Bytes that these took in the last launch."""
        return None if self.use is None else self.use.stride * self.use.lanes * self.use.blocks

    @property
    def allocated(self) -> int | None:
        """Bytes of the heap that were given to them: what is needed, rounded up to whole lines of the cache."""
        return None if self.use is None else self.use.bytes

    @property
    def slack(self) -> float | None:
        """Allocated / needed."""
        return self.allocated / self.needed if self.needed and self.allocated is not None else None

    def __str__(self) -> str:
        stride = "" if self.stride is None else f"{self.stride} bytes per thread"
        if self.use is None:
            return f"{self.task}: {stride or 'not launched yet'}"
        last = f"last launch: {self.lanes} threads at a time, {self.needed} bytes needed, {self.allocated} allocated"
        return f"{self.task}: {stride}{'; ' if stride else ''}{last}"


@dataclass(frozen=True)
class AdstackReport(Sequence[StackRow]):
    """All adstacks of a program: a sequence of rows, and what they take per task.

    Attributes:
        rows: one per adstack.
        tasks: one per task that has any.
        checkpoints: what the last launch did instead about loops whose values did not fit in memory, a line each.
        sums: how many updates that iterations share are added up in which way (see `analysis/accumulation.py`).
        kept: what launches keep beside, because they overwrite it or nobody could have it again, a line each.
        sparse: how much of the sparse fields that the kernel uses is active, and how they take memory, a line each.
    """

    rows: tuple[StackRow, ...]
    tasks: tuple[TaskRow, ...] = ()
    checkpoints: tuple[str, ...] = ()
    sums: Mapping[str, int] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    sparse: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> StackRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[StackRow]: ...
    def __getitem__(self, index: int | slice) -> StackRow | Sequence[StackRow]:
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        stacks = [*map(str, (*self.rows, *self.tasks, *self.checkpoints))] or ["nothing is kept on adstacks"]
        return "\n".join((*stacks, *self.kept, *self.sparse))

    @classmethod
    def together(
        cls, reports: Sequence[AdstackReport], kept: Sequence[str], sparse: Sequence[str] = ()
    ) -> AdstackReport:
        """One report for reverse modes that run one after the other."""
        sums = sum((Counter(one.sums) for one in reports), Counter[str]())
        return cls(
            tuple(row for one in reports for row in one.rows),
            tuple(task for one in reports for task in one.tasks),
            tuple(line for one in reports for line in one.checkpoints),
            sums,
            tuple(kept),
            tuple(sparse),
        )


def report(compiled: Compiled, uses: Sequence[TaskUse] = ()) -> AdstackReport:
    """What can be said of a compiled program before a launch; `uses` tell of its last one."""
    sizes = {size.number: size for size in (compiled.sized.sizes if compiled.sized else ())}
    tasks = [task for task in compiled.program.tasks if not task.sizes]
    rows = [row for task in tasks for row in _Rows(task, sizes).rows()]
    named = {use.task: use for use in uses}
    with_stacks = [task for task in tasks if TaskHeap.of(task).groups]
    totals = [TaskRow(task.name, _constant_stride(task), named.get(task.name)) for task in with_stacks]
    ways = Counter(op.attrs["sums"] for task in tasks for op in task.body.walk() if "sums" in op.attrs)
    return AdstackReport(tuple(rows), tuple(totals), sums={way: ways[way] for way in WAYS if ways[way]})


def measured(
    compiled: Compiled,
    report: AdstackReport,
    memory: Mapping[str, Array],
    scalars: Scalars,
    *,
    use: bool = False,
) -> AdstackReport:
    """The report with capacities, in slots, of a launch with this memory (by place name) and these scalar arguments.

    Nothing is changed: the interpreter runs the sizers alone, or with `use` all of the program, on copies, to see how
    deep stacks get. Capacities that the program computes in passing stay unknown without that.
    """
    program, used = compiled.program, dict[Op, int]()
    depths = {
        p.name: np.zeros([n or 0 for n in p.shape], np.int64) for p in program.places.values() if p.kind == "depths"
    }
    depths_known = not (compiled.sized and compiled.sized.transient) or use
    if use:
        how = interpreter.RunOptions(used=used)
        interpreter.run(program, {**{n: a.copy() for n, a in memory.items()}, **depths}, scalars, options=how)
    elif depths and depths_known:
        sizers = replace(program, tasks=[task for task in program.tasks if task.sizes], returns=(), results=())
        interpreter.run(sizers, {**memory, **depths}, scalars)
    if not depths_known:
        return report
    numbers = next(iter(depths.values())).tolist() if depths else []
    places = {t.name: (TaskHeap.of(t), t) for t in program.tasks if not t.sizes}
    laid = {name: (heap, heap.place(numbers)) for name, (heap, _) in places.items()}
    rows = tuple(
        replace(row, capacity=_capacity(*laid[row.task], row.stack), used=used.get(row.stack, 0) if use else None)
        for row in report.rows
        if row.stack is not None
    )
    totals = tuple(replace(row, stride=laid[row.task][1].stride) for row in report.tasks)
    return replace(report, rows=rows, tasks=totals)


def _capacity(heap: TaskHeap, placement: Placement, stack: Op | None) -> int | None:
    if stack is None or stack.result not in heap.slots:
        return None
    return placement.capacities[heap.parts[heap.slots[stack.result].part].group]


def _constant_stride(task: Task) -> int | None:
    """Bytes of one thread, if constants say how deep all stacks are."""
    heap = TaskHeap.of(task)
    return None if any(group.depth is not None for group in heap.groups) else heap.place(()).stride


class _Rows:
    """The adstacks of one task."""

    def __init__(self, task: Task, sizes: Mapping[int, Size]) -> None:
        self.task, self.sizes = task, sizes
        self.speller = Speller(task)
        self.depth_of = {s: g.depth for g in TaskHeap.of(task).groups for s in g.stacks}
        self.position = {op: number for number, op in enumerate(task.body.walk())}

    def rows(self) -> Iterator[StackRow]:
        for op in self.task.body.walk():
            if op.opdef is STACK_ALLOCA and not any(u.opdef in MACHINE for u in op.result.uses):
                yield self._row(op)

    def _row(self, op: Op) -> StackRow:
        users = self._users(op.result)
        puts = [u for u in users if u.opdef is STACK_PUT]
        gets = [u.result for u in users if u.opdef is STACK_GET]
        value = puts[0].operands[2] if puts else None
        name = "" if value is None else value.name.rstrip("_0123456789") or value.name
        why = {(_called(u), u.loc): None for got in gets for u in self._users(got)}
        loc = puts[0].loc if puts else op.loc
        return StackRow(self.task.name, name, loc, op.attrs["dtype"], self._formula(op), tuple(why), stack=op)

    def _users(self, value: Value) -> list[Op]:
        """The ops that take a value, in program order."""
        return sorted(value.uses, key=self.position.__getitem__)

    def _formula(self, op: Op) -> str:
        depth = self.depth_of.get(op)
        return self.speller.value(op.operands[0]) if depth is None else self.sizes[depth].text


def _called(op: Op) -> str:
    """The name of an operation; of a call, that of the function."""
    return str(op.attrs["function"].name).partition(".")[0] if op.opdef is CALL else op.name
