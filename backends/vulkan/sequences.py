"""Sequences of calls on a Vulkan device: see `adstack.backends.hostcall.sequences`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.steps import Mover, Pairs, table
from adstack.errors import InternalError
from adstack.runtime.protocol.following import Bound, Move
from adstack.runtime.threads.interrupts import uninterrupted
from adstack.runtime.threads.processes import DeviceLock

from .driver.api import number
from .executable import Executable
from .hostcode.copies import COPY
from .hostcode.plan import lock_words
from .hostcode.recorder import copies
from .hostcode.state import LAUNCHES
from .layout import Piece
from .stream import Stream

__all__ = ["Recording"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Recording:
    """What sequences ask of a backend: a `hostcall.sequences.Device`.

    Attributes:
        stream, lock: where everything is recorded.
        entries: makes the entry of a program.
        together: see `Device.together`: everything is recorded in command buffers anyway.
    """

    stream: Stream
    lock: DeviceLock
    entries: Callable[[Executable], Entry | None]
    together: ClassVar[None] = None

    def entry(self, executable: Executable) -> Entry | None:
        """See `Device.entry` of `hostcall.sequences`."""
        return self.entries(executable)

    def mover(self, moves: Sequence[Move], words: Pairs | None = None) -> Mover:
        """See `Device.mover`: it records copies."""
        plan, methods = lock_words(self.stream.state.place, self.lock)
        rows = table([{"plan": plan.ctypes.data, **_row(move)} for move in moves], COPY)
        return Mover(copies(), rows, len(rows), partial(self._later, rows), (moves, plan, methods), words)

    def _later(self, rows: Rows, _: int) -> None:
        """Record copies where machine code could not: wait for whoever has the lock, and begin other batches."""
        stream, record = self.stream, _recorder()
        for at in range(0, len(rows), LAUNCHES):
            some = rows[at : at + LAUNCHES]
            with self.lock, uninterrupted():
                if stream.state.dispatches + len(some) > LAUNCHES:
                    stream.flush()
                stream.open()
                if record(some.ctypes.data, len(some)):
                    raise InternalError("copies could not be recorded")

    def address(self, storage: Piece) -> int:
        """See `Device.address`."""
        return storage.address

    def mark(self, storage: Piece) -> int:
        """See `Device.mark`."""
        return ctypes.addressof(storage.last)

    def prepare(self, executables: Sequence[Executable]) -> None:
        """See `Device.prepare`: nothing, as a launch is recorded with all its words."""

    def about(self, bound: Bound) -> None:
        """See `Device.about`: nothing, as the words of the last launch tell what a report is about."""


def _recorder() -> Callable[[int, int], int]:
    """`copies`, for Python to call: it keeps the interpreter's lock."""
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(copies())


def _row(move: Move) -> dict[str, int]:
    return {
        "source": number(move.source.block.buffer),
        "target": number(move.target.block.buffer),
        "source_mark": ctypes.addressof(move.source.last),
        "target_mark": ctypes.addressof(move.target.last),
        "start": move.source.offset + move.start,
        "to": move.target.offset + move.at,
        "size": move.nbytes,
    }
