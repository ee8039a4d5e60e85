"""The memory of adstacks on one device: how it grows, when old memory goes, and how few lanes do where it is short.

    needed more than there is    max(needed, twice what was there), or else exactly what is needed
    refused                      old memory goes as soon as nothing uses it, then once more; then half as many blocks,
                                 and so on: a dispatch runs in waves
    not even one block           `Heap.room` gives 0, and the backend raises `HeapLimit`

Memory is given out in blocks: the lanes that a backend can't run apart from each other (one vector of the cpu, one
lane of a gpu). What an adstack held in one task is of no use to the next, so nothing is ever copied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from ...errors import AdstackMemoryError, SourceSpan
from ...ir.ops import PLACE_WRITES
from ...ir.structure import Program, Task
from .budget import current
from .layout import TaskHeap
from .stats import count

__all__ = [
    "UNCOUNTABLE",
    "Clock",
    "Figures",
    "Heap",
    "HeapLimit",
    "Storage",
    "Synchronous",
    "TaskUse",
    "known",
    "least",
    "sized_ahead",
    "touched",
    "uncountable",
]

Storage: TypeAlias = Any
"""A backend's own handle of memory. The runtime does not look into it, and gives it to that backend alone."""

UNCOUNTABLE: Final = 2**63 - 1
"""A depth that is not less than this is too large to count."""


class Clock(Protocol):
    """How far a device is with what was dispatched to it."""

    def submitted(self) -> int:
        """The number of the last dispatch: they count up."""

    def finished(self) -> int:
        """The number up to which all dispatches have finished."""

    def wait(self, number: int) -> None:
        """Wait until the dispatches up to the one of that `number` have finished."""


class Synchronous:
    """The clock of a device whose dispatches have finished when they return."""

    def submitted(self) -> int:
        """See `Clock.submitted`."""
        return 0

    def finished(self) -> int:
        """See `Clock.finished`."""
        return 0

    def wait(self, number: int) -> None:
        """See `Clock.wait`: there is nothing to wait for."""


@dataclass
class Figures:
    """What a heap has done, in bytes and times.

    Attributes:
        needed: by the last task that asked.
        most: the most that a task has asked for.
        allocated: what there is now, old memory that dispatches may still use included.
        grown: how often it grew.
        refused: how often the device had not so much memory.
        waves: how often a task got fewer blocks than it asked for.
    """

    needed: int = 0
    most: int = 0
    allocated: int = 0
    grown: int = 0
    refused: int = 0
    waves: int = 0


@dataclass(frozen=True)
class TaskUse:
    """The heap of a task as it was laid out last.

    Attributes:
        task: its name.
        capacities: of its groups of stacks.
        stride: bytes of one lane.
        lanes: side by side in a block.
        blocks: at the same time.
        bytes: of all blocks.
        wanted: blocks that there would be with more memory.
    """

    task: str
    capacities: tuple[int, ...]
    stride: int
    lanes: int
    blocks: int
    bytes: int
    wanted: int


class HeapLimit(AdstackMemoryError):  # noqa: N818 - it says what happened; others may still make it work
    """The adstacks of a single thread don't fit: the kernel can't run with stacks so deep.

    Attributes:
        kernel, task: what can't run.
        number: the task's position in its program.
        stride: bytes that one lane needs.
        limit: bytes that there may be; 0 if it is the device that has no more.
        most: bytes that the device can make one heap of, though it has more; 0 for no such limit.
        touched: whether tasks before it have changed memory in this launch.
        launch: which launch of a graph it was, if it was one; those after it have not begun.
    """

    launch: int | None = None

    def __init__(
        self,
        kernel: str,
        task: str,
        stride: int,
        limit: int = 0,
        *,
        most: int = 0,
        number: int = 0,
        touched: bool = False,
        loc: SourceSpan | None = None,
    ) -> None:
        self.kernel, self.task, self.number = kernel, task, number
        self.stride, self.touched = stride, touched
        self.limit, self.most = least(current().heap_limit(limit), most), most
        self._asked = limit
        there, _ = self._reason(stride)
        super().__init__(f"{kernel}: the adstacks of one thread of {task} take {stride} bytes; {there}", loc=loc)
        self.would_do(stride)

    def __reduce__(self) -> tuple[object, ...]:
        """In another process it is an AdstackMemoryError that says the same."""
        return AdstackMemoryError, (self.message,), {"message": self.message, "loc": self.loc, "do": self.do}

    def would_do(self, stride: int) -> None:
        """Say what to do where so many bytes of a lane are enough."""
        self.do = f"{self._reason(stride)[1]}, or run fewer iterations of the loop inside the thread per launch"

    def _reason(self, stride: int) -> tuple[str, str]:
        """What is too small, and what to do about it, if a lane needs so many bytes."""
        if not self.limit:
            return "the device does not have so much memory left", "free memory"
        if self.limit == self.most:
            return f"the device binds at most {self.most} as one buffer", "use one that has bufferDeviceAddress"
        if self.limit != self._asked:
            return f"device_memory_GB leaves {self.limit} for them", "raise device_memory_GB, or make less data"
        return f"ad_stack_heap_limit is {self._asked}", f"raise ad_stack_heap_limit to {stride} or more"


# Programs know it as what it derives from: that is the name that tracebacks show.
HeapLimit.__name__ = HeapLimit.__qualname__ = AdstackMemoryError.__name__
HeapLimit.__module__ = AdstackMemoryError.__module__


