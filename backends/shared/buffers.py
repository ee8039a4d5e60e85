"""Memory of a device, which the host addresses as well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from adstack.errors import AdstackMemoryError
from adstack.ir.types import DType
from adstack.runtime.protocol.backend import Array

from .memory_left import memory_left

__all__ = ["Buffer", "Memory", "Piece", "host_buffer", "piece", "words_of"]

_ALIGNMENT: Final = 256


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory that the host and the device share.

    Attributes:
        address: where kernels find it.
        bytes: the host's view of it (u8), which keeps it alive.
        handle: what the driver knows it by.
        offset: where it begins in what has that handle, in bytes.
    """

    address: int
    bytes: npt.NDArray[np.uint8]
    handle: object = None
    offset: int = 0

    def part(self, at: int, size: int) -> Buffer:
        """The `size` bytes from the one `at` on."""
        return Buffer(self.address + at, self.bytes[at : at + size], self.handle, self.offset + at)


class Memory(Protocol):
    """What hands out such memory."""

    def allocate(self, size: int) -> Buffer:
        """So many zeroed bytes, `size`, which go with the last reference; AdstackMemoryError if there aren't any."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Elements of one type in C order.

    Attributes:
        elements: the host's view of them.
    """

    buffer: Buffer
    elements: Array

    @property
    def address(self) -> int:
        """Where kernels find them."""
        return self.buffer.address


def piece(memory: Memory, dtype: DType, shape: tuple[int, ...]) -> Piece:
    """Zeroed memory for elements of a type, in a shape; AdstackMemoryError if there isn't enough."""
    size = math.prod(shape) * dtype.size
    buffer = memory.allocate(max(size, 1))
    return Piece(buffer, buffer.bytes[:size].view(dtype.numpy).reshape(shape))


def words_of(buffer: Buffer) -> Array:
    """Memory as words of 64 bits."""
    return buffer.bytes.view(np.uint64)


def host_buffer(size: int) -> Buffer:
    """Memory of the host, for one that plays a device; see `Memory.allocate`."""
    left = memory_left()
    if left is not None and size > left:
        raise AdstackMemoryError(f"no memory for {size} bytes: {left} are left")
    try:
        memory = np.zeros(size + _ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:
        raise AdstackMemoryError(f"no memory for {size} bytes: {error}") from error
    start = -memory.ctypes.data % _ALIGNMENT
    return Buffer(memory.ctypes.data + start, memory[start : start + size])
