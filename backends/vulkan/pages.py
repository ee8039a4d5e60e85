"""Memory of this process that a driver uses as its own, where the device is the processor: taken by the page.

The system promises that such memory is 0, and takes a page for it only when the page is first written, and has it back
when it is told so. What a driver allocates need not be 0, so that all of it is written before it is used. Devices of
their own would lock all pages into the host's memory: they allocate theirs.
"""

from __future__ import annotations

import mmap

from .device import Device
from .driver.api import Handle, check, ffi

__all__ = ["Pages", "imported", "importing", "plain"]

Pages = mmap.mmap
_OF_HOST = 0x80
"""VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT"""


def plain(usage: int, size: int) -> tuple[Handle, Handle]:
    """What to make a buffer of the driver's own memory by."""
    info = ffi().new("VkBufferCreateInfo *", {"sType": 12, "size": size, "usage": usage})
    return info, None


def importing(usage: int, size: int) -> tuple[Handle, Handle]:
    """What to make a buffer of imported memory by, and what that refers to, which must live as long."""
    external = ffi().new("VkExternalMemoryBufferCreateInfo *", {"sType": 1000072000, "handleTypes": _OF_HOST})
    info = ffi().new("VkBufferCreateInfo *", {"sType": 12, "pNext": external, "size": size, "usage": usage})
    return info, external


def imported(device: Device, pages: Pages, addressed: int, allowed: int) -> Handle | None:
    """Pages as memory of the driver; None if it can't take them.

    Args:
        device: for which.
        pages: stay where they are until the memory is freed.
        addressed: what VkMemoryAllocateFlagsInfo is told.
        allowed: the types of memory that will do, as bits.
    """
    null, start = ffi().NULL, ffi().from_buffer(pages)
    about = ffi().new("VkMemoryHostPointerPropertiesEXT *", {"sType": 1000178001})
    check(device.vk["vkGetMemoryHostPointerPropertiesEXT"](device.handle, _OF_HOST, start, about), "ask for memory")
    fitting = about.memoryTypeBits & allowed
    if not fitting:
        return None
    import_info = ffi().new(
        "VkImportMemoryHostPointerInfoEXT *",
        {"sType": 1000178000, "handleType": _OF_HOST, "pHostPointer": start},
    )
    flags = ffi().new("VkMemoryAllocateFlagsInfo *", {"sType": 1000060000, "pNext": import_info, "flags": addressed})
    index = (fitting & -fitting).bit_length() - 1
    info = ffi().new(
        "VkMemoryAllocateInfo *",
        {"sType": 5, "pNext": flags, "allocationSize": len(pages), "memoryTypeIndex": index},
    )
    memory = ffi().new("VkDeviceMemory *")
    return memory[0] if device.vk["vkAllocateMemory"](device.handle, info, null, memory) >= 0 else None
