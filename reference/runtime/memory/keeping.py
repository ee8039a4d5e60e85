"""Elements of a block as they were, saved in memory of its device."""

from __future__ import annotations

import math
from functools import lru_cache

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


@lru_cache(maxsize=4096)
def _span(shape: tuple[int, ...], box: Box) -> tuple[int, int]:
    """The flat position of the first element of a box, and how many there are from there to the last one."""
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    start, end = (sum(ends[k] * stride for ends, stride in zip(box, strides, strict=True)) for k in (0, 1))
    return start, end + 1 - start


def _fitting(spare: list[Block] | None, count: int) -> Block | None:
    """Spare memory for so many elements, which is taken out; None if there is none."""
    for k, one in enumerate(spare or ()):
        if one.shape[0] == count and one.alive:
            assert spare is not None
            return spare.pop(k)
    return None


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
    start, count = _span(block.shape, box)
    target = _fitting(spare, count) or Block(block.backend, block.dtype, (count,))
    with block.locked(), ordered(block.backend, (block,)):
        device.copy_at(block.handle(), start, target.handle(), count)
    return Kept(target, start, box, block.shape)
