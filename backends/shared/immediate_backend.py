"""A device whose memory is shared with the host as a backend: launches are queued, and the host waits when it looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from adstack.errors import AdstackMemoryError
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import Heap, TaskUse
from adstack.runtime.protocol.backend import Array, Bindings, Capabilities, Scalars
from adstack.runtime.threads.interrupts import uninterrupted
from adstack.runtime.threads.processes import DeviceLock

from .buffers import Piece, piece
from .immediate import Executable
from .queueing import Driver, Queue
from .repeating import Graph, Repeating

__all__ = ["ImmediateBackend"]

_MOST_FRESH: Final = 64 << 20
"""Bytes that are allocated before launches under way, which keep what Python has dropped since, are waited for."""


class ImmediateBackend:
    """What every backend offers but for compiling and listing; it keeps launches and makes them again (`Capturing`).

    Args:
        capabilities: what the device can do.
        driver: of the device.
        name: of what only one thread at a time may use.

    Attributes:
        turn: held while the device is used.
        queue: what is under way.
    """

    def __init__(self, capabilities: Capabilities, driver: Driver, name: str) -> None:
        self.capabilities, self.driver, self.launches = capabilities, driver, 0
        self.turn, self.queue = DeviceLock(name), Queue(driver)
        self.heap = Heap(driver.allocate, lambda buffer: None, self.queue)
        self._repeating = Repeating(self.queue, self.heap)
        self._unread: dict[int, Executable] = {}
        self._fresh = 0

    # ---- launching

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """See `Backend.launch`: it is over when this returns if it has something to say, or the device no batches."""
        with self.turn, uninterrupted():
            if executable.repeated and executable.record is not None:
                self._settle()  # what a graph's launch reported is told apart
            self.launches += 1
            words = self.queue.words(executable.context.size)
            self._watch(executable)
            try:
                steps = executable.run(self.queue, words, self.launches, scalars, bindings)
                self._repeating.note(executable, scalars, bindings, steps)
                if executable.waits or self.queue.waits:
                    self._see(executable)
                return executable.results()
            finally:
                self.queue.end(words, (executable, tuple(bindings.storages.values())))

    def _watch(self, executable: Executable) -> None:
        """Look at what a program has reported when somebody waits."""
        if executable.record is not None:
            self._unread[id(executable)] = executable

    def _see(self, executable: Executable) -> None:
        """Wait for a launch; what was printed before a check failed is seen as well."""
        try:
            self._settle()
        finally:
            executable.show()

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """See `Backend.adstacks`."""
        return [use for _, use in sorted(executable.layouts.uses.items())]

    def synchronize(self) -> None:
        """See `Backend.synchronize`."""
        with self.turn:
            self._settle()

    def _settle(self) -> None:
        """Wait for everything, and raise the first thing that went wrong in it, once."""
        self._finish()
        if self._unread:
            with uninterrupted():
                launched = list(self._unread.values())
                self._unread.clear()
                for error in [error for one in launched if (error := one.failure()) is not None]:
                    raise error

    def _finish(self) -> None:
        """Wait for everything."""
        self.queue.finish()
        self._fresh = 0

    # ---- graphs

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """See `Capturing.capture`."""
        return self._repeating.captured(run, executables)

    def repeat(self, graph: Graph) -> bool:
        """See `Capturing.repeat`."""
        with self.turn, uninterrupted():
            if not self._repeating.repeat(graph):
                return False
            self.launches += len(graph.parts)
            for part in graph.last.values():
                part.executable.repeated, part.executable.shapes = True, part.bindings.shapes
                self._watch(part.executable)
            if self.queue.waits:
                self._settle()
            return True

    def resize(self, graph: Graph, number: int) -> None:
        """See `Capturing.resize`."""
        with self.turn, uninterrupted():
            self._repeating.resize(graph.parts[number])

    # ---- memory

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Piece:
        """See `Backend.allocate`."""
        with self.turn:
            if self._fresh > _MOST_FRESH:
                self._finish()
            try:
                made = piece(self.driver, dtype, shape)
            except AdstackMemoryError:
                self._finish()
                made = piece(self.driver, dtype, shape)
            self._fresh += made.elements.nbytes
            return made

    def adopt(self, array: Array) -> None:
        """See `Backend.adopt`: None, as a device addresses memory of the host in whole pages only."""

    def free(self, storage: Piece) -> None:
        """See `Backend.free`: memory goes with the last reference, and launches under way have one."""

    def address(self, storage: Piece) -> int:
        """See `Backend.address`."""
        return storage.address

    def host_view(self, storage: Piece) -> Array:
        """See `Backend.host_view`."""
        self.synchronize()
        return storage.elements

    def download(self, storage: Piece) -> Array:
        """See `Backend.download`."""
        return np.array(self.host_view(storage))

    def upload(self, storage: Piece, array: Array) -> None:
        """See `Backend.upload`."""
        self.host_view(storage)[...] = array
