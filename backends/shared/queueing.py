"""Launches that a device may not be done with: what they use stays until it is, and there are so many at most.

Dispatches run in the order in which they come. A device that takes batches is handed them when a batch is full or
somebody waits; any other is waited for after each launch.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from adstack.errors import AdstackError

from .buffers import Buffer
from .launch_memory import LaunchMemory

__all__ = ["Batching", "Driver", "Pipeline", "Queue"]

Pipeline: TypeAlias = Any
"""A kernel function that is ready to run: a handle that is only ever passed back to the driver."""

_LAUNCHES: Final = 128
"""Launches of a batch, at most."""
_BYTES: Final = 4 << 20
"""Bytes of the words of a batch's launches, about: what does not fit any more is in the next one."""
_BATCHES: Final = 4
"""Batches that may be under way."""


class Driver(Protocol):
    """A device whose dispatches have finished when `finish` returns.

    Attributes:
        name: of the device.
        kind: how it executes, see `protocol.backend.KINDS`.
        most: threads that a dispatch gets at most.
    """

    name: str
    kind: str
    most: int

    def allocate(self, size: int) -> Buffer:
        """So many zeroed bytes, `size`, which go with the last reference; AdstackMemoryError if there aren't any."""

    def dispatch(self, pipeline: Pipeline, words: Buffer, threads: int, group: int = 0) -> None:
        """Queue a kernel function, the `pipeline`, on so many threads at most, handed the `words` of a launch.

        Threads divide the iterations among themselves, however many there are. Where `group` is not 0, workgroups have
        that many threads each, and `threads` is a multiple of it.
        """

    def finish(self) -> None:
        """Wait until everything that was queued has finished."""


@runtime_checkable
class Batching(Driver, Protocol):
    """A device that is handed dispatches in batches, and that goes on while the host does."""

    def commit(self) -> None:
        """Hand over what was dispatched since the last time, as one batch."""

    def wait(self, behind: int) -> None:
        """Wait until all batches but the last ones, `behind` at most, have finished.

        AdstackRuntimeError if one of those waited for has failed, which is over, too.
        """


@dataclass
class _Batch:
    """Launches that end together.

    Attributes:
        words: what they were handed.
        bytes: how many these are.
        used: what else must stay for them.
        dispatches: how many there are.
    """

    words: list[Buffer] = field(default_factory=list)
    bytes: int = 0
    used: list[object] = field(default_factory=list)
    dispatches: int = 0


class Queue:
    """What a device has been handed and may not be done with: a `runtime.adstacks.heap.Clock`, whose numbers are those
    of batches.

    Args:
        driver: of the device.

    Attributes:
        most: threads that a dispatch gets at most.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver, self.most = driver, driver.most
        self._batching = driver if isinstance(driver, Batching) else None
        self._memory = LaunchMemory(driver)
        self._open = _Batch()
        self._under_way: deque[_Batch] = deque()
        self._handed = 0

    # ---- launches

    @property
    def waits(self) -> bool:
        """Whether each launch is waited for."""
        return self._batching is None

    def words(self, size: int) -> Buffer:
        """Memory of at least so many bytes for what a launch is handed: whatever it holds, nothing uses it."""
        return self._memory.take(size)

    def dispatch(self, pipeline: Pipeline, words: Buffer, threads: int, group: int = 0) -> None:
        """Queue a kernel function, see `Driver.dispatch`."""
        self._open.dispatches += 1
        self._driver.dispatch(pipeline, words, threads, group)

    def end(self, words: Buffer, used: object) -> None:
        """A launch has no more dispatches: its `words`, and what else it used, stay until these have finished."""
        batch = self._open if self._open.dispatches or not self._under_way else self._under_way[-1]
        batch.words.append(words)
        batch.used.append(used)
        batch.bytes += words.bytes.size
        if not self.busy:
            self._release(batch)
        elif self._batching is None:
            self.finish()
        elif len(batch.words) >= _LAUNCHES or batch.bytes >= _BYTES:
            self.flush()

    # ---- batches

    @property
    def busy(self) -> bool:
        """Whether something may be under way."""
        return bool(self._open.dispatches or self._under_way)

    def submitted(self) -> int:
        """See `Clock.submitted`: the batch that is being made counts, if there is anything in it."""
        return self._handed + bool(self._open.dispatches)

    def finished(self) -> int:
        """See `Clock.finished`."""
        return self._handed - len(self._under_way)

    def flush(self) -> None:
        """Hand over the batch that is being made; wait if too many are under way."""
        if self._open.dispatches:
            batch, self._open = self._open, _Batch()
            self._under_way.append(batch)
            self._handed += 1
            if self._batching is not None:
                self._batching.commit()
            self._wait(_BATCHES)

    def wait(self, number: int) -> None:
        """See `Clock.wait`."""
        if number > self._handed:
            self.flush()
        self._wait(max(0, self._handed - number))

    def finish(self) -> None:
        """Wait for everything. AdstackRuntimeError if something has failed; it is over all the same."""
        self.wait(self.submitted())

    def _wait(self, behind: int) -> None:
        """Wait for all batches but so many; an interrupted wait leaves them under way."""
        if len(self._under_way) <= behind:
            return
        try:
            if self._batching is None:
                self._driver.finish()
            else:
                self._batching.wait(behind)
        except AdstackError:
            self._over(behind)
            raise
        self._over(behind)

    def _over(self, behind: int) -> None:
        """All batches but so many have finished."""
        while len(self._under_way) > behind:
            self._release(self._under_way.popleft())

    def _release(self, batch: _Batch) -> None:
        """Have back what the launches of a batch used."""
        for words in batch.words:
            self._memory.give(words)
        batch.words.clear()
        batch.used.clear()
        batch.bytes = 0
