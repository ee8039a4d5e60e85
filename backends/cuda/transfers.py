"""What the host reads, writes, fills and copies of a device's memory, in order with launches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager

import numpy as np

from adstack.backends.hostcall import launching
from adstack.runtime.protocol.backend import Array

from .commands.lists import Commands
from .interface.driver import Driver
from .layout import DeviceArray

__all__ = ["Transfers"]


class Transfers(ABC):
    """The part of a backend that knows of memory, and nothing of launches but that they have their turn.

    Attributes:
        commands: queue copies.
    """

    commands: Commands

    @abstractmethod
    def _doing(self, what: str) -> AbstractContextManager[Driver]:
        """The driver, for one thread at a time; what goes wrong is told in the program's terms."""

    @abstractmethod
    def _settle(self, *, finished: bool) -> None:
        """Raise what launches have reported."""

    def is_by_page(self, storage: DeviceArray) -> bool:
        """See `Paging.is_by_page`."""
        return storage.by_page

    def gives_back(self, storage: DeviceArray) -> bool:
        """See `Paging.gives_back`: the driver has pages back with the whole memory alone."""
        return False

    def vacate(self, storage: DeviceArray, start: int, count: int) -> bool:
        """See `Paging.vacate`."""
        with self._doing("filling memory of the device") as driver:
            driver.zero(storage.address + start * storage.dtype.size, count * storage.dtype.size)
        return True

    def download(self, storage: DeviceArray) -> Array:
        return self._downloaded(storage.address, storage.empty())

    def download_at(self, storage: DeviceArray, start: int, count: int) -> Array:
        """See `Transferring.download_at`."""
        return self._downloaded(storage.address + start * storage.dtype.size, np.empty(count, storage.dtype.numpy))

    def _downloaded(self, address: int, array: Array) -> Array:
        """The array, with what is at an address."""
        with self._doing("reading memory of the device") as driver:
            driver.download(address, array)
            self._settle(finished=True)
        return array

    def is_in_use(self, storage: DeviceArray) -> bool:
        """See `Transferring.is_in_use`: the device writes its memory."""
        return True

    def upload_at(self, storage: DeviceArray, start: int, array: Array) -> None:
        """See `Transferring.upload_at`."""
        with self._doing("writing memory of the device") as driver:
            driver.upload(storage.address + start * storage.dtype.size, array)

    def fill(self, parts: Sequence[tuple[DeviceArray, bytes]]) -> bool:
        """See `Transferring.fill`."""
        with self._doing("filling memory of the device") as driver:
            for storage, element in parts:
                driver.fill(storage.address, storage.count, element)
        return True

    def copy(self, source: DeviceArray, target: DeviceArray) -> None:
        """See `Transferring.copy`."""
        self.copy_parts([(source, 0, target, source.count)])

    def copy_parts(self, parts: Sequence[tuple[DeviceArray, int, DeviceArray, int]]) -> None:
        """See `Transferring.copy_parts`: machine code queues them all."""
        with self._doing("copying memory of the device") as driver:
            moves = [(s.address + start * s.dtype.size, t.address, n * s.dtype.size) for s, start, t, n in parts if n]
            words = np.array([*self.commands.copier(), *(word for move in moves for word in move)], np.int64)
            driver.check(launching.entries().copy(words.ctypes.data, len(moves)))

    def upload(self, storage: DeviceArray, array: Array) -> None:
        """See `Backend.upload`."""
        with self._doing("writing memory of the device") as driver:
            driver.upload(storage.address, np.ascontiguousarray(array))
