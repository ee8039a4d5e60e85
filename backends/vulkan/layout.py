"""Memory of the device: blocks taken from Vulkan, and pieces of them.

A piece is known by its address on the device, or by its block and how far in that it begins. Where the device's own
memory is mapped to the host too (every driver that runs on the processor, integrated GPUs, and discrete ones that show
all of theirs), the host addresses all pieces; how it reads and writes them, `transfers` says. A piece that was given
back is used again only once the device is done with it.
"""

from __future__ import annotations

import bisect
import ctypes
import functools
import itertools
import math
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np

from adstack.errors import AdstackError, AdstackMemoryError
from adstack.ir.types import Array, DType
from adstack.runtime.protocol import host_pages
from adstack.runtime.threads.interrupts import uninterrupted

from .device import Device
from .driver.api import Handle, check, ffi, lib, number
from .pages import Pages, imported, importing, plain

__all__ = ["ALIGNMENT", "Block", "Memory", "Piece", "mapped"]

ALIGNMENT = 256
"""The alignment of every piece, in bytes."""
_BLOCK = 16 << 20
"""Bytes of a block, unless one piece needs more."""
_DEVICE, _VISIBLE, _COHERENT, _CACHED = 1, 2, 4, 8
_Kind = Literal["device", "visible", "staging"]
_MOST_BYTES = 2**62
_USAGE, _ADDRESSED = 1 | 2 | 0x20, 0x20000
"""Copied from and to, storage."""

_NOWHERE: Final = (0, 2**64 - 1)
"""What stands in the place of an address where there is none: NULL, and MAP_FAILED of mmap()."""
_TWO: Handle = ctypes.c_uint64 * 2
_ABOVE = 1 << 32
"""Where memory is bound, shaders look at the lower half of an address, and others take 0 for no memory."""


