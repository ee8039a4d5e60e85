"""Features, extensions and limits of devices: the structures in which Vulkan tells of them, and their names."""

from __future__ import annotations

from collections.abc import Sequence

from .api import Handle, ffi, lib

__all__ = [
    "BY_ADDRESS",
    "CONTROLS",
    "FLOAT_ATOMICS",
    "HOST_MEMORY",
    "extensions_of",
    "feature_chain",
    "feature_names",
    "limits_of",
]

BY_ADDRESS = "bufferDeviceAddress"
_FEATURES = (
    ("VkPhysicalDeviceFeatures2", 1000059000, ()),
    ("VkPhysicalDeviceVulkan11Features", 49, ("storageBuffer16BitAccess",)),
    (
        "VkPhysicalDeviceVulkan12Features",
        51,
        (
            "storageBuffer8BitAccess",
            "shaderBufferInt64Atomics",
            "shaderFloat16",
            "shaderInt8",
            "timelineSemaphore",
            BY_ADDRESS,
        ),
    ),
)
_CORE = ("shaderFloat64", "shaderInt64", "shaderInt16")
FLOAT_ATOMICS = "VK_EXT_shader_atomic_float"
HOST_MEMORY = "VK_EXT_external_memory_host"
_ATOMICS = (
    "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT",
    1000260000,
    ("shaderBufferFloat32AtomicAdd", "shaderBufferFloat64AtomicAdd"),
)
CONTROLS = tuple(
    f"shader{what}Float{bits}"
    for what in ("SignedZeroInfNanPreserve", "DenormPreserve", "RoundingModeRTE")
    for bits in (16, 32, 64)
)


def feature_chain(extensions: frozenset[str]) -> list[Handle]:
    """The structures that Vulkan fills in, or reads, about features; the first one heads the chain."""
    rows = [*_FEATURES, *([_ATOMICS] if FLOAT_ATOMICS in extensions else [])]
    chain: list[Handle] = []
    for name, number, _ in reversed(rows):
        head = ffi().new(f"{name} *")
        head.sType = number
        head.pNext = chain[0] if chain else ffi().NULL
        chain.insert(0, head)
    return chain


def feature_names(extensions: frozenset[str]) -> list[Sequence[str]]:
    """The names of the features in each structure of the chain."""
    return [_CORE, *(names for _, _, names in _FEATURES[1:]), *([_ATOMICS[2]] if FLOAT_ATOMICS in extensions else [])]


def extensions_of(handle: object) -> frozenset[str]:
    """The names of a device's extensions."""
    count = ffi().new("uint32_t *")
    lib().vkEnumerateDeviceExtensionProperties(handle, ffi().NULL, count, ffi().NULL)
    properties = ffi().new("VkExtensionProperties[]", count[0])
    lib().vkEnumerateDeviceExtensionProperties(handle, ffi().NULL, count, properties)
    return frozenset(ffi().string(one.extensionName).decode() for one in properties)


def limits_of(limits: Handle) -> dict[str, int]:
    """What bounds a dispatch and its memory, from a VkPhysicalDeviceLimits; "buffers": how many one task may use."""
    buffers = limits.maxPerStageDescriptorStorageBuffers, limits.maxDescriptorSetStorageBuffers
    return {
        "groups": limits.maxComputeWorkGroupCount[0],
        "threads": min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0]),
        "shared": limits.maxComputeSharedMemorySize,
        "range": limits.maxStorageBufferRange,
        "buffers": min(*buffers, limits.maxPerStageResources),
    }
