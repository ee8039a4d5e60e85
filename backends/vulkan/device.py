"""The opened device: its queue, its functions, and the one semaphore that counts what it has finished."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence

from adstack.errors import AdstackRuntimeError, InternalError
from adstack.runtime.threads.interrupts import let_interrupt, uninterrupted
from adstack.runtime.threads.processes import forked

from .capability import Physical
from .driver.api import Handle, check, ffi, lib
from .driver.features import FLOAT_ATOMICS, HOST_MEMORY, extensions_of, feature_chain, feature_names
from .driver.instance import Instance, instance

__all__ = ["Device", "opened"]

_COMPUTE = 2
_SLICE = 20_000_000
"""Nanoseconds that one wait takes at most."""
_TIMEOUT = 2
_SPIN_SECONDS = 1e-4
_FUNCTIONS = (
    "vkAllocateDescriptorSets", "vkAllocateMemory", "vkBeginCommandBuffer", "vkBindBufferMemory",
    "vkCmdBindDescriptorSets", "vkCmdBindPipeline", "vkCmdCopyBuffer",
    "vkCmdDispatch", "vkCmdFillBuffer", "vkCmdPipelineBarrier", "vkCmdPushConstants", "vkCmdUpdateBuffer",
    "vkCreateBuffer",
    "vkCreateCommandPool", "vkCreateComputePipelines", "vkCreateDescriptorPool", "vkCreateDescriptorSetLayout",
    "vkCreatePipelineCache", "vkCreatePipelineLayout", "vkUpdateDescriptorSets",
    "vkCreateSemaphore", "vkCreateShaderModule", "vkAllocateCommandBuffers", "vkDestroyBuffer", "vkDestroyPipeline",
    "vkDestroyShaderModule", "vkDeviceWaitIdle", "vkEndCommandBuffer", "vkFreeMemory", "vkGetBufferDeviceAddress",
    "vkGetBufferMemoryRequirements", "vkGetDeviceQueue", "vkGetPipelineCacheData", "vkGetSemaphoreCounterValue",
    "vkDestroyPipelineCache", "vkFreeCommandBuffers", "vkMapMemory", "vkMergePipelineCaches", "vkQueueSubmit",
    "vkWaitSemaphores",
)  # fmt: skip

_OF_HOST_MEMORY = "vkGetMemoryHostPointerPropertiesEXT"


class Device:
    """One logical device; there is one per physical device and process.

    Attributes:
        physical: what it is.
        handle, queue: Vulkan's.
        vk: its functions: `device.vk["vkCmdDispatch"]`.
        imports: whether it takes memory of this process as its own, by the page.
        submitted, finished: numbers of the last batch handed over, and of the last one known to be done.
        spin_seconds: for how long a waiting thread polls before it sleeps; 0 where the device is the processor.
    """

    def __init__(self, physical: Physical, instance: Instance) -> None:
        self.physical, self.instance = physical, instance
        self.process = os.getpid()
        family = _compute_family(physical.handle)
        self.family = family
        extensions = extensions_of(physical.handle)
        self.imports = physical.is_cpu and HOST_MEMORY in extensions
        wanted = (FLOAT_ATOMICS, HOST_MEMORY) if self.imports else (FLOAT_ATOMICS,)
        self.handle = _logical(physical, family, [name for name in wanted if name in extensions])
        names = (*_FUNCTIONS, *((_OF_HOST_MEMORY,) if self.imports else ()))
        self.vk = {name: _function(self.handle, name) for name in names}
        queue = ffi().new("VkQueue *")
        self.vk["vkGetDeviceQueue"](self.handle, family, 0, queue)
        self.queue = queue[0]
        self.submitted = self.finished = 0
        self.spin_seconds = 0.0 if physical.is_cpu else _SPIN_SECONDS
        self._semaphore = self._timeline()
        self._semaphores = ffi().new("VkSemaphore *", self._semaphore)
        self._later: list[tuple[int, Callable[[], None]]] = []
        self.counter = ffi().new("uint64_t *")
        self._prepare_submission()

    # ---- submitting and waiting

    def _timeline(self) -> Handle:
        kind = ffi().new("VkSemaphoreTypeCreateInfo *", {"sType": 1000207002, "semaphoreType": 1})
        info = ffi().new("VkSemaphoreCreateInfo *", {"sType": 9, "pNext": kind})
        semaphore = ffi().new("VkSemaphore *")
        check(self.vk["vkCreateSemaphore"](self.handle, info, ffi().NULL, semaphore), "make a semaphore")
        return semaphore[0]

    def _prepare_submission(self) -> None:
        """The structures of a submission, filled once but for the numbers."""
        self._signal = ffi().new("uint64_t *")
        self._commands = ffi().new("VkCommandBuffer *")
        self._values = ffi().new(
            "VkTimelineSemaphoreSubmitInfo *",
            {"sType": 1000207003, "signalSemaphoreValueCount": 1, "pSignalSemaphoreValues": self._signal},
        )
        self._submit = ffi().new(
            "VkSubmitInfo *",
            {
                "sType": 4,
                "pNext": self._values,
                "commandBufferCount": 1,
                "pCommandBuffers": self._commands,
                "signalSemaphoreCount": 1,
                "pSignalSemaphores": self._semaphores,
            },
        )
        self._wait = ffi().new(
            "VkSemaphoreWaitInfo *",
            {"sType": 1000207004, "semaphoreCount": 1, "pSemaphores": self._semaphores, "pValues": self._signal},
        )
        self._target = ffi().new("uint64_t *")
        self._wait.pValues = self._target

    def submit(self, commands: Handle) -> int:
        """Hand over a command buffer; the number of the batch that it is. It raises an error in a forked process."""
        if os.getpid() != self.process:
            raise forked("Vulkan")
        with uninterrupted():
            self._commands[0] = commands
            self._signal[0] = self.submitted + 1
            result = self.vk["vkQueueSubmit"](self.queue, 1, self._submit, ffi().NULL)
            check(result, "run a batch of launches")
            self.submitted += 1
        return self.submitted

    def wait(self, batch: int) -> None:
        """Until a batch is done."""
        if batch > self.finished:
            self._watch(batch)
            while not self._waited(batch):
                let_interrupt()
            self.finished = batch
        self.sweep()

    def is_done(self, batch: int) -> bool:
        """Whether a batch that was handed over is done."""
        if batch > self.finished and self._reached() >= batch:
            self.finished = batch
        return batch <= self.finished

    def _waited(self, batch: int) -> bool:
        """Whether a batch is done, after a short wait: Python runs handlers of signals between two of these."""
        self._target[0] = batch
        result = self.vk["vkWaitSemaphores"](self.handle, self._wait, _SLICE)
        check(result, "wait for a launch")
        return bool(result != _TIMEOUT)

    def _watch(self, batch: int) -> None:
        """Look for a while whether a batch is done: waking up takes a thread longer than a short launch."""
        end = time.perf_counter() + self.spin_seconds
        while time.perf_counter() < end and self._reached() < batch:
            pass

    def _reached(self) -> int:
        """How far the device has come."""
        check(self.vk["vkGetSemaphoreCounterValue"](self.handle, self._semaphore, self.counter), "ask for progress")
        return int(self.counter[0])

    def sweep(self) -> None:
        """Do what was put off until batches were done that are done now, and raise what the validation layer said."""
        if self._later and self._later[0][0] <= self.finished:
            with uninterrupted():
                while self._later and self._later[0][0] <= self.finished:
                    self._later.pop(0)[1]()
        if self.instance.messages:
            text = "\n".join(self.instance.messages)
            self.instance.messages.clear()
            raise InternalError(f"Vulkan's validation layer found: {text}")

    def look(self) -> None:
        """Learn how far the device has come, without waiting."""
        self.finished = max(self.finished, self._reached())

    def later(self, batch: int, action: Callable[[], None]) -> None:
        """Do the `action` once a batch, by its number, is done; at once if it is."""
        if batch <= self.finished:
            action()
        else:
            self._later.append((batch, action))

    def idle(self) -> None:
        """Wait for everything, at the end of the process, unless an interrupt says otherwise."""
        if os.getpid() == self.process:
            while not self._waited(self.submitted):
                let_interrupt()
            self.vk["vkDeviceWaitIdle"](self.handle)


_OPENED: dict[tuple[int, bool], Device] = {}


def opened(physical: Physical) -> Device:
    """The device of this process for a physical device, and a way to its memory."""
    key = (physical.number, physical.addresses)
    if key not in _OPENED:
        vulkan = instance()
        assert isinstance(vulkan, Instance)
        _OPENED[key] = device = Device(physical, vulkan)
        atexit.register(device.idle)
    return _OPENED[key]


def _compute_family(handle: object) -> int:
    """The first queue family that computes; one that can do no graphics is no better for batches like these."""
    count = ffi().new("uint32_t *")
    lib().vkGetPhysicalDeviceQueueFamilyProperties(handle, count, ffi().NULL)
    families = ffi().new("VkQueueFamilyProperties[]", count[0])
    lib().vkGetPhysicalDeviceQueueFamilyProperties(handle, count, families)
    for number, family in enumerate(families):
        if family.queueFlags & _COMPUTE:
            return number
    raise AdstackRuntimeError("the Vulkan device has no queue that computes", do="choose another device")


def _logical(physical: Physical, family: int, used: Sequence[str]) -> Handle:
    """A device with what `physical` can do, and with these extensions."""
    extensions = extensions_of(physical.handle)
    chain = feature_chain(extensions)
    for holder, group in zip([chain[0].features, *chain[1:]], feature_names(extensions), strict=True):
        for name in group:
            setattr(holder, name, name in physical.features)
    priority = ffi().new("float *", 1.0)
    queue = {"sType": 2, "queueFamilyIndex": family, "queueCount": 1, "pQueuePriorities": priority}
    queues = ffi().new("VkDeviceQueueCreateInfo *", queue)
    info = ffi().new(
        "VkDeviceCreateInfo *",
        {"sType": 3, "pNext": chain[0], "queueCreateInfoCount": 1, "pQueueCreateInfos": queues},
    )
    names = [ffi().new("char[]", name.encode()) for name in used]
    texts = ffi().new("char *[]", names or [ffi().NULL])
    info.enabledExtensionCount, info.ppEnabledExtensionNames = len(names), texts
    device = ffi().new("VkDevice *")
    check(lib().vkCreateDevice(physical.handle, info, ffi().NULL, device), f"open {physical.name}")
    return device[0]


def _function(device: Handle, name: str) -> Handle:
    address = lib().vkGetDeviceProcAddr(device, name.encode())
    return ffi().cast(f"PFN_{name}", address)
