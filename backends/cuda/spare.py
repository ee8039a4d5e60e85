"""Small pieces of the device's memory that nobody needs any more, kept for who asks for as much next.

The driver takes 0.1 ms to hand memory out or to take it back, as it waits for all that the device does: for an array
that is copied for one launch that is most of what the launch takes. What this process queues runs in one order, so a
piece may serve again at once, whatever queued work still uses it. Streams of others are in no such order: memory whose
address somebody else may know is not kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

__all__ = ["Spare"]

_LARGEST: Final = 1 << 20
"""Bytes of the largest piece that is kept: what more takes to be copied hides what the driver takes."""
_MOST: Final = 8 << 20
"""Bytes of all pieces together."""


class Spare:
    """The pieces, by their size.

    Args:
        free: gives the memory at an address back to the driver.
    """

    def __init__(self, free: Callable[[int], object]) -> None:
        self._free = free
        self._pieces: defaultdict[int, list[int]] = defaultdict(list)
        self._size = 0

    def take(self, size: int) -> int | None:
        """The address of a piece of so many bytes, as it is; None if there is none."""
        pieces = self._pieces.get(size)
        if not pieces:
            return None
        self._size -= size
        return pieces.pop()

    def keep(self, address: int, size: int) -> bool:
        """Keep a piece of `size` bytes, if it is small and there is room for it; False if it is not kept."""
        if not 0 < size <= _LARGEST or self._size + size > _MOST:
            return False
        self._pieces[size].append(address)
        self._size += size
        return True

    def drop(self) -> None:
        """Give all pieces back."""
        while self._pieces:
            size, pieces = self._pieces.popitem()
            while pieces:
                self._size -= size
                self._free(pieces.pop())
