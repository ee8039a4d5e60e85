"""Launches that machine code records: what it is told of a program, and what Python sees to when it can't go on."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_spirv.context import Context
from adstack.backends.hostcall.entry import Entry
from adstack.errors import InternalError
from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Scalar
from adstack.runtime.threads.interrupts import uninterrupted
from adstack.runtime.threads.processes import DeviceLock

from .bound import Binder
from .driver.pipeline import Pipeline
from .hostcode.counting import TASK, Counted
from .hostcode.extents import Extent, Read
from .hostcode.recorder import PLAN, enter, entry
from .hostcode.state import ARENA
from .stream import Stream, aligned

__all__ = ["Launcher", "Work"]

Array = npt.NDArray[Any]
_NEVER: Final = np.zeros(1, np.int64)
"""The report of programs that report nothing."""


@dataclass(frozen=True)
class Work:
    """What a launch of a program dispatches: a pipeline for each task, and how many iterations it has.

    Attributes:
        most: workgroups that a task gets.
        binder: tells what each task has to be bound, where memory is not reached by addresses.
    """

    program: Program
    context: Context
    pipelines: Sequence[Pipeline]
    extents: Sequence[Extent]
    most: int
    binder: Binder | None = None

    @property
    def is_plain(self) -> bool:
        """Whether launches differ in nothing but their arguments: none returns something, or has adstacks."""
        context = self.context
        return not (self.program.results or context.heaps or context.depths) and aligned(context.size) <= ARENA


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
        self._methods = lock.acquire, lock.release
        context = work.context
        self.marks = {name: context.words + k for k, name in enumerate(context.pointers)}
        frame = np.zeros(1 + context.words + len(self.marks), np.uint64)
        self._slots = frame[1:]
        self._slots[: context.words] = words
        self._counted = [
            Counted(pipeline, extent, self._slot, work.most)
            for pipeline, extent in zip(work.pipelines, work.extents, strict=True)
        ]
        rows = [counted.words for counted in self._counted]
        self._tasks = np.array(rows, np.uint64).reshape(-1, len(TASK))
        self._blocks = np.zeros(len(self.marks), np.uint64)
        self._plan = self._planned()
        frame[0] = self._plan.ctypes.data

    def _slot(self, read: Read) -> int:
        context = self._work.context
        return context.params[read] if isinstance(read, int) else context.extents[read]

    def _planned(self) -> Array:
        context, plan = self._work.context, np.zeros(len(PLAN), np.uint64)
        acquire, release = self._methods
        words = {
            "state": self._stream.state.place,
            "words": context.words,
            "size": aligned(context.size),
            "zeros": -(-context.size // 8) - context.words,
            "marks": len(self.marks),
            "blocks": 0 if self._work.binder is None else self._blocks.ctypes.data,
            "tasks": self._tasks.ctypes.data,
            "task_count": len(self._tasks),
            "acquire": id(acquire),
            "release": id(release),
            "false": id(False),
            "true": id(True),
        }
        for name, value in words.items():
            plan[PLAN[name]] = value
        return plan

    def entry(self, launches: int, *keep: object) -> Entry:
        """For calls that machine code serves.

        Args:
            launches: the address of the number of launches so far.
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
            goes_on=self.goes_on,
            keep=(self, *keep),
            marks=self.marks,
        )

    def goes_on(self, _: int) -> None:
        """Record the launch whose words stand ready, after what machine code does not do: wait for whoever has the
        lock, hand over a full batch and begin another, bind memory of other blocks than the last launch did.
        """
        with self._lock, uninterrupted():
            if self._work.binder is not None:
                self._bind(self._work.binder)
            self._stream.room(aligned(self._work.context.size))
            if enter()(self._slots.ctypes.data, 1):
                raise InternalError("a launch could not be recorded")

    def _bind(self, binder: Binder) -> None:
        """Have the tasks find the memory that is noted behind the launch's words."""
        numbers = [ctypes.c_uint64.from_address(int(self._slots[mark]) + 8).value for mark in self.marks.values()]
        sets = binder.sets(self._work.pipelines, dict(zip(self.marks, numbers, strict=True)))
        for row, (layout, chosen) in zip(self._tasks, sets, strict=True):
            row[TASK["layout"]], row[TASK["set"]] = layout, chosen
        self._blocks[:] = numbers

    @property
    def number(self) -> int:
        """Of the last launch, whoever recorded it."""
        return int(self._slots[self._work.context.own["launch"]])

    @number.setter
    def number(self, number: int) -> None:
        self._slots[self._work.context.own["launch"]] = number

    @property
    def number_word(self) -> int:
        """Where that stands."""
        return int(self._slots.ctypes.data) + 8 * self._work.context.own["launch"]

    def scalars(self) -> list[Scalar | None]:
        """Its scalar arguments; None for floats."""
        slots = self._slots
        return [
            None if dtype.is_float else slots[slot : slot + 1].view(dtype.numpy)[0].item()
            for slot, dtype in zip(self._work.context.params, self._work.program.params, strict=True)
        ]
