"""Launches kept while they run, and made again as one, with the words that they had: the host lays out nothing.

Sizers are no part of it: depths are computed ahead. Not kept are launches that return or print something, that check,
or that draw random numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adstack.ir.ops import RANDOM
from adstack.runtime.adstacks.heap import Heap, TaskUse
from adstack.runtime.protocol.backend import Array, Bindings, Scalars

from .buffers import words_of
from .immediate import Executable, Step
from .queueing import Queue
from .reports import check_room

__all__ = ["Graph", "Part", "Repeating"]


@dataclass
class Part:
    """One launch.

    Attributes:
        words: what it was handed.
        steps: its dispatches but for those of sizers.
        uses: where the adstacks of its tasks are; `threads`: for how many threads.
    """

    executable: Executable
    words: Array
    scalars: Scalars
    bindings: Bindings
    steps: list[Step]
    uses: dict[int, TaskUse]
    threads: dict[int, int]

    @classmethod
    def of(cls, executable: Executable, scalars: Scalars, bindings: Bindings, steps: Sequence[Step]) -> Part:
        """The launch that was just queued."""
        kept = [step for step in steps if not executable.program.tasks[step.number].sizes]
        layouts = executable.layouts
        stacks = [step.number for step in kept if layouts.has(step.number)]
        words = words_of(executable.words)[: executable.context.words].copy()
        words[[heap.taken for heap in executable.context.heaps.values()]] = 0  # which the device may have counted up
        uses, threads = {n: layouts.uses[n] for n in stacks}, {n: layouts.threads[n] for n in stacks}
        return cls(executable, words, scalars, bindings, kept, uses, threads)

    @property
    def is_plain(self) -> bool:
        """Whether it can be made again without a look at what it gives."""
        tasks = self.executable.program.tasks
        return not self.executable.waits and not any(op.opdef is RANDOM for task in tasks for op in task.body.walk())

    def queue(self, queue: Queue, steps: Sequence[Step], heap: Heap) -> None:
        """Queue such dispatches of the launch, with words of their own."""
        executable = self.executable
        words = queue.words(executable.context.size)
        try:
            executable.hand(words, self.words, heap.storage)
            for step in steps:
                executable.queue_on(queue, words, step)
        finally:
            queue.end(words, (executable, tuple(self.bindings.storages.values()), heap.storage))


class Graph:
    """Launches that can be made again.

    Attributes:
        parts: the launches.
        last: the last one of each program.
        bytes: what their adstacks take.
        limit: how much the heap may take.
    """

    def __init__(self, parts: Sequence[Part], limit: int) -> None:
        self.parts, self.limit = list(parts), limit
        self.last = {id(part.executable): part for part in parts}
        self.bytes = max((use.bytes for part in parts for use in part.uses.values()), default=0)


class _Kept(threading.local):
    """The launches of a thread, if any are wanted."""

    parts: list[Part] | None = None


class Repeating:
    """The graphs of a device.

    Args:
        queue: of the device.
        heap: for its adstacks.
    """

    def __init__(self, queue: Queue, heap: Heap) -> None:
        self._queue, self._heap, self._kept = queue, heap, _Kept()

    def note(self, executable: Executable, scalars: Scalars, bindings: Bindings, steps: Sequence[Step]) -> None:
        """Keep a launch that is queued, if this thread keeps its launches."""
        if self._kept.parts is not None:
            self._kept.parts.append(Part.of(executable, scalars, bindings, steps))

    def captured(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """See `Capturing.capture`."""
        parts: list[Part] = []
        self._kept.parts = parts
        try:
            run()
        finally:
            self._kept.parts = None
        same = [id(part.executable) for part in parts] == [id(one) for one in executables]
        if not same or not all(part.is_plain for part in parts):
            return None
        graph = Graph(parts, max((part.executable.layouts.limit for part in parts), default=0))
        return graph if graph.bytes <= self._heap.size else None

    def repeat(self, graph: Graph) -> bool:
        """Queue all launches of a graph; False if there is no memory for its adstacks."""
        if graph.bytes > self._heap.size and not self._heap.room(graph.bytes, 1, graph.limit):
            return False
        for part in graph.parts:
            part.queue(self._queue, part.steps, self._heap)
        return True

    def resize(self, part: Part) -> None:
        """See `Capturing.resize`: depths are computed from memory as it is."""
        executable = part.executable
        part.queue(self._queue, executable.sizers(part.scalars, part.bindings, self._queue.most), self._heap)
        executable.learn_depths(self._queue)
        executable.settled = False
        for number, use in part.uses.items():
            heap = executable.layouts.heap(number)
            placement = executable.layouts.place(number, executable.depths)
            lanes = heap.lanes(part.threads[number], executable.depths)
            check_room(executable.program.name, use, heap, placement.capacities, lanes)
