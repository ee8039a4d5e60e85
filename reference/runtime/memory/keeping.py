"""Elements of a block as they were, saved in memory of its device."""

from __future__ import annotations

import math

import numpy as np

from ...analysis.boxes import Box, volume
from ..protocol.abilities import copying
from .blocks import Array, Block
from .streams import ordered

__all__ = ["Kept", "keep"]


class Kept:
    """Elements of a block as they were: from one to another, in memory of its device that goes with this object.

    Args:
        memory: the elements from the `start`th on, flat.
        start: the flat position of the first one in the block.
        box: which elements are meant.
        shape: the block's extents.
    """

    __slots__ = ("__weakref__", "_box", "_shape", "_start", "memory")

    def __init__(self, memory: Block, start: int, box: Box, shape: tuple[int, ...]) -> None:
        self.memory, self._start, self._box, self._shape = memory, start, box, shape

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return self.memory.taken

    def array(self) -> Array:
        """The elements, of the box's shape."""
        extents = tuple(high - low + 1 for low, high in self._box)
        strides = [math.prod(self._shape[axis + 1 :]) * self.memory.dtype.size for axis in range(len(self._shape))]
        return np.array(np.lib.stride_tricks.as_strided(self.memory.read(), extents, strides))


def keep(block: Block, box: Box, spare: list[Block] | None = None) -> Kept | Array:
    """A copy of the elements in a box, for later: made by the device, where the host would have to wait for it.

    Args:
        block: the memory.
        box: per axis the first and the last index, both inside.
        spare: memory of this device, of flat elements of this type, that may be used for it, and is then taken out.

    Returns:
        Memory of the device that holds the copy, or an array of the host in the shape of the box.

    Raises:
        AdstackMemoryError: the device has no memory for it.
        MemoryError: the host has none.
    """
    device = copying(block.backend)
    if device is None:
        return block.part(box)
    if volume(box) == 1:
        return np.full((1,) * len(box), block.item(tuple(low for low, _ in box)), block.dtype.numpy)
    start = block.flat(tuple(low for low, _ in box))
    end = block.flat(tuple(high for _, high in box)) + 1
    fitting = next((one for one in spare or () if one.shape == (end - start,) and one.alive), None)
    if fitting is not None and spare is not None:
        spare.remove(fitting)
    target = fitting or Block(block.backend, block.dtype, (end - start,))
    with block.locked(), ordered(block.backend, (block,)):
        device.copy_at(block.handle(), start, target.handle(), end - start)
    return Kept(target, start, box, block.shape)
