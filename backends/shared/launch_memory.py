"""Memory for what launches are handed: pieces of a few sizes, which are used again once a launch is over."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from .buffers import Buffer, Memory

__all__ = ["LaunchMemory"]

_LEAST: Final = 256
"""Bytes of the smallest piece, and what pieces are aligned to."""
_BLOCK: Final = 64 << 10
"""Bytes of a block that is cut into pieces. What is larger goes with its launch."""


class LaunchMemory:
    """Pieces of blocks of a device's memory.

    Args:
        memory: where blocks come from.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._blocks: list[Buffer] = []
        self._free: defaultdict[int, list[Buffer]] = defaultdict(list)

    def take(self, size: int) -> Buffer:
        """At least so many bytes, `size`, that nothing else uses; AdstackMemoryError if there aren't any."""
        if size > _BLOCK:
            return self._memory.allocate(-(-size // 8) * 8)
        rounded = max(_LEAST, 1 << (size - 1).bit_length())
        free = self._free[rounded]
        if not free:
            block = self._memory.allocate(_BLOCK)
            self._blocks.append(block)
            free += [block.part(at, rounded) for at in range(0, _BLOCK, rounded)]
        return free.pop()

    def give(self, piece: Buffer) -> None:
        """A piece is not used any more."""
        size = piece.bytes.size
        if size in self._free:
            self._free[size].append(piece)
