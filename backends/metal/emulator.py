"""The host playing a device of Apple's, to see what kernels and launches mean where there is none.

Threads run one after another. It tells nothing about Apple's compiler, about the device's arithmetic, or about its
memory model.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adstack.backends.shared.buffers import Buffer, host_buffer
from adstack.backends.shared.jit import Library

from .toolchain import grid_name, host_library

__all__ = ["Emulator"]

_GRID: Final = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32)


@dataclass(frozen=True)
class _Kernel:
    """A function that runs all threads, and the code that it is part of."""

    library: Library
    run: object


class Emulator:
    """A `Driver`, see there."""

    name = "host"
    kind = "emulated"
    most = 24

    def allocate(self, size: int) -> Buffer:
        """See `Driver.allocate`."""
        return host_buffer(size)

    def load(self, text: str, names: Sequence[str], *, keep: bool) -> list[_Kernel]:
        """See `Driver.load`."""
        library = host_library(text, names, keep=keep)
        return [_Kernel(library, _GRID(library[grid_name(name)])) for name in names]

    def dispatch(self, pipeline: _Kernel, words: Buffer, threads: int) -> None:
        """See `Driver.dispatch`: it runs the threads before it returns."""
        pipeline.run(words.address, threads)  # type: ignore[operator]

    def finish(self) -> None:
        """Everything has finished."""
