"""Memory of a device, which the host addresses as well."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adstack.ir.types import DType
from adstack.runtime.protocol.backend import Array

from .driver import Buffer, Driver

__all__ = ["Piece", "piece", "words_of"]


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


def piece(driver: Driver, dtype: DType, shape: tuple[int, ...]) -> Piece:
    """Zeroed memory for elements of a type, in a shape; AdstackMemoryError if there isn't enough."""
    size = math.prod(shape) * dtype.size
    buffer = driver.allocate(max(size, 1))
    return Piece(buffer, buffer.bytes[:size].view(dtype.numpy).reshape(shape))


def words_of(buffer: Buffer) -> Array:
    """Memory as words of 64 bits."""
    return buffer.bytes.view(np.uint64)
