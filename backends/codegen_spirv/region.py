"""Straight-line code and the dispatch over operations."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from adstack.backends.shared.handlers import Handlers
from adstack.backends.shared.thread_code import Machine
from adstack.ir.ops import TABLE
from adstack.ir.structure import Op, Place, Region, Value
from adstack.ir.types import DType, i64

from .assembly.code import Code, Num
from .assembly.module import Module
from .frame import TaskFrame
from .memory import Address
from .rows import Rows
from .scalars.emitters import emit
from .teams import TeamCode

__all__ = ["HANDLERS", "Partial", "RegionEmitter", "handles"]


class Partial(Protocol):
    """What a thread combines of its own values before an atomic update reaches memory (see `gathering`)."""

    def add(self, e: RegionEmitter, value: Value) -> None:
        """Take one more value in."""


HANDLERS: Handlers[RegionEmitter] = Handlers()
handles = HANDLERS.handles


class RegionEmitter:
    """Emits ops into one function.

    Attributes:
        c: the function.
        task: what the code needs to know of the task around it; None in a library function, which touches no memory.
        arrays: local arrays: value -> variable.
        team: of a task whose iterations are blocks of threads that run side by side.
        gathered: atomics whose values a thread combines before they reach memory.
        own: atomics whose element no other iteration touches.
        joined: atomics that were emitted with one before them (see `joining`).
        machines: adstacks that count for themselves, made so far.
        sites: the site of each adstack in the heap, for the overflow record.
        checked, slots: per (region, group or part, index), that it was compared with the capacity, and the address.
        affine_slots: per (region, part, index) whose checks are hoisted, the slot of the first iteration, and how many
            bytes on that of the next one is.
        iterations: per region, the number of the current iteration (u64).
        moving: per (place, subscripts), the address in the current iteration of a short loop (see `moving`).
        few: integers of 64 bits that are certainly below 2^31, and not below -2^31.
        unreported: guards of straight-line code whose reports are still to be emitted: whether the access is outside,
            and what emits the report (see `settle`).
        current: the region being emitted.
    """

    def __init__(self, code: Code, task: TaskFrame | None = None) -> None:
        self.c = code
        self.task = task
        self.arrays: dict[Value, int] = {}
        self.team: TeamCode | None = None
        self.gathered: dict[Op, Partial] = {}
        self.own: set[Op] = set()
        self.joined: set[Op] = set()
        self.machines: dict[Value, Machine[Num, int]] = {}
        self.sites: dict[Value, int] = {}
        self.checked: dict[tuple[int, int, Value], bool] = {}
        self.slots: dict[tuple[int, int, Value], Address] = {}
        self.affine_slots: dict[tuple[int, int, Value], tuple[Address, Num]] = {}
        self.iterations: dict[int, Num] = {}
        self.moving: dict[tuple[str, tuple[Value, ...]], Address] = {}
        self.few: set[Value] = set()
        self.unreported: list[tuple[Num, Callable[[], None]]] = []
        self.current: Region | None = None
        self._numbers: dict[Value, int] = {}
        self._ids: dict[Value, Num] = {}

    @property
    def m(self) -> Module:
        """The module that the code is part of."""
        return self.c.m

    @property
    def frame(self) -> TaskFrame:
        """The task around the code."""
        assert self.task is not None, "memory is out of reach in a library function"
        return self.task

    @property
    def rows(self) -> Rows:
        """The thread's part of the adstack heap."""
        assert self.frame.rows is not None, "the task has no adstacks in the heap"
        return self.frame.rows

    # ---- operands

    def bind(self, value: Value, number: Num) -> None:
        """Let a number stand for an IR value."""
        self._ids[value] = Num(self.c, value.dtype, number.id)

    def get(self, value: Value) -> Num:
        """What an IR value is in the module."""
        return self._ids[value]

    def all(self, values: Sequence[Value]) -> list[Num]:
        """What IR values are in the module, in order."""
        return [self._ids[v] for v in values]

    def number(self, value: Value) -> int | None:
        """An integer that is known when compiling."""
        return self._numbers.get(value)

    def know(self, value: Value, number: int) -> None:
        """Note which integer a value is, for those who ask `number`."""
        self._numbers[value] = number

    def index(self, value: Value) -> Num:
        """An integer value as i64; an unsigned one is not made negative."""
        return self.get(value).resize(i64)

    def extent(self, place: Place, axis: int) -> Num:
        """An extent as i64."""
        length = place.shape[axis]
        return self.c.const(length, i64) if length is not None else self.frame.extents[place.name, axis]

    # ---- ops

    @contextmanager
    def apart(self) -> Iterator[None]:
        """A scope for code that is written more than once: addresses computed in it are forgotten at its end."""
        checked, slots = dict(self.checked), dict(self.slots)
        yield
        self.checked, self.slots = checked, slots

    def region(self, region: Region) -> Sequence[Value]:
        """Emit the ops; gives what the terminator hands on."""
        outer, self.current = self.current, region
        for op in region.ops[:-1]:
            if op.regions:
                self.settle()
            self.op(op)
        self.settle()
        self.current = outer
        return region.terminator.operands

    def settle(self) -> None:
        """Emit the reports of the guards since the last time, in their order, behind one branch for all of them.

        A report in the branch of its own access would be code that is hardly ever run, and that keeps a driver from
        executing the access under a predicate. It must stand where every path behind the guards comes along: at the end
        of a region, and ahead of whatever branches or may end the thread.
        """
        waiting, self.unreported = self.unreported, []
        if not waiting:
            return

        def tell() -> None:
            for bad, report in waiting:
                self.c.when(bad, report)

        if len(waiting) == 1:
            tell()
        else:
            self.c.when(functools.reduce(operator.or_, [bad for bad, _ in waiting]), tell)

    def run(self, region: Region) -> list[Num]:
        """Emit the ops; gives the values that the terminator hands on."""
        return self.all(self.region(region))

    def op(self, op: Op) -> None:
        """Emit an op: its emitter is registered with `handles`."""
        if self.team is None or not self.team.is_part(op):
            HANDLERS[op.opdef](self, op)

    def combine(self, kind: str, dtype: DType, a: Num, b: Num) -> Num:
        """Two numbers combined as an atomic of that kind combines them, by the row of its name."""
        return emit(TABLE[kind], dtype, (a, b))
