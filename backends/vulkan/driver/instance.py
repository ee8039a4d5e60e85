"""Vulkan's instance: made once in a process, with the validation layer if it is asked for.

ADSTACK_VULKAN_VALIDATION=1 puts Khronos' validation layer between adstack and the driver; what it finds is raised at
the next synchronisation, or printed if the process ends before there is one.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache

from adstack.runtime.threads.processes import foreign, start

from .api import Handle, Missing, ffi, lib, result_name
from .lavapipe import widen

__all__ = ["LAYER", "Instance", "instance", "validation_layer"]

VARIABLE = "ADSTACK_VULKAN_VALIDATION"
LAYER = "VK_LAYER_KHRONOS_validation"
_UTILS = "VK_EXT_debug_utils"
_VERSION = 1 << 22 | 3 << 12


class Instance:
    """The instance, and what the validation layer has said.

    Attributes:
        handle: Vulkan's.
        layer: the validation layer's version, if it listens.
        messages: of the validation layer, not raised yet.
    """

    def __init__(self, handle: Handle, layer: str = "", keep: Handle = None) -> None:
        self.handle, self.layer = handle, layer
        self.messages: list[str] = []
        self.keep = keep


def instance() -> Instance | Missing:
    """The instance of this process, or why there is none."""
    return foreign("Vulkan") or _made()


@cache
def _made() -> Instance | Missing:
    start("Vulkan")
    wanted = os.environ.get(VARIABLE, "") not in ("", "0")
    layer = validation_layer() if wanted else ""
    if wanted and not layer:
        return f"{VARIABLE} is set, and there is no {LAYER}", "install it: on Debian, vulkan-validationlayers"
    strings = [ffi().new("char[]", text.encode()) for text in ("adstack", LAYER, _UTILS)]
    about = ffi().new("VkApplicationInfo *", {"sType": 0, "apiVersion": _VERSION, "pEngineName": strings[0]})
    layers, extensions = (ffi().new("char *[]", [text]) for text in strings[1:])
    info = ffi().new("VkInstanceCreateInfo *", {"sType": 1, "pApplicationInfo": about})
    if wanted:
        info.enabledLayerCount, info.ppEnabledLayerNames = 1, layers
        info.enabledExtensionCount, info.ppEnabledExtensionNames = 1, extensions
    handle = ffi().new("VkInstance *")
    widen()
    result = lib().vkCreateInstance(info, ffi().NULL, handle)
    if result < 0:
        return f"Vulkan refuses to start ({result_name(result)})", "install a driver: on Debian, mesa-vulkan-drivers"
    opened = Instance(handle[0], layer)
    if wanted:
        opened.keep = _listen(opened)
        atexit.register(_tell, opened)
    return opened


def _tell(opened: Instance) -> None:
    """What nobody has waited for; the messages in a forked child are its parent's."""
    for message in opened.messages if foreign("Vulkan") is None else ():
        print(f"Vulkan's validation layer found: {message}", file=sys.stderr)


def validation_layer() -> str:
    """The validation layer's version, "" if it is not there."""
    count = ffi().new("uint32_t *")
    lib().vkEnumerateInstanceLayerProperties(count, ffi().NULL)
    layers = ffi().new("VkLayerProperties[]", count[0])
    lib().vkEnumerateInstanceLayerProperties(count, layers)
    numbers = [layer.specVersion for layer in layers if ffi().string(layer.layerName).decode() == LAYER]
    return f"{numbers[0] >> 22 & 0x7F}.{numbers[0] >> 12 & 0x3FF}.{numbers[0] & 0xFFF}" if numbers else ""


def _listen(opened: Instance) -> Handle:
    """Collect the layer's warnings and errors."""
    signature = (
        "VkBool32(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT, "
        "const VkDebugUtilsMessengerCallbackDataEXT *, void *)"
    )

    @ffi().callback(signature)  # type: ignore[untyped-decorator]
    def heard(severity: Handle, kind: Handle, data: Handle, user: Handle) -> int:
        opened.messages.append(ffi().string(data.pMessage).decode())
        return 0

    warnings_and_errors, kinds = 0x1100, 7
    info = ffi().new(
        "VkDebugUtilsMessengerCreateInfoEXT *",
        {"sType": 1000128004, "messageSeverity": warnings_and_errors, "messageType": kinds, "pfnUserCallback": heard},
    )
    address = lib().vkGetInstanceProcAddr(opened.handle, b"vkCreateDebugUtilsMessengerEXT")
    create = ffi().cast("PFN_vkCreateDebugUtilsMessengerEXT", address)
    messenger = ffi().new("VkDebugUtilsMessengerEXT *")
    create(opened.handle, info, ffi().NULL, messenger)
    return heard, messenger
