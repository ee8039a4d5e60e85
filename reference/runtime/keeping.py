"""Elements of a buffer as they were, kept in memory of its device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..analysis.boxes import Box

if TYPE_CHECKING:
    from .memory import Buffer

__all__ = ["Kept"]

Array = npt.NDArray[Any]


class Kept:
    """Elements of a buffer as they were: from one to another, in memory of its device that goes with this object.

    Args:
        memory: the elements from the `start`th on, flat.
        start: the flat position of the first one in the buffer.
        box: which elements are meant.
        shape: the buffer's extents.
    """

    __slots__ = ("__weakref__", "_box", "_shape", "_start", "memory")

    def __init__(self, memory: Buffer, start: int, box: Box, shape: tuple[int, ...]) -> None:
        self.memory, self._start, self._box, self._shape = memory, start, box, shape

    @property
    def nbytes(self) -> int:
        """What it takes."""
        return self.memory.taken

    def array(self) -> Array:
        """The elements, of the box's shape."""
        extents = tuple(high - low + 1 for low, high in self._box)
        strides = [math.prod(self._shape[axis + 1 :]) * self.memory.dtype.size for axis in range(len(self._shape))]
        return np.array(np.lib.stride_tricks.as_strided(self.memory.read(), extents, strides))
