"""The host playing an AMD device, to see what machine code and launches mean where there is none.

Waves run one after another. What only the real device can tell, its memory model above all, is not to be seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adstack.backends.rdna.machine import Code, Start
from adstack.backends.rdna.processors import PROCESSORS
from adstack.backends.shared.buffers import Buffer, host_buffer
from adstack.backends.shared.elf import Object
from adstack.errors import InternalError

from .layout import Descriptor, Kernel, kernels_of
from .threads import ARENA, ARENA_BYTES, MOST_THREADS

__all__ = ["Emulator", "started"]

_MORE: Final = 8
"""Threads of a workgroup besides those of a wave: a part of another."""
_EXACT: Final = 0xF0
"""Of the modes for floats: to the nearest, and subnormal numbers stay."""


@dataclass(frozen=True)
class _Pipeline:
    """A kernel, the code that it is part of, and the address of the code's arena, if it has one."""

    code: Code
    kernel: Kernel
    arena: int | None


def started(descriptor: Descriptor) -> Start:
    """How waves of a kernel start. InternalError if its arithmetic is not that of the specification."""
    if descriptor.registers[0] >> 12 & 0xFF != _EXACT:
        raise InternalError("a kernel rounds to something else than the nearest, or flushes subnormal numbers")
    sizes = descriptor.private_bytes, descriptor.group_bytes
    return Start(descriptor.entry, *sizes, descriptor.registers[1], descriptor.properties)


class Emulator:
    """A `Driver` of `shared.immediate`.

    Args:
        name: of a processor.
        group: threads of a workgroup, 256 at most; those of a wave and a part of another where that is not told.
    """

    kind = "emulated"

    def __init__(self, name: str, group: int | None = None) -> None:
        self.name = self.processor = name
        self._group = PROCESSORS[name].lanes + _MORE if group is None else group
        self.most = 2 * self._group
        self._arena: Buffer | None = None

    def allocate(self, size: int) -> Buffer:
        """See `Driver.allocate`."""
        return host_buffer(size)

    def load(self, image: bytes, names: Sequence[str]) -> list[_Pipeline]:
        """The kernels of a code object; InternalError if it has instructions that are not known."""
        code, kernels = Code(image), kernels_of(image)
        at = next((symbol.value for symbol in Object(image).symbols if symbol.name == ARENA), None)
        return [_Pipeline(code, kernels[name], at) for name in names]

    def dispatch(self, pipeline: _Pipeline, words: Buffer, threads: int, group: int = 0) -> None:
        """See `Driver.dispatch`: it runs the threads before it returns."""
        code, descriptor = pipeline.code, pipeline.kernel.descriptor
        if pipeline.arena is not None:
            if self._arena is None:
                self._arena = host_buffer(ARENA_BYTES)
            bounds = code.bytes[pipeline.arena : pipeline.arena + 16].view(np.uint64)
            bounds[:] = self._arena.address, self._arena.address + ARENA_BYTES
        if not group:
            group = self._group if threads % self._group == 0 or threads > MOST_THREADS else threads
        code.dispatch(started(descriptor), words.address, threads // group, group)

    def finish(self) -> None:
        """Everything has finished."""
