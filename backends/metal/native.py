"""A device of Apple's, driven through pyobjc-framework-Metal. Nobody has run this on a device yet."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from adstack.backends.shared.buffers import Buffer
from adstack.errors import AdstackMemoryError, AdstackRuntimeError, InternalError
from adstack.runtime.threads.interrupts import let_interrupt

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
_COMPLETED: Final = 4
"""MTLCommandBufferStatusCompleted: what is less is not over."""
_FAILED: Final = 5
"""MTLCommandBufferStatusError."""
_PAUSES: Final = (2e-5, 1e-3)
"""Seconds between two looks at a command buffer: the first, and the longest."""
_SERIAL: Final = 0
"""MTLDispatchTypeSerial: a dispatch begins when the one before it has ended, and sees what that has written."""
_GROUP, _SHARING = 64, 256
"""Threads of a threadgroup, where they share nothing, and at most where they share memory to add up together."""


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

    A batch is a command buffer with one encoder. Kernels find memory by its address, which the system has to be told
    of: every encoder names all buffers there are, and those that come later before the next dispatch.
    """

    kind = "native"
    most = 1 << 16

    def __init__(self) -> None:
        self._metal, self._objc = importlib.import_module(_MODULE), importlib.import_module("objc")
        self._device = self._metal.MTLCreateSystemDefaultDevice()
        self._queue = self._device.newCommandQueue()
        self._live: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._fresh: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self._command: Handle = None
        self._encoder: Handle = None
        self._commands: deque[Handle] = deque()
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
        self._fresh.add(buffer)
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

    def dispatch(self, pipeline: Handle, words: Buffer, threads: int, group: int = 0) -> None:
        """See `Driver.dispatch`."""
        encoder = self._encoder or self._begun()
        for buffer in self._fresh:
            encoder.useResource_usage_(buffer.handle, _READ_AND_WRITE)
        self._fresh.clear()
        encoder.setComputePipelineState_(pipeline)
        encoder.setBuffer_offset_atIndex_(words.handle, words.offset, 0)
        sizes = threads, group or min(threads, _group_of(pipeline))
        encoder.dispatchThreads_threadsPerThreadgroup_(*(self._metal.MTLSizeMake(count, 1, 1) for count in sizes))

    def _begun(self) -> Handle:
        """The encoder of a new command buffer."""
        with self._objc.autorelease_pool():  # else both would stay until the process ends
            self._command = self._queue.commandBuffer()
            self._encoder = self._command.computeCommandEncoderWithDispatchType_(_SERIAL)
        self._fresh = weakref.WeakSet(self._live)
        return self._encoder

    def commit(self) -> None:
        """See `Batching.commit`."""
        if self._encoder is None:
            return
        self._encoder.endEncoding()
        self._command.commit()
        self._commands.append(self._command)
        self._command = self._encoder = None

    def wait(self, behind: int) -> None:
        """See `Batching.wait`: a queue runs its commands in order."""
        over = list(self._commands)[: max(0, len(self._commands) - behind)]
        if over:
            _wait(over[-1])
        for _ in over:
            self._commands.popleft()
        for command in over:
            if command.status() == _FAILED:
                raise AdstackRuntimeError(
                    f"{self.name} failed: {command.error()}", do="run with debug=True to see where"
                )

    def finish(self) -> None:
        """See `Driver.finish`. AdstackRuntimeError if a command failed."""
        self.commit()
        self.wait(0)


def _group_of(pipeline: Handle) -> int:
    """How many threads of a kernel function are in a threadgroup, at most."""
    shared: int = pipeline.staticThreadgroupMemoryLength()
    most: int = pipeline.maxTotalThreadsPerThreadgroup()
    return min(_SHARING if shared else _GROUP, most)


def _wait(command: Handle) -> None:
    """Wait for a command buffer; handlers of signals run meanwhile, which they don't where Metal itself waits."""
    pause, longest = _PAUSES
    while command.status() < _COMPLETED:
        let_interrupt()
        time.sleep(pause)
        pause = min(2 * pause, longest)


def _release(handle: object) -> None:
    """Forget a buffer that no view of the host's refers to any more."""
