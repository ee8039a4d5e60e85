"""What a Vulkan device offers, which one is taken, and what this backend does not do.

`init(device=...)`, or else ADSTACK_VULKAN_DEVICE, names the device to take: its number, or a part of its name. Without
it a discrete GPU is preferred to an integrated one, and any GPU to a driver that runs on the processor.

Memory is reached by buffer device addresses where the device has them; ADSTACK_VULKAN_ADDRESSES=0 does without them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from adstack.backends.codegen_spirv.assembly.opcodes import Capability
from adstack.ir.types import DType, f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from adstack.runtime.protocol.backend import Capabilities, Probe, Unavailable

from .driver.api import Handle, Missing, ffi, lib, loader
from .driver.features import BY_ADDRESS, CONTROLS, extensions_of, feature_chain, feature_names, limits_of
from .driver.instance import LAYER, Instance, instance
from .driver.lavapipe import ADDRESSES

__all__ = ["GAPS", "Physical", "chosen", "device_names", "devices", "offered", "probe"]

GAPS: tuple[tuple[str, str], ...] = ()
"""(rule or case, reason) of what is not there."""

VARIABLE = "ADSTACK_VULKAN_DEVICE"
SUBGROUPS = "arithmetic of subgroups"
"""Not a feature by Vulkan's rules, which have it among the limits."""
SUMS = ("own", "uniform", "subgroup")
"""How sums are added up besides by atomics, see `adstack.analysis.accumulation`; the last if there are subgroups."""
_COMPUTE, _BASIC_VOTE_ARITHMETIC_BALLOT = 0x20, 15
_CPU = 4
_PREFERRED = (2, 1, 3, 4, 0)
"""Kinds of devices: discrete, integrated, virtual, cpu, other."""
_NEEDED = ("timelineSemaphore", "shaderInt64")
_OLDEST = (1, 2)


@dataclass(frozen=True)
class Physical:
    """A device that could be opened.

    Attributes:
        handle: Vulkan's.
        number: its position in Vulkan's list.
        name, driver: in words.
        kind: Vulkan's number for discrete, integrated, virtual, cpu.
        version: of Vulkan.
        features: names of the features it has, of those that matter here.
        controls: of its float controls, those that hold.
        identity: bytes that change with device and driver, and with the way to memory.
        limits: sizes by name.
    """

    handle: Handle
    number: int
    name: str
    driver: str
    kind: int
    version: tuple[int, int]
    features: frozenset[str]
    controls: frozenset[str]
    identity: bytes
    limits: dict[str, int] = field(default_factory=dict)

    @property
    def addresses(self) -> bool:
        """Whether memory is reached by addresses; else by bindings."""
        return BY_ADDRESS in self.features

    @property
    def is_cpu(self) -> bool:
        """Whether it is a driver that runs on the processor."""
        return self.kind == _CPU

    @property
    def missing(self) -> list[str]:
        """What it lacks to be used at all."""
        old = [] if self.version >= _OLDEST else ["Vulkan 1.2"]
        return old + [name for name in _NEEDED if name not in self.features]

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Element types it computes with and keeps in memory."""
        dtypes: list[DType] = []
        if {"storageBuffer8BitAccess", "shaderInt8"} <= self.features:
            dtypes += [u1, i8, u8]
        if {"storageBuffer16BitAccess", "shaderInt16"} <= self.features:
            dtypes += [i16, u16]
        dtypes += [i32, u32, i64, u64]
        if {"storageBuffer16BitAccess", "shaderFloat16", "shaderInt16"} <= self.features:
            dtypes.append(f16)
        return (*dtypes, f32, f64) if "shaderFloat64" in self.features else (*dtypes, f32)


FEATURE_OF: dict[int, str] = {
    Capability.PhysicalStorageBufferAddresses: BY_ADDRESS,
    Capability.Float16: "shaderFloat16",
    Capability.Float64: "shaderFloat64",
    Capability.Int64: "shaderInt64",
    Capability.Int16: "shaderInt16",
    Capability.Int8: "shaderInt8",
    Capability.Int64Atomics: "shaderBufferInt64Atomics",
    Capability.StorageBuffer16BitAccess: "storageBuffer16BitAccess",
    Capability.StorageBuffer8BitAccess: "storageBuffer8BitAccess",
    Capability.AtomicFloat32AddEXT: "shaderBufferFloat32AtomicAdd",
    Capability.AtomicFloat64AddEXT: "shaderBufferFloat64AtomicAdd",
    Capability.GroupNonUniform: SUBGROUPS,
    Capability.GroupNonUniformVote: SUBGROUPS,
    Capability.GroupNonUniformArithmetic: SUBGROUPS,
    Capability.GroupNonUniformBallot: SUBGROUPS,
}
"""The device's feature that a capability of SPIR-V needs."""


def devices() -> list[Physical] | Missing:
    """Every device that Vulkan lists, or why there is none."""
    absent = loader()
    if absent is not None:
        return absent
    vulkan = instance()
    if isinstance(vulkan, tuple):
        return vulkan
    count = ffi().new("uint32_t *")
    lib().vkEnumeratePhysicalDevices(vulkan.handle, count, ffi().NULL)
    handles = ffi().new("VkPhysicalDevice[]", count[0])
    lib().vkEnumeratePhysicalDevices(vulkan.handle, count, handles)
    return [_examined(handle, number) for number, handle in enumerate(handles)]


def device_names() -> list[str]:
    """The devices that Vulkan lists, by number."""
    physical = devices()
    return [] if isinstance(physical, tuple) else [device.name for device in physical]


