"""Sequences of calls on a CUDA device: see `adstack.backends.hostcall.sequences`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import numpy as np

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.run import MOVE
from adstack.backends.hostcall.steps import Mover, Pairs, table
from adstack.runtime.protocol.following import Bound, Move

from .commands.lists import CommandList, Commands
from .executable import Executable
from .interface.driver import Driver
from .layout import DeviceArray

__all__ = ["Queue"]

_COPYING: Final = "copying memory of the device"
_QUEUEING: Final = "queueing kernels"


@dataclass(frozen=True)
class Queue:
    """What sequences ask of a backend: a `hostcall.sequences.Device`.

    Attributes:
        doing: lets one thread use the device, for something that errors tell of.
        entries: makes the entry of a program.
        commands: what stands between programs and the driver.
    """

    doing: Callable[[str], AbstractContextManager[Driver]]
    entries: Callable[[Executable], Entry | None]
    commands: Commands

    def entry(self, executable: Executable) -> Entry | None:
        """See `Device.entry` of `hostcall.sequences`."""
        return self.entries(executable)

    def mover(self, moves: Sequence[Move], words: Pairs | None = None) -> Mover:
        """See `Device.mover`: it queues copies."""
        copies = table([_row(move) for move in moves], MOVE)
        with self.doing(_COPYING):
            rows = np.concatenate([np.array(self.commands.copier(), np.int64), copies.reshape(-1)])
        return Mover(launching.copier(), rows, len(moves), self._failed, moves, words)

    def _failed(self, code: int) -> None:
        """Raise what a copy gave."""
        with self.doing(_COPYING) as driver:
            driver.check(code)

    def address(self, storage: DeviceArray) -> int:
        """See `Device.address`."""
        return storage.address

    def mark(self, storage: DeviceArray) -> int:
        """See `Device.mark`: 0, as launches need not note what they use."""
        return 0

    def prepare(self, executables: Sequence[Executable]) -> None:
        """See `Device.prepare`: nothing, as a launch takes all its words with it."""

    def together(self, executables: Sequence[Executable], moves: int, *, paced: bool) -> CommandList:
        """See `Device.together`: as CUDA graphs, once it is known what comes."""
        return CommandList(self.commands, self._do, executables, moves, paced=paced)

    def _do(self, work: Callable[[Driver], int]) -> None:
        """Do work on the device; raise the error that the code stands for which it gives."""
        with self.doing(_QUEUEING) as driver:
            driver.check(work(driver))

    def about(self, bound: Bound) -> None:
        """See `Device.about`."""
        bound.executable.shapes = bound.bindings.shapes


def _row(move: Move) -> dict[str, int]:
    return {
        "source": move.source.address + move.start,
        "target": move.target.address + move.at,
        "bytes": move.nbytes,
    }
