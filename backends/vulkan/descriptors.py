"""Storage buffers bound for shaders, on devices whose memory is not reached by addresses.

What a shader calls a buffer is a whole block of memory, bound from its first byte; the words of a launch say how many
bytes further on something is. So a descriptor set depends on blocks alone: it is made when these blocks first meet in a
task, used again by every launch, and goes when one of the blocks does. Offsets of bindings are all zero, which suits
any device's minStorageBufferOffsetAlignment.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from .device import Device
from .driver.api import Handle, check, ffi
from .layout import Block

__all__ = ["Sets"]

_STORAGE_BUFFER: Final = 7
_COMPUTE_STAGE: Final = 0x20
_WHOLE: Final = 0xFFFFFFFFFFFFFFFF
_FIRST_POOL: Final = 16
"""Sets of the first pool for some number of buffers; each further one has twice as many."""


class Sets:
    """The descriptor sets of a device, by the blocks that they bind in this order."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._layouts: dict[int, Handle] = {}
        self._made: dict[tuple[Block, ...], int] = {}
        self._users: dict[Block, set[tuple[Block, ...]]] = {}
        self._spare: dict[int, list[int]] = {}
        self._pools: dict[int, int] = {}

    def of(self, blocks: tuple[Block, ...]) -> int:
        """The set that binds these blocks, its handle as a number."""
        descriptor_set = self._made.get(blocks)
        return self._make(blocks) if descriptor_set is None else descriptor_set

    def in_use(self) -> int:
        """How many sets bind blocks."""
        return len(self._made)

    def spare(self, count: int) -> int:
        """How many sets of so many buffers were made and bind nothing now."""
        return len(self._spare[count])

    def _make(self, blocks: tuple[Block, ...]) -> int:
        spare = self._spare.setdefault(len(blocks), [])
        if not spare:
            spare += self._grown(len(blocks))
        self._made[blocks] = number = spare.pop()
        self._write(number, blocks)
        for block in blocks:
            if block not in self._users:
                self._users[block] = set()
                block.ends.append(partial(self._forget, block))
            self._users[block].add(blocks)
        return number

    def _forget(self, gone: Block) -> None:
        """A block goes: the device is done with everything in it, and so with the sets that bind it."""
        for blocks in self._users.pop(gone):
            self._spare[len(blocks)].append(self._made.pop(blocks))
            for other in {*blocks} - {gone}:
                self._users[other].discard(blocks)

    def _grown(self, count: int) -> list[int]:
        """New sets of so many buffers, from a pool of their own."""
        vk, handle = self._device.vk, self._device.handle
        number = self._pools[count] = 2 * self._pools.get(count, _FIRST_POOL // 2)
        size = ffi().new("VkDescriptorPoolSize *", {"type": _STORAGE_BUFFER, "descriptorCount": number * count})
        info = ffi().new(
            "VkDescriptorPoolCreateInfo *", {"sType": 33, "maxSets": number, "poolSizeCount": 1, "pPoolSizes": size}
        )
        pool = ffi().new("VkDescriptorPool *")
        check(vk["vkCreateDescriptorPool"](handle, info, ffi().NULL, pool), "make a descriptor pool")
        layouts = ffi().new("VkDescriptorSetLayout[]", [self.layout(count)] * number)
        about = ffi().new(
            "VkDescriptorSetAllocateInfo *",
            {"sType": 34, "descriptorPool": pool[0], "descriptorSetCount": number, "pSetLayouts": layouts},
        )
        sets = ffi().new("VkDescriptorSet[]", number)
        check(vk["vkAllocateDescriptorSets"](handle, about, sets), "make descriptor sets")
        return [int(ffi().cast("uintptr_t", one)) for one in sets]

    def layout(self, count: int) -> Handle:
        """The layout of descriptor sets with so many buffers."""
        if count not in self._layouts:
            one = {"descriptorType": _STORAGE_BUFFER, "descriptorCount": 1, "stageFlags": _COMPUTE_STAGE}
            bindings = ffi().new("VkDescriptorSetLayoutBinding[]", [{"binding": k, **one} for k in range(count)])
            info = ffi().new(
                "VkDescriptorSetLayoutCreateInfo *", {"sType": 32, "bindingCount": count, "pBindings": bindings}
            )
            layout = ffi().new("VkDescriptorSetLayout *")
            create = self._device.vk["vkCreateDescriptorSetLayout"]
            check(create(self._device.handle, info, ffi().NULL, layout), "lay out a descriptor set")
            self._layouts[count] = layout[0]
        return self._layouts[count]

    def _write(self, descriptor_set: int, blocks: Sequence[Block]) -> None:
        infos = ffi().new("VkDescriptorBufferInfo[]", [(block.buffer, 0, _WHOLE) for block in blocks])
        write = {
            "sType": 35,
            "dstSet": ffi().cast("VkDescriptorSet", descriptor_set),
            "descriptorType": _STORAGE_BUFFER,
        }
        more = {"descriptorCount": len(blocks), "pBufferInfo": infos}
        writes = ffi().new("VkWriteDescriptorSet *", {**write, **more})
        self._device.vk["vkUpdateDescriptorSets"](self._device.handle, 1, writes, 0, ffi().NULL)
