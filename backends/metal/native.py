"""A device of Apple's, driven through pyobjc-framework-Metal. Nobody has run this on a device yet."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import weakref
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from adstack.backends.shared.buffers import Buffer
from adstack.errors import AdstackMemoryError, AdstackRuntimeError, InternalError

__all__ = ["NativeDriver", "missing"]

Handle: TypeAlias = Any
"""An object of Metal's: the bindings declare no types for checkers."""

_MODULE: Final = "Metal"
_SHARED: Final = 0
"""MTLResourceStorageModeShared: memory that the host and the device both see."""
_READ_AND_WRITE: Final = 3
"""MTLResourceUsageRead and MTLResourceUsageWrite."""
_LANGUAGE: Final = (3 << 16) + 0
"""MTLLanguageVersion3_0."""
_FAILED: Final = 5
"""MTLCommandBufferStatusError."""
_GROUP: Final = 64
"""Threads of a threadgroup."""


def missing() -> tuple[str, str] | None:
    """Why no device can be opened, and what would help; None if one can."""
    if platform.system() != "Darwin":
        return f"Metal is a part of macOS, and this is {platform.system()}", "use arch=qd.vulkan or arch=qd.cpu"
    if importlib.util.find_spec(_MODULE) is None:
        return "the Python module Metal is not installed", "python -m pip install pyobjc-framework-Metal"
    if importlib.import_module(_MODULE).MTLCreateSystemDefaultDevice() is None:
        return "the system has no device for Metal", "use arch=qd.cpu"
    return None


class NativeDriver:
    """A `Driver`, see there: the system's default device.

    Kernels find memory by its address, which the system has to be told of: every dispatch names all buffers there are.
    """

    kind = "native"
    most = 1 << 16

    def __init__(self) -> None:
        self._metal = importlib.import_module(_MODULE)
        self._device = self._metal.MTLCreateSystemDefaultDevice()
        self._queue = self._device.newCommandQueue()
        self._live: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._last: Handle = None
        self.name = str(self._device.name())

    def allocate(self, size: int) -> Buffer:
        """See `Driver.allocate`."""
        handle = self._device.newBufferWithLength_options_(size, _SHARED)
        if handle is None:
            raise AdstackMemoryError(f"no memory for {size} bytes on {self.name}")
        view = np.frombuffer(handle.contents().as_buffer(size), np.uint8)
        weakref.finalize(view, _release, handle)  # the buffer lives as long as a view of its memory
        view[:] = 0
        buffer = Buffer(int(handle.gpuAddress()), view, handle)
        self._live.add(buffer)
        return buffer

    def load(self, text: str, names: Sequence[str], *, keep: bool) -> list[object]:
        """See `Driver.load`: the system keeps what it compiles by itself."""
        options = self._metal.MTLCompileOptions.alloc().init()
        options.setFastMathEnabled_(False)
        options.setLanguageVersion_(_LANGUAGE)
        library, error = self._device.newLibraryWithSource_options_error_(text, options, None)
        if library is None:
            raise InternalError(f"Metal refuses the code generated for it: {error}\n{text}")
        return [self._pipeline(library, name, text) for name in names]

    def _pipeline(self, library: Handle, name: str, text: str) -> object:
        function = library.newFunctionWithName_(name)
        pipeline, error = self._device.newComputePipelineStateWithFunction_error_(function, None)
        if pipeline is None:
            raise InternalError(f"Metal makes no pipeline of {name}: {error}\n{text}")
        handle: object = pipeline
        return handle

    def dispatch(self, pipeline: object, words: Buffer, threads: int) -> None:
        """See `Driver.dispatch`."""
        command = self._queue.commandBuffer()
        encoder = command.computeCommandEncoder()
        encoder.setComputePipelineState_(pipeline)
        encoder.setBuffer_offset_atIndex_(words.handle, 0, 0)
        for buffer in self._live:
            encoder.useResource_usage_(buffer.handle, _READ_AND_WRITE)
        grid, group = (self._metal.MTLSizeMake(count, 1, 1) for count in (threads, min(threads, _GROUP)))
        encoder.dispatchThreads_threadsPerThreadgroup_(grid, group)
        encoder.endEncoding()
        command.commit()
        self._last = command

    def finish(self) -> None:
        """Wait for the last command: a queue runs its commands in order. AdstackRuntimeError if it failed."""
        command, self._last = self._last, None
        if command is None:
            return
        command.waitUntilCompleted()
        if command.status() == _FAILED:
            raise AdstackRuntimeError(f"{self.name} failed: {command.error()}", do="run with debug=True to see where")


def _release(handle: object) -> None:
    """Forget a buffer that no view of the host's refers to any more."""
