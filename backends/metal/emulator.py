"""The host playing a device of Apple's, to see what kernels and launches mean where there is none.

Threads run one after another, but for those of a threadgroup where they do something together, and none before somebody
waits for them: who looks too early sees what was there before.
It tells nothing about Apple's compiler, about the device's arithmetic, or about its memory model.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from adstack.backends.shared.buffers import Buffer, host_buffer
from adstack.backends.shared.jit import Library
from adstack.errors import InternalError
from adstack.runtime.threads.interrupts import let_interrupt

from .lanes import BROKEN_STACK
from .toolchain import grid_name, host_library

__all__ = ["Emulator"]

_GRID: Final = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)
_GROUP, _MOST = 40, 72
"""Threads of a threadgroup, those of a simdgroup and a part of another; threads of a dispatch, at most."""


@dataclass(frozen=True)
class _Kernel:
    """A function that runs all threads, and the code that it is part of."""

    library: Library
    run: Callable[[int, int, int], int]


@dataclass(frozen=True)
class _Dispatch:
    """A kernel, the address of the words that it is handed, and on how many threads it runs."""

    kernel: _Kernel
    words: int
    threads: int
    group: int

    def run(self) -> None:
        """Run all threads. InternalError if they do not stay together where they must."""
        line = self.kernel.run(self.words, self.threads, self.group)
        if line == BROKEN_STACK:
            raise InternalError("a thread needs more stack than the host gives it")
        if line:
            raise InternalError(f"threads are at different calls, one of them in line {line}")


class Emulator:
    """A `Driver`, see there.

    Args:
        group: threads of a threadgroup.
        most: threads of a dispatch, at most.
    """

    name = "host"
    kind = "emulated"

    def __init__(self, group: int = _GROUP, most: int = _MOST) -> None:
        self.most, self._group = most, group
        self._made: deque[_Dispatch] = deque()
        self._handed: deque[deque[_Dispatch]] = deque()

    def allocate(self, size: int) -> Buffer:
        """See `Driver.allocate`."""
        return host_buffer(size)

    def load(self, text: str, names: Sequence[str], *, keep: bool) -> list[_Kernel]:
        """See `Driver.load`."""
        library = host_library(text, names, keep=keep)
        return [_Kernel(library, _GRID(library[grid_name(name)])) for name in names]

    def dispatch(self, pipeline: _Kernel, words: Buffer, threads: int, group: int = 0) -> None:
        """See `Driver.dispatch`: nothing runs before `wait`."""
        self._made.append(_Dispatch(pipeline, words.address, threads, group or self._group))

    def commit(self) -> None:
        """See `Batching.commit`."""
        self._handed.append(self._made)
        self._made = deque()

    def wait(self, behind: int) -> None:
        """See `Batching.wait`: it runs them, each once, also where an interrupt comes between."""
        while len(self._handed) > behind:
            batch = self._handed[0]
            while batch:
                batch.popleft().run()
                let_interrupt()
            self._handed.popleft()

    def finish(self) -> None:
        """See `Driver.finish`."""
        self.commit()
        self.wait(0)