@dataclass(eq=False)
class Block:
    """A buffer with memory of its own.

    Attributes:
        buffer, memory: Vulkan's.
        size: bytes.
        address: on the device; where memory is not reached by addresses, a number of which the lower half is 0.
        host: its bytes, if the host addresses them.
        free: (offset, size) of what is not in use, by offset.
        ends: what is to be done when it goes.
        number: no other block has had it.
        cached: whether the host's caches keep its bytes, so that it reads them as quickly as any.
        by_page: whether it is memory of this process, of one piece, that was 0 before that was written.
    """

    buffer: Handle
    memory: Handle
    size: int
    address: int
    host: Handle
    free: list[tuple[int, int]] = field(default_factory=list)
    ends: list[Callable[[], None]] = field(default_factory=list)
    number: int = field(default_factory=itertools.count(1).__next__)
    cached: bool = False
    by_page: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in use."""
        return self.free == [(0, self.size)]

    def take(self, size: int) -> int | None:
        """The offset of a piece of `size` bytes, or None if there is none so large."""
        for k, (offset, room) in enumerate(self.free):
            if room >= size:
                self.free[k : k + 1] = [(offset + size, room - size)] if room > size else []
                return offset
        return None

    def give(self, offset: int, size: int) -> None:
        """Take a piece, `size` bytes from an offset on, back, and join it with what is free beside it."""
        at = bisect.bisect_left(self.free, (offset, 0))
        self.free.insert(at, (offset, size))
        for k in (at, at - 1):
            if 0 <= k < len(self.free) - 1 and sum(self.free[k]) == self.free[k + 1][0]:
                (start, one), (_, other) = self.free[k : k + 2]
                self.free[k : k + 2] = [(start, one + other)]


@dataclass(eq=False)
class Piece:
    """Part of a block: what a field or an array occupies.

    Attributes:
        address: on the device; where memory is not reached by addresses, its lower half says where in the block.
        own: whether it holds the words of one launch alone.
        last: where machine code finds it, the number of the last batch that may touch it, and behind that the block's.
    """

    block: Block
    offset: int
    size: int
    dtype: DType
    shape: tuple[int, ...]
    address: int
    own: bool = False
    last: Handle = field(init=False)

    def __post_init__(self) -> None:
        self.last = _TWO(0, self.block.number)

    @property
    def batch(self) -> int:
        """The last batch that may touch it."""
        return int(self.last[0])

    @batch.setter
    def batch(self, number: int) -> None:
        self.last[0] = number

    @property
    def bytes(self) -> int:
        """What the elements take, without what the end is rounded up by."""
        return math.prod(self.shape) * self.dtype.size

    def view(self) -> Array | None:
        """The elements themselves, if the host addresses them."""
        if self.block.host is None:
            return None
        flat = np.frombuffer(self.block.host, self.dtype.numpy, math.prod(self.shape), self.offset)
        return flat.reshape(self.shape)


def mapped(piece: Piece) -> Array:
    """The elements of a piece that the host addresses."""
    view = piece.view()
    assert view is not None
    return view


class Memory:
    """The blocks of a device.

    Attributes:
        device: whose.
        taken: bytes taken from Vulkan.
        used: bytes in pieces.
        waiting: bytes of those that were given back, and that the device may still use.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.taken = self.used = self.waiting = 0
        self._types, self._heaps = _properties(device.physical.handle)
        self._blocks: dict[_Kind, list[Block]] = {"device": [], "visible": [], "staging": []}
        self.mapped = self._is_mapped()

    def _is_mapped(self) -> bool:
        """Whether the host addresses most of the device's own memory."""
        largest = max(size for size, _ in self._heaps)
        both = [heap for flags, heap in self._types if flags & _DEVICE and flags & _VISIBLE and flags & _COHERENT]
        return any(self._heaps[heap][0] >= largest for heap in both)

    # ---- pieces

    def piece(self, dtype: DType, shape: tuple[int, ...], *, visible: bool = False, staging: bool = False) -> Piece:
        """Memory for so many elements; for `visible`, where the host addresses it; for `staging`, where the host is
        quick to read it, too, if there is such. What it holds is not defined.
        """
        size = max(-(-math.prod(shape) * dtype.size // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
        kind: _Kind = "staging" if staging else "visible" if visible or self.mapped else "device"
        with uninterrupted():
            for block, offset in self._room(size, kind):
                self.used += size
                return Piece(block, offset, size, dtype, shape, block.address + offset)
        raise AdstackMemoryError(f"no memory for {dtype} of shape {shape}")

    def _room(self, size: int, kind: _Kind) -> Iterator[tuple[Block, int]]:
        blocks = self._blocks[kind]
        for block in blocks:
            offset = block.take(size)
            if offset is not None:
                yield block, offset
                return
        block = self.take_block(max(size, _BLOCK), kind)
        blocks.append(block)
        offset = block.take(size)
        assert offset is not None
        yield block, offset

    def free(self, piece: Piece) -> None:
        """Give a piece back once the device is done with it."""
        self.waiting += piece.size
        self.device.later(piece.batch, lambda: self._freed(piece))

    def _freed(self, piece: Piece) -> None:
        block = piece.block
        self.used -= piece.size
        self.waiting -= piece.size
        block.give(piece.offset, piece.size)
        if block.is_empty and (block.size > _BLOCK or self._has_spare(block)):
            self.drop_block(block)

    def _has_spare(self, block: Block) -> bool:
        """Whether another block of its kind is empty: one is kept, so that memory that comes and goes costs nothing."""
        (beside,) = (blocks for blocks in self._blocks.values() if any(block is one for one in blocks))
        return any(one.is_empty and one.size == _BLOCK for one in beside if one is not block)

    # ---- blocks

    def block(self, number: int) -> Block:
        """The block with a number."""
        return next(block for blocks in self._blocks.values() for block in blocks if block.number == number)

    def take_block(self, size: int, kind: _Kind, *, imports: bool = True) -> Block:
        """Memory of the driver, `size` bytes of a kind, which may be imported; AdstackMemoryError if there is none."""
        if size > _MOST_BYTES:
            raise self._full(size)  # the driver would be handed what is left of it in 64 bits
        vk, handle = self.device.vk, self.device.handle
        usage = _USAGE | (_ADDRESSED if self.device.physical.addresses else 0)
        pages = self._pages(size) if imports else None
        info, _external = (plain if pages is None else importing)(usage, size)
        buffer = ffi().new("VkBuffer *")
        self._checked(vk["vkCreateBuffer"](handle, info, ffi().NULL, buffer), size)
        needs = ffi().new("VkMemoryRequirements *")
        vk["vkGetBufferMemoryRequirements"](handle, buffer[0], needs)
        memory, flags = self._allocated(needs, kind) if pages is None else self._imported(pages, needs)
        if memory is None:
            vk["vkDestroyBuffer"](handle, buffer[0], ffi().NULL)
            if pages is not None:
                return self.take_block(size, kind, imports=False)
            raise self._full(size)
        try:
            check(vk["vkBindBufferMemory"](handle, buffer[0], memory, 0), "bind memory")
            host = pages or (None if kind == "device" else self._map(memory, size))
        except AdstackError:
            vk["vkDestroyBuffer"](handle, buffer[0], ffi().NULL)
            vk["vkFreeMemory"](handle, memory, ffi().NULL)
            raise
        self.taken += size
        address, is_cached = self._address(buffer[0]), bool(flags & _CACHED)
        return Block(buffer[0], memory, size, address, host, [(0, size)], cached=is_cached, by_page=pages is not None)

    def _pages(self, size: int) -> Pages | None:
        """Memory of this process for a block that one piece has for itself, if the driver takes such."""
        if not self.device.imports or size <= _BLOCK or size > max(size for size, _ in self._heaps):
            return None
        try:
            return host_pages.mapped(size)
        except MemoryError:
            raise self._full(size) from None

    def _imported(self, pages: Pages, needs: Handle) -> tuple[Handle | None, int]:
        """These pages as memory of the driver, which the processor reads as any other."""
        addressed = 2 if self.device.physical.addresses else 0
        return imported(self.device, pages, addressed, needs.memoryTypeBits), _CACHED

    def _address(self, buffer: Handle) -> int:
        if not self.device.physical.addresses:
            return _ABOVE
        about = ffi().new("VkBufferDeviceAddressInfo *", {"sType": 1000244001, "buffer": buffer})
        return int(self.device.vk["vkGetBufferDeviceAddress"](self.device.handle, about))

    def _map(self, memory: Handle, size: int) -> Handle:
        """The bytes of memory as the host addresses them; AdstackMemoryError where it has no addresses left."""
        where = ffi().new("void **")
        check(self.device.vk["vkMapMemory"](self.device.handle, memory, 0, 0xFFFFFFFFFFFFFFFF, 0, where), "map memory")
        if number(where[0]) in _NOWHERE:  # a driver may hand on what mmap() gave it, and report success
            raise AdstackMemoryError(
                f"{size} bytes on {self.device.physical.name} can't be mapped to addresses of this process",
                do="use a smaller shape or a narrower type, or raise the limits of the process (ulimit -v)",
            )
        return ffi().buffer(where[0], size)

    def _allocated(self, needs: Handle, kind: _Kind) -> tuple[Handle | None, int]:
        """Memory of the best type there is, and that type's flags; None if there is not enough of any."""
        addressed = 2 if self.device.physical.addresses else 0
        about = ffi().new("VkMemoryAllocateFlagsInfo *", {"sType": 1000060000, "flags": addressed})
        for index in self._fitting(needs.memoryTypeBits, kind):
            flags, heap = self._types[index]
            if needs.size > self._heaps[heap][0]:
                continue
            info = ffi().new(
                "VkMemoryAllocateInfo *",
                {"sType": 5, "pNext": about, "allocationSize": needs.size, "memoryTypeIndex": index},
            )
            memory = ffi().new("VkDeviceMemory *")
            if self.device.vk["vkAllocateMemory"](self.device.handle, info, ffi().NULL, memory) >= 0:
                return memory[0], flags
        return None, 0

    def _fitting(self, allowed: int, kind: _Kind) -> list[int]:
        """Numbers of memory types, the device's own first; for staging, those that the host's caches keep."""
        wanted = _DEVICE if kind == "device" else _VISIBLE | _COHERENT
        fitting = [k for k, (flags, _) in enumerate(self._types) if allowed >> k & 1 and flags & wanted == wanted]
        first, second = (_CACHED, 0) if kind == "staging" else (_DEVICE, _CACHED)
        return sorted(fitting, key=lambda k: (not self._types[k][0] & first, not self._types[k][0] & second))

    def _checked(self, result: int, size: int) -> None:
        if result < 0:
            raise self._full(size)

    def _full(self, size: int) -> AdstackMemoryError:
        largest = max(size for size, _ in self._heaps)
        return AdstackMemoryError(
            f"no memory for {size} bytes on {self.device.physical.name}: {self.used} of {largest} bytes are in use",
            do="use a smaller shape or a narrower type, or reset() to free what is no longer needed",
        )

    def drop_block(self, block: Block) -> None:
        """Give a block back to the driver, as soon as no array of numpy looks at it."""
        vk, handle = self.device.vk, self.device.handle
        for end in block.ends:
            end()
        for blocks in self._blocks.values():
            if any(block is other for other in blocks):
                blocks[:] = [other for other in blocks if other is not block]
        vk["vkDestroyBuffer"](handle, block.buffer, ffi().NULL)
        self.taken -= block.size
        # arrays of numpy over the memory may be in use by a thread that did not know: it stays as long as they do
        host, block.host = block.host, None
        freed = functools.partial(vk["vkFreeMemory"], handle, block.memory, ffi().NULL)
        if host is None:
            freed()
        else:
            weakref.finalize(host, freed).atexit = False


def _properties(handle: object) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Memory types (flags, heap) and heaps (size, flags)."""
    properties = ffi().new("VkPhysicalDeviceMemoryProperties *")
    lib().vkGetPhysicalDeviceMemoryProperties(handle, properties)
    types = [(t.propertyFlags, t.heapIndex) for t in properties.memoryTypes[0 : properties.memoryTypeCount]]
    return types, [(h.size, h.flags) for h in properties.memoryHeaps[0 : properties.memoryHeapCount]]
