"""Launches that machine code records: what it is told of a program, and what Python sees to when it can't go on."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adstack.backends.hostcall.entry import Entry
from adstack.backends.shared.extents import Extent, Read
from adstack.backends.shared.launch_words import Context
from adstack.backends.shared.layouts import Layouts
from adstack.errors import InternalError
from adstack.ir.structure import Program
from adstack.ir.types import Array
from adstack.runtime.protocol.backend import Bindings, Scalar
from adstack.runtime.threads.interrupts import uninterrupted
from adstack.runtime.threads.processes import DeviceLock

from .bound import Binder
from .driver.pipeline import Pipeline
from .hostcode.counting import NEVER, TASK, Counted, countable
from .hostcode.plan import PLAN, lock_words
from .hostcode.recorder import UNREADY, enter, entry
from .hostcode.state import ARENA
from .stream import Stream, aligned

__all__ = ["Launcher", "Work"]

_NEVER: Final = np.zeros(1, np.int64)
"""The report of programs that report nothing."""


@dataclass(frozen=True)
class Work:
    """What a launch of a program dispatches: a pipeline for each task, and how many iterations it has.

    Attributes:
        most: workgroups that a task gets.
        repeated: a word that is 0 unless a graph made the last launch.
        heap: the version of the heap of adstacks: see `Heap`.
        depths: the word that says whose depths of adstacks stand: see `hostcall.record`.
        binder: tells what each task has to be bound, where memory is not reached by addresses.
    """

    program: Program
    context: Context
    pipelines: Sequence[Pipeline]
    extents: Sequence[Extent]
    most: int
    repeated: ctypes.c_int64
    heap: ctypes.c_int64
    depths: ctypes.c_int64
    binder: Binder | None = None

    @property
    def is_plain(self) -> bool:
        """Whether machine code can record launches: none returns something, or has the heap bound for its adstacks."""
        context = self.context
        bound = self.binder is not None and (context.heaps or context.depths)
        return not (self.program.results or bound) and aligned(context.size) <= ARENA

    @property
    def sizes(self) -> bool:
        """Whether it computes depths of adstacks."""
        return any(task.sizes for task in self.program.tasks)


@dataclass
class Noted:
    """Memory that a launch works on, as far as its words tell.

    Attributes:
        address: on the device.
        mark: where the number of the last batch that uses it is noted.
    """

    address: int
    mark: int

    @property
    def batch(self) -> int:
        """That number."""
        return ctypes.c_uint64.from_address(self.mark).value

    @batch.setter
    def batch(self, number: int) -> None:
        ctypes.c_uint64.from_address(self.mark).value = number


class Launcher:
    """One program's words and plan, as `recorder` reads them.

    Args:
        work: of the program, which `is_plain`.
        words: of its last launch.
        stream: what it is recorded on.
        lock: the stream's.
    """

    def __init__(self, work: Work, words: Sequence[int], stream: Stream, lock: DeviceLock) -> None:
        self._work, self._stream = work, stream
        self._lock = lock
        context = work.context
        self.marks = {name: context.words + k for k, name in enumerate(context.pointers)}
        frame = np.zeros(1 + context.words + len(self.marks) + 1, np.uint64)
        self._slots, self._sized = frame[1:], frame[-1:]
        self._slots[: context.words] = words
        self._counted = [
            Counted(pipeline, extent, self._slot, work.most)
            for pipeline, extent in zip(work.pipelines, work.extents, strict=True)
        ]
        rows = [counted.words for counted in self._counted]
        self._tasks = np.array(rows, np.uint64).reshape(-1, len(TASK))
        for number, (row, task) in enumerate(zip(self._tasks, work.program.tasks, strict=True)):
            row[TASK["sizes"]], row[TASK["stacks"]] = bool(task.sizes), number in context.heaps
        self._blocks = np.zeros(len(self.marks), np.uint64)
        self._plan = self._planned()
        frame[0] = self._plan.ctypes.data

    def _slot(self, read: Read) -> int:
        context = self._work.context
        return context.params[read] if isinstance(read, int) else context.extents[read]

    def _planned(self) -> Array:
        context, (plan, self._methods) = self._work.context, lock_words(self._stream.state.place, self._lock)
        words = {
            "words": context.words,
            "size": aligned(context.size),
            "zeros": -(-context.size // 8) - context.words,
            "marks": len(self.marks),
            "blocks": 0 if self._work.binder is None else self._blocks.ctypes.data,
            "tasks": self._tasks.ctypes.data,
            "task_count": len(self._tasks),
            "repeated": ctypes.addressof(self._work.repeated),
            "sized": self._sized.ctypes.data if self._work.sizes else 0,
            "heap": ctypes.addressof(self._work.heap) if context.heaps else 0,
        }
        for name, value in words.items():
            plan[PLAN[name]] = value
        return plan

    def entry(self, launches: int, goes_on: Callable[[int], object], *keep: object) -> Entry:
        """For calls that machine code serves.

        Args:
            launches: the address of the number of launches so far.
            goes_on: makes the launch whose words stand ready, where machine code can't.
            keep: what must live as long as such calls may come.
        """
        return Entry(
            program=self._work.program,
            context=self._work.context,
            run=entry(),
            slots=self._slots.ctypes.data,
            errors=_NEVER.ctypes.data,
            overflow=_NEVER.ctypes.data,
            launches=launches,
            results={},
            long=False,
            failed=lambda: None,
            goes_on=goes_on,
            keep=(self, *keep),
            marks=self.marks,
            depths=ctypes.addressof(self._work.depths) if self._work.sizes else 0,
            sized=self._sized.ctypes.data,
        )

    def record(self) -> bool:
        """Record the launch whose words stand ready, after what machine code does not do: wait for whoever has the
        lock, hand over a full batch and begin another, bind memory of other blocks than the last launch did.

        Gives False, and has recorded nothing, if depths have to be computed, or adstacks to be laid out.
        """
        with self._lock, uninterrupted():
            if self._work.binder is not None:
                self._bind(self._work.binder)
            self._stream.room(aligned(self._work.context.size))
            code = enter()(self._slots.ctypes.data, 1)
            if code not in (0, UNREADY):
                raise InternalError("a launch could not be recorded")
            return code == 0

    def _bind(self, binder: Binder) -> None:
        """Have the tasks find the memory that is noted behind the launch's words."""
        numbers = [ctypes.c_uint64.from_address(int(self._slots[mark]) + 8).value for mark in self.marks.values()]
        sets = binder.sets(self._work.pipelines, dict(zip(self.marks, numbers, strict=True)))
        for row, (layout, chosen) in zip(self._tasks, sets, strict=True):
            row[TASK["layout"]], row[TASK["set"]] = layout, chosen
        self._blocks[:] = numbers

    @property
    def number(self) -> int:
        """The number of the last launch, whoever recorded it."""
        return int(self._slots[self._work.context.own["launch"]])

    @number.setter
    def number(self, number: int) -> None:
        self._slots[self._work.context.own["launch"]] = number

    @property
    def number_word(self) -> int:
        """Where that stands."""
        return int(self._slots.ctypes.data) + 8 * self._work.context.own["launch"]

    def scalars(self) -> list[Scalar]:
        """Its scalar arguments."""
        slots = self._slots
        return [
            slots[slot : slot + 1].view(dtype.numpy)[0].item()
            for slot, dtype in zip(self._work.context.params, self._work.program.params, strict=True)
        ]

    def integers(self) -> list[Scalar | None]:
        """The scalar arguments as `scalars` gives them, with None for floats."""
        pairs = zip(self.scalars(), self._work.program.params, strict=True)
        return [None if dtype.is_float else value for value, dtype in pairs]

    def bindings(self) -> Bindings:
        """The memory that it works on, and whether the depths of its adstacks stand."""
        storages = {
            name: Noted(int(self._slots[self._work.context.pointers[name]]), int(self._slots[mark]))
            for name, mark in self.marks.items()
        }
        return Bindings(storages, self.shapes(), bool(self._sized[0]))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The extents of its places."""
        slots, extents = self._slots, self._work.context.extents
        return {
            place.name: tuple(
                int(slots[extents[place.name, axis]]) if extent is None else extent
                for axis, extent in enumerate(place.shape)
            )
            for place in self._work.program.places.values()
            if place.name in self._work.context.pointers
        }

    def take(self, words: Sequence[int]) -> None:
        """Take over the arguments of a launch that Python has made since.

        Its number is here already, and need not be among its words: these stand for all launches with its arguments.
        """
        number = self.number
        self._slots[: self._work.context.words] = words
        self.number = number

    def lay_out(self, layouts: Layouts, words: Sequence[int], depths: Sequence[int]) -> None:
        """Take over where adstacks are, from the words of a launch that Python has made with these arguments."""
        scalars, shapes = self.scalars(), self.shapes()
        for number, heap in self._work.context.heaps.items():
            row, extent = self._tasks[number], self._work.extents[number]
            iterations = extent.count(scalars, shapes)
            threads = self._work.pipelines[number].threads(iterations, self._work.most)
            self._slots[heap.address : heap.end] = words[heap.address : heap.end]
            stands = layouts.stands(number, threads, depths)
            row[TASK["covered"]] = countable(extent, iterations) if stands else NEVER
            row[TASK["heap"]] = self._work.heap.value
