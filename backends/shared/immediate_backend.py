"""A device whose memory is shared with the host, and whose launches have finished when they return, as a backend."""

from __future__ import annotations

import numpy as np

from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import Heap, TaskUse
from adstack.runtime.protocol.backend import Array, Bindings, Capabilities, Scalars
from adstack.runtime.threads.processes import DeviceLock

from .buffers import Piece, piece
from .immediate import Driver, Executable

__all__ = ["ImmediateBackend"]


class ImmediateBackend:
    """What every backend offers but for compiling and listing, and none of the optional parts.

    Args:
        capabilities: what the device can do.
        driver: of the device.
        name: of what only one thread at a time may use.

    Attributes:
        turn: held while the device is used.
    """

    def __init__(self, capabilities: Capabilities, driver: Driver, name: str) -> None:
        self.capabilities, self.driver, self.launches = capabilities, driver, 0
        self.turn = DeviceLock(name)
        self.heap = Heap(driver.allocate, lambda buffer: None)

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """See `Backend.launch`: the launch is over when this returns."""
        with self.turn:
            self.launches += 1
            executable.run(self.driver, self.launches, scalars, bindings)
            executable.report()
            return executable.results()

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """See `Backend.adstacks`."""
        return [use for _, use in sorted(executable.layouts.uses.items())]

    def synchronize(self) -> None:
        """Everything launched has finished, and what it reported has been raised."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Piece:
        """See `Backend.allocate`."""
        return piece(self.driver, dtype, shape)

    def adopt(self, array: Array) -> None:
        """See `Backend.adopt`: None, as a device addresses memory of the host in whole pages only."""

    def free(self, storage: Piece) -> None:
        """See `Backend.free`: memory goes with the last reference."""

    def address(self, storage: Piece) -> int:
        """See `Backend.address`."""
        return storage.address

    def host_view(self, storage: Piece) -> Array:
        """See `Backend.host_view`."""
        return storage.elements

    def download(self, storage: Piece) -> Array:
        """See `Backend.download`."""
        return np.array(storage.elements)

    def upload(self, storage: Piece, array: Array) -> None:
        """See `Backend.upload`."""
        storage.elements[...] = array
