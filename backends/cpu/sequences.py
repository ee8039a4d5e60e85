"""Sequences of calls on the host's processor: see `adstack.backends.hostcall.sequences`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.run import MOVE
from adstack.backends.hostcall.steps import Mover, Pairs, table
from adstack.errors import InternalError
from adstack.runtime.protocol.following import Bound, Move

from .executable import Executable
from .pool import pool

__all__ = ["Processor"]

Array = npt.NDArray[np.generic]
_NO_MARK: Final = 0


@dataclass(frozen=True)
class Processor:
    """What sequences ask of a backend: a `hostcall.sequences.Device`.

    Attributes:
        entries: makes the entry of a program.
        together: see `Device.together`: each is done before the next one comes.
    """

    entries: Callable[[Executable], Entry]
    together: ClassVar[None] = None

    def entry(self, executable: Executable) -> Entry:
        """A program as machine code launches it."""
        return self.entries(executable)

    def mover(self, moves: Sequence[Move], words: Pairs | None = None) -> Mover:
        """What copies memory."""
        rows = table([_row(move) for move in moves], MOVE)
        return Mover(launching.mover(), rows, len(rows), _unmoved, moves, words)

    def address(self, storage: Array) -> int:
        """Where memory is."""
        address: int = storage.ctypes.data
        return address

    def mark(self, storage: Array) -> int:
        """Launches need not note what they use."""
        return _NO_MARK

    def prepare(self, executables: Sequence[Executable]) -> None:
        """Their contexts will not be what Python's launches have left; and a forked process has no threads yet."""
        for executable in executables:
            executable.bound = None
        for threads in {one.options.cpu_max_num_threads for one in executables if one.is_parallel}:
            pool().start(threads)

    def about(self, bound: Bound) -> None:
        """What is reported from now on is about this launch."""
        bound.executable.shapes = bound.bindings.shapes


def _row(move: Move) -> dict[str, int]:
    return {
        "source": move.source.ctypes.data + move.start,
        "target": move.target.ctypes.data + move.at,
        "bytes": move.nbytes,
    }


def _unmoved(code: int) -> None:
    raise InternalError(f"memory could not be copied ({code})")