def least(*limits: int) -> int:
    """What several limits come to, of which 0 is none."""
    return min((limit for limit in limits if limit), default=0)


def uncountable(kernel: str, task: str, loc: SourceSpan | None) -> AdstackMemoryError:
    """The error for adstacks that are deeper than any memory.

    Args:
        kernel: what the kernel is called in messages.
        task: the task whose threads have them.
        loc: where they are pushed to.
    """
    return AdstackMemoryError(
        f"{kernel}: the adstacks of one thread of {task} would be more than {UNCOUNTABLE} deep",
        loc=loc,
        do="check the bounds of the loops that this one stands in: their trip counts multiply",
    )


def known(program: Program, heaps: Mapping[int, TaskHeap], number: int) -> list[int]:
    """The tasks whose adstacks have their final depths before a launch comes to them.

    Args:
        program: the program with its sizers.
        heaps: by the number of a task, how its adstacks are laid out; tasks without adstacks are not in it.
        number: the task that the launch has come to.

    Returns:
        Numbers of tasks with adstacks, `number` or later, whose depths no sizer from there on computes.
    """
    computed = {depth for task in program.tasks[number:] for depth in task.sizes}
    return [
        later
        for later, heap in heaps.items()
        if later >= number and computed.isdisjoint(group.depth for group in heap.groups)
    ]


def sized_ahead(program: Program) -> int:
    """How many tasks, the first ones of a program, are sizers: then depths are looked at before anything changes."""
    return next((number for number, task in enumerate(program.tasks) if not task.sizes), len(program.tasks))


def touched(tasks: Iterable[Task]) -> bool:
    """Whether these tasks have changed memory that outlives the launch."""
    writes = (op.attrs["place"] for task in tasks for op in task.body.walk() if op.opdef in PLACE_WRITES)
    return any(place.kind in ("field", "ndarray") for place in writes)


class Heap:
    """The adstack heap of one device.

    Args:
        allocate: so many bytes of the device; a MemoryError if there aren't any.
        free: give such memory back; nothing uses it any more.
        clock: how far the device is.

    Attributes:
        storage: the memory there is, as `allocate` gave it, or None.
        size: its bytes.
        version: a word that counts up when it is other memory, for machine code to compare.
        figures: what has happened.
    """

    def __init__(
        self, allocate: Callable[[int], Storage], free: Callable[[Storage], object], clock: Clock | None = None
    ) -> None:
        self._allocate, self._free = allocate, free
        self._clock: Clock = clock or Synchronous()
        self._old: list[tuple[int, Storage, int]] = []
        self.storage: Storage = None
        self.size = 0
        self.version = ctypes.c_int64(0)
        self.figures = Figures()

    def room(self, block: int, blocks: int, limit: int = 0) -> int:
        """Have memory for `blocks` blocks of `block` bytes, within a limit of bytes (0 for none).

        Gives for how many there is memory: at least one, or 0 if that can't be had.
        """
        self.collect()
        current().heaps.add(self)
        limit = current().heap_limit(limit)
        figures, need = self.figures, block * blocks
        figures.needed, figures.most = need, max(figures.most, need)
        allowed = min(blocks, limit // block) if limit and block else blocks
        granted = allowed if block * allowed <= self.size else self._grow(block, allowed, limit)
        figures.waves += granted < blocks
        count("heap_waves", int(granted < blocks))
        return granted

    @property
    def taken(self) -> int:
        """Bytes of the device's memory."""
        return self.figures.allocated

    def collect(self) -> None:
        """Give back old memory that no dispatch uses any more."""
        done = self._clock.finished()
        while self._old and self._old[0][0] <= done:
            _, storage, size = self._old.pop(0)
            self._give(storage, size)

    def drop(self) -> None:
        """Give everything back, once everything has finished."""
        self._retire()
        self._clock.wait(self._clock.submitted())
        for _, storage, size in self._old:
            self._give(storage, size)
        self._old.clear()

    def _grow(self, block: int, blocks: int, limit: int) -> int:
        need, before = block * blocks, self.size
        ample = max(need, 2 * before)
        if limit:
            ample = min(ample, limit)
        self._make_way(ample, limit)
        if any(self._take(size) for size in dict.fromkeys((ample, need))):
            return blocks
        self.drop()  # what is there stands in the way
        while blocks and not self._take(block * blocks):
            kept = before // block
            blocks = kept if blocks // 2 < kept < blocks else blocks // 2
        return blocks

    def _make_way(self, size: int, limit: int) -> None:
        """Let go of the memory there is: at once, if the device has finished or the limit leaves no room for both."""
        self._retire()
        self.collect()
        if len(self._old) > 1 or (limit and size + self.figures.allocated > limit):
            self.drop()

    def _retire(self) -> None:
        """From now on the memory is old: it goes when the dispatches so far have finished."""
        if self.storage is not None:
            self._old.append((self._clock.submitted(), self.storage, self.size))
        self.storage, self.size = None, 0
        self.version.value += 1

    def _take(self, size: int) -> bool:
        try:
            self.storage = self._allocate(size)
        except MemoryError:
            if current().relieve():
                return self._take(size)
            self.figures.refused += 1
            count("heap_refusals")
            return False
        self.size = size
        self.version.value += 1
        self.figures.allocated += size
        self.figures.grown += 1
        count("heap_growths")
        return True

    def _give(self, storage: Storage, size: int) -> None:
        self.figures.allocated -= size
        self._free(storage)
