"""From SPIR-V to pipelines, with Vulkan's pipeline cache on disk."""

from __future__ import annotations

import atexit
import hashlib
import os
from functools import partial
from pathlib import Path

from adstack.backends.shared import kept
from adstack.errors import AdstackRuntimeError, BackendUnavailableError
from adstack.version import VERSION

from .capability import FEATURE_OF
from .descriptors import Sets
from .device import Device
from .driver.api import NO_MEMORY, Handle, check, ffi, result_name
from .driver.pipeline import PUSHED, Pipeline

__all__ = ["Pipelines"]

_COMPUTE_STAGE = 0x20


class Pipelines:
    """Makes the pipelines of a device.

    Attributes:
        name: what files about this device and driver are called.
        sets: what can be bound for pipelines.
        waiting: how many were given back that the device may still use.
    """

    def __init__(self, device: Device, folder: Path | None) -> None:
        self.device = device
        self.sets = Sets(device)
        self._layouts: dict[int, Handle] = {}
        self.layout = self._layout(0)
        self.name = hashlib.sha256(VERSION.encode() + device.physical.identity).hexdigest()[:32]
        self._folder, self._file = folder, f"{kept.DEVICES}/{self.name}.bin"
        self.cache = self._opened()
        self._made = self.waiting = 0
        if folder is not None:
            atexit.register(self.save)

    def _layout(self, buffers: int) -> Handle:
        """What pipelines are handed that have so many buffers."""
        if buffers not in self._layouts:
            pushed = ffi().new("VkPushConstantRange *", {"stageFlags": _COMPUTE_STAGE, "offset": 0, "size": PUSHED})
            info = ffi().new(
                "VkPipelineLayoutCreateInfo *",
                {"sType": 30, "pushConstantRangeCount": 1, "pPushConstantRanges": pushed},
            )
            if buffers:
                sets = ffi().new("VkDescriptorSetLayout *", self.sets.layout(buffers))
                info.setLayoutCount, info.pSetLayouts = 1, sets
            layout = ffi().new("VkPipelineLayout *")
            create = self.device.vk["vkCreatePipelineLayout"]
            check(create(self.device.handle, info, ffi().NULL, layout), "lay out a pipeline")
            self._layouts[buffers] = layout[0]
        return self._layouts[buffers]

    def make(
        self,
        words: list[int],
        local_size: int,
        capabilities: frozenset[int],
        what: str,
        *,
        repeats: bool = False,
        cached: bool = True,
        buffers: tuple[str, ...] = (),
    ) -> Pipeline:
        """A pipeline that runs a module; if it is not to be cached, the driver is not asked whether it has it."""
        self._check_features(capabilities, what)
        vk, handle = self.device.vk, self.device.handle
        code = ffi().new("uint32_t[]", words)
        info = ffi().new("VkShaderModuleCreateInfo *", {"sType": 16, "codeSize": 4 * len(words), "pCode": code})
        module = ffi().new("VkShaderModule *")
        check(vk["vkCreateShaderModule"](handle, info, ffi().NULL, module), f"load the code of {what}")
        try:
            layout = self._layout(len(buffers))
            pipeline = self._pipeline(module[0], layout, what, cached)
            return Pipeline(pipeline, local_size, repeats, int(ffi().cast("uintptr_t", layout)), buffers)
        finally:
            vk["vkDestroyShaderModule"](handle, module[0], ffi().NULL)

    def _pipeline(self, module: Handle, layout: Handle, what: str, cached: bool) -> Handle:
        entry = ffi().new("char[]", b"main")
        info = ffi().new("VkComputePipelineCreateInfo *", {"sType": 29, "layout": layout})
        info.stage.sType, info.stage.stage, info.stage.module, info.stage.pName = 18, _COMPUTE_STAGE, module, entry
        pipeline = ffi().new("VkPipeline *")
        create = self.device.vk["vkCreateComputePipelines"]
        result = create(self.device.handle, self.cache if cached else ffi().NULL, 1, info, ffi().NULL, pipeline)
        if result in NO_MEMORY:
            check(result, f"make code of {what}")
        if result < 0 or pipeline[0] == ffi().NULL:
            reason = "it gave no pipeline" if result >= 0 else result_name(result)
            raise AdstackRuntimeError(
                f"the Vulkan driver refuses the code of {what} ({reason}; {self.device.physical.driver})",
                do="update the driver, or use another device (ADSTACK_VULKAN_DEVICE) or arch",
            )
        self._made += cached
        return pipeline[0]

    def _check_features(self, capabilities: frozenset[int], what: str) -> None:
        features = self.device.physical.features
        missing = sorted(FEATURE_OF[c] for c in capabilities if c in FEATURE_OF and FEATURE_OF[c] not in features)
        if missing:
            raise BackendUnavailableError(
                f"{what} needs {', '.join(missing)}, which {self.device.physical.name} does not have",
                do="use other element types in the kernel, or another device (ADSTACK_VULKAN_DEVICE) or arch",
            )

    def retire(self, pipeline: Pipeline, batch: int) -> None:
        """Give a pipeline back when a batch, the last that may use it, is done."""
        self.waiting += 1
        self.device.later(batch, partial(self._retired, pipeline))

    def _retired(self, pipeline: Pipeline) -> None:
        self.waiting -= 1
        self.destroy(pipeline)

    def destroy(self, pipeline: Pipeline) -> None:
        """Give a pipeline back, which no batch under way may use."""
        self.device.vk["vkDestroyPipeline"](self.device.handle, pipeline.handle, ffi().NULL)

    # ---- the cache

    def _opened(self) -> Handle:
        """What the file has."""
        data = b"" if self._folder is None else kept.read(self._folder, self._file) or b""
        self._started = hashlib.sha256(data).digest()
        return self._cache_of(data)

    def _cache_of(self, data: bytes) -> Handle:
        initial = ffi().from_buffer(data) if data else ffi().NULL
        info = ffi().new(
            "VkPipelineCacheCreateInfo *", {"sType": 17, "initialDataSize": len(data), "pInitialData": initial}
        )
        cache = ffi().new("VkPipelineCache *")
        check(self.device.vk["vkCreatePipelineCache"](self.device.handle, info, ffi().NULL, cache), "make a cache")
        return cache[0]

    def save(self) -> None:
        """Write the cache to disk, if it has grown; where that can't be, do nothing."""
        if self._folder is None or not self._made or os.getpid() != self.device.process:
            return
        self._take_in(kept.read(self._folder, self._file))
        get, size = self.device.vk["vkGetPipelineCacheData"], ffi().new("size_t *")
        if get(self.device.handle, self.cache, size, ffi().NULL) < 0 or not size[0]:
            return
        if size[0] > kept.LARGEST:  # it begins anew: nothing would ever leave it
            kept.remove(self._folder, self._file)
            return
        data = ffi().new("char[]", size[0])
        if get(self.device.handle, self.cache, size, data) >= 0:
            kept.write(self._folder, self._file, bytes(ffi().buffer(data, size[0])))

    def _take_in(self, data: bytes | None) -> None:
        """Add what other processes have written since."""
        if not data or hashlib.sha256(data).digest() == self._started:
            return
        vk, handle = self.device.vk, self.device.handle
        others = ffi().new("VkPipelineCache *", self._cache_of(data))
        vk["vkMergePipelineCaches"](handle, self.cache, 1, others)
        vk["vkDestroyPipelineCache"](handle, others[0], ffi().NULL)
