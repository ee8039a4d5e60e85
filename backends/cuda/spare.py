"""Small pieces of the device's memory that nobody needs any more, kept for who asks for as much next.

The driver takes 0.1 ms to hand memory out or to take it back, as it waits for all that the device does: for an array
that is copied for one launch that is most of what the launch takes. What this process queues runs in one order, so a
piece may serve again at once, whatever queued work still uses it. Streams of others are in no such order: memory whose
address somebody else may know is not kept.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from .driver import Driver
from .driver_error import OUT_OF_MEMORY, DriverError

__all__ = ["Spare"]

_LARGEST: Final = 1 << 20
"""Bytes of the largest piece that is kept: what more takes to be copied hides what the driver takes."""
_MOST: Final = 8 << 20
"""Bytes of all pieces together."""


class Spare:
    """The device's memory: that of the driver, and small pieces that are kept, by their size.

    Args:
        driver: of the device; whoever calls has entered it.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._pieces: defaultdict[int, list[int]] = defaultdict(list)
        self._size = 0

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        """The address of `size` bytes; where the driver has no more, what is kept goes back first."""
        if pieces := self._pieces.get(size):
            self._size -= size
            address = pieces.pop()
            if zeroed:
                self._driver.zero(address, size)
            return address
        try:
            return self._driver.allocate(size, zeroed=zeroed)
        except DriverError as error:
            if error.code != OUT_OF_MEMORY:
                raise
            self.drop()
            return self._driver.allocate(size, zeroed=zeroed)

    def free(self, address: int, size: int, *, is_exposed: bool = False) -> None:
        """Take a piece back: it is kept if it is small, there is room for it, and nobody else may know its address."""
        if is_exposed or not 0 < size <= _LARGEST or self._size + size > _MOST:
            self._driver.free(address)
            return
        self._pieces[size].append(address)
        self._size += size

    def drop(self) -> None:
        """Give all pieces back to the driver."""
        while self._pieces:
            size, pieces = self._pieces.popitem()
            while pieces:
                self._size -= size
                self._driver.free(pieces.pop())
