"""The Vulkan loader's functions as the `vulkan` package declares them, and what their results mean."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, TypeAlias

from adstack.errors import AdstackError, AdstackMemoryError, AdstackRuntimeError

__all__ = ["NO_MEMORY", "Handle", "Missing", "check", "ffi", "lib", "loader", "result_name"]

Handle: TypeAlias = Any
"""What the vulkan package, which has no types, hands out: its modules, handles, structures, addresses of memory."""
Missing = tuple[str, str]
"""A reason, and what would help."""

_DEBIAN = "install a Vulkan driver and its loader: on Debian, mesa-vulkan-drivers and libvulkan1"
NO_MEMORY = (-1, -2, -5)
"""Results that mean that there is none, of the host or of the device, or that the host has no addresses for it."""
_LOST = -4
_WORDS = {
    -1: "the host is out of memory",
    -2: "the device is out of memory",
    -3: "the device could not be initialised",
    -4: "the device was lost",
    -6: "a layer is not there",
    -7: "an extension is not there",
    -8: "a feature is not there",
    -9: "the driver does not fit the loader",
    -10: "too many objects",
    -13: "an unknown error",
}


@cache
def loader() -> Missing | None:
    """What keeps Vulkan from being used at all, if anything does."""
    try:
        importlib.import_module("vulkan")
    except ModuleNotFoundError:
        return "the Python package vulkan is not installed", "pip install 'adstack[vulkan]'"
    except OSError:
        return "there is no Vulkan loader (libvulkan) on this machine", _DEBIAN
    return None


@cache
def ffi() -> Handle:
    """The C types."""
    return importlib.import_module("vulkan").ffi


@cache
def lib() -> Handle:
    """The loader's functions."""
    return importlib.import_module("vulkan").lib


def result_name(result: int) -> str:
    """What Vulkan calls a result: "VK_ERROR_DEVICE_LOST"; of one that is newer than the declarations, its number."""
    name: str = ffi().typeof("VkResult").elements.get(result, f"VkResult {result}")
    return name


def check(result: int, doing: str) -> None:
    """Raise what a result of Vulkan's stands for, unless it is success; `doing` says, in words, what was tried."""
    if result >= 0:
        return
    raise _error(result, doing)


def _error(result: int, doing: str) -> AdstackError:
    words = _WORDS.get(result)
    message = f"Vulkan could not {doing}: {f'{words} ({result_name(result)})' if words else result_name(result)}"
    if result in NO_MEMORY:
        return AdstackMemoryError(message, do="use smaller data, or reset() to free what earlier kernels used")
    if result == _LOST:
        return AdstackRuntimeError(
            message,
            do="start Python again; a kernel that runs longer than the driver allows, or that writes outside of its "
            "data, loses the device: debug=True finds such writes",
        )
    return AdstackRuntimeError(message, do="update the driver; adstack doctor --backend vulkan shows which one it is")


def number(handle: object) -> int:
    """A handle or an address as a number."""
    return int(ffi().cast("uintptr_t", handle))
