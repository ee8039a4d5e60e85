"""Elements of a block as they were, saved in memory of its device."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ...analysis.boxes import Box, slices
from ..protocol.abilities import copying
from ..protocol.backend import Backend, Storage
from .blocks import Array, Block
from .streams import ordered

__all__ = ["Copies", "Kept", "keep"]


class Copies:
    """Copies of elements that a device makes together, all that a launch is about to overwrite: one by one, to queue
    them takes longer than to make them.

    Attributes:
        queued: whether the device makes them. Until then their targets hold nothing of use, whatever interrupts it.
    """

    __slots__ = ("_blocks", "_parts", "queued")

    def __init__(self) -> None:
        self.queued = False
        self._blocks: list[Block] = []
        self._parts: list[tuple[Storage, int, Storage, int]] = []

    def add(self, block: Block, start: int, target: Block, count: int) -> None:
        """Copy `count` elements of a block from the `start`th on to the beginning of a target."""
        self._blocks.append(block)
        self._parts.append((block.handle(), start, target.storage, count))

    def queue(self, backend: Backend) -> None:
        """Let the device make them, after what was queued before."""
        device = copying(backend) if self._parts else None
        if device is not None:
            with self._blocks[0].locked(), ordered(backend, self._blocks):
                device.copy_parts(self._parts)
        self.queued = True


class Kept:
    """Elements of a block as they were: from one to another, in memory of its device that goes with this object.

    Args:
        memory: the elements from the `start`th on, flat.
        start: the flat position of the first one in the block.
        box: which elements are meant.
        shape: the block's extents.
        copies: among which they are copied.

    Attributes:
        nbytes: bytes that it takes.
    """

    __slots__ = ("__weakref__", "_box", "_copies", "_shape", "_start", "memory", "nbytes")

    def __init__(self, memory: Block, start: int, box: Box, shape: tuple[int, ...], copies: Copies) -> None:
        self.memory, self._start, self._box, self._shape = memory, start, box, shape
        self._copies = copies
        self.nbytes = memory.shape[0] * memory.dtype.size

    @property
    def is_there(self) -> bool:
        """Whether they were copied."""
        return self._copies.queued

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
        if one.shape[0] == count and one.storage is not None:
            assert spare is not None
            return spare.pop(k)
    return None


def keep(block: Block, box: Box, spare: list[Block] | None = None, copies: Copies | None = None) -> Kept | Array:
    """A copy of the elements in a box, for later: made by the device, where the host would have to wait for it.

    Args:
        block: the memory.
        box: per axis the first and the last index, both inside.
        spare: memory of this device, of flat elements of this type, that may be used for it, and is then taken out.
        copies: which the device will make together before the elements change; None to have this one made at once.

    Returns:
        Memory of the device that holds the copy, or an array of the host in the shape of the box.

    Raises:
        AdstackMemoryError: the device has no memory for it.
        MemoryError: the host has none.
    """
    if copies is None and (block.backend.capabilities.direct or copying(block.backend) is None):
        view = block.view()
        if view is None or not box:
            return block.part(box)
        elements: Array = view[slices(box)].copy()
        return elements
    start, count = _span(block.shape, box)
    if count == 1:
        return np.full((1,) * len(box), block.item(tuple(low for low, _ in box)), block.dtype.numpy)
    target = _fitting(spare, count) or Block(block.backend, block.dtype, (count,))
    together = Copies() if copies is None else copies
    together.add(block, start, target, count)
    if copies is None:
        together.queue(block.backend)
    return Kept(target, start, box, block.shape, together)