def chosen(wanted: str = "") -> Physical | Missing:
    """The device to take, or why there is none.

    Args:
        wanted: its number or a part of its name; "" leaves the choice to the environment.
    """
    physical = devices()
    if isinstance(physical, tuple):
        return physical
    if not physical:
        return "Vulkan lists no device", "install a driver: on Debian, mesa-vulkan-drivers has one for every processor"
    asked = f"device={wanted!r} was asked for"
    if not wanted and (wanted := os.environ.get(VARIABLE, "").strip()):
        asked = f"{VARIABLE} is {wanted!r}"
    fitting = (
        _matching(physical, wanted) if wanted else sorted(physical, key=lambda d: _PREFERRED.index(min(d.kind, 4)))
    )
    names = ", ".join(f"{d.number}: {d.name}" for d in physical)
    if not fitting:
        return f"{asked}, and no device has that number or name", f"choose one of {names}"
    for device in fitting:
        if not device.missing:
            return device
    device = fitting[0]
    lacking = ", ".join(device.missing)
    return f"{device.name} ({device.driver}) lacks {lacking}", f"update its driver, or choose another of {names}"


def _matching(candidates: Sequence[Physical], wanted: str) -> list[Physical]:
    if wanted.isdigit():
        return [device for device in candidates if device.number == int(wanted)]
    return [device for device in candidates if wanted.lower() in device.name.lower()]


def probe(device: str = "") -> Probe:
    """What the chosen device can do, or why none can be used; see `chosen`."""
    physical = chosen(device)
    return Unavailable("vulkan", *physical) if isinstance(physical, tuple) else offered(physical)


def offered(device: Physical) -> Capabilities:
    """What a device can do, in words."""
    vulkan = instance()
    details = {
        "driver": device.driver,
        "vulkan": ".".join(map(str, device.version)),
        "memory": _way(device),
        "float controls": _controls(device.controls),
        **({"validation": f"{LAYER} {vulkan.layer}"} if isinstance(vulkan, Instance) and vulkan.layer else {}),
        "atomics": " ".join(sorted(name for name in device.features if "Atomic" in name)) or "of 32-bit integers",
    }
    kind = "software" if device.is_cpu else "native"
    return Capabilities(
        "vulkan",
        kind,
        device.name,
        shortcuts=True,
        claims=True,
        holds=True,
        gathers=True,
        sums=SUMS if SUBGROUPS in device.features else SUMS[:-1],
        wide_atomics="shaderBufferInt64Atomics" in device.features,
        dtypes=device.dtypes,
        details=details,
    )


def _way(device: Physical) -> str:
    """How memory is reached, in words."""
    if device.addresses:
        return "by buffer device addresses"
    most, size = device.limits["buffers"], device.limits["range"]
    return f"by bindings of storage buffers: at most {most} in a task, each of at most {size} bytes"


def _controls(candidates: frozenset[str]) -> str:
    """What the device declares of its floats, in a few words."""
    words: dict[str, list[str]] = {}
    for name in CONTROLS:
        if name in candidates:
            what, _, bits = name.removeprefix("shader").partition("Float")
            words.setdefault(what, []).append(bits)
    return ", ".join(f"{what} of {'/'.join(bits)} bits" for what, bits in words.items()) or "none"


# ---- asking Vulkan


def _examined(handle: object, number: int) -> Physical:
    core = ffi().new("VkPhysicalDeviceProperties *")
    lib().vkGetPhysicalDeviceProperties(handle, core)
    version = (core.apiVersion >> 22 & 0x7F, core.apiVersion >> 12 & 0x3FF)
    name = ffi().string(core.deviceName).decode()
    if version < _OLDEST:
        return Physical(handle, number, name, "", core.deviceType, version, frozenset(), frozenset(), b"")
    extensions = extensions_of(handle)
    chain = feature_chain(extensions)
    lib().vkGetPhysicalDeviceFeatures2(handle, chain[0])
    holders = [chain[0].features, *chain[1:]]
    names = feature_names(extensions)
    features = {n for holder, group in zip(holders, names, strict=True) for n in group if getattr(holder, n)}
    if os.environ.get(ADDRESSES) == "0":
        features.discard(BY_ADDRESS)
    groups = ffi().new("VkPhysicalDeviceVulkan11Properties *", {"sType": 50})
    more = ffi().new("VkPhysicalDeviceVulkan12Properties *", {"sType": 52, "pNext": groups})
    properties = ffi().new("VkPhysicalDeviceProperties2 *")
    properties.sType, properties.pNext = 1000059001, more
    lib().vkGetPhysicalDeviceProperties2(handle, properties)
    controls = frozenset(n for n in CONTROLS if getattr(more, n))
    operations = groups.subgroupSupportedOperations & _BASIC_VOTE_ARITHMETIC_BALLOT
    if groups.subgroupSupportedStages & _COMPUTE and operations == _BASIC_VOTE_ARITHMETIC_BALLOT:
        features.add(SUBGROUPS)
    driver = f"{ffi().string(more.driverName).decode()} {ffi().string(more.driverInfo).decode()}"
    way = "" if BY_ADDRESS in features else " by bindings"
    identity = bytes(core.pipelineCacheUUID) + f"{name} {driver} {core.driverVersion}{way}".encode()
    offers = frozenset(features), controls, identity, limits_of(core.limits)
    return Physical(handle, number, name, driver, core.deviceType, version, *offers)
