"""A device of AMD's, driven through HIP. Nobody has run this on a device yet.

Memory is the host's, pinned, at an address of the device's: `hipHostMalloc`. It is asked for as not coherent, so that
the device caches it, and atomic operations happen in its cache: those on coherent memory cross the bus, which has no
`and`, `or`, `xor`, `min` and `max`. Whoever waits for the device sees what it wrote. Memory that moves between the two
(`hipMallocManaged`) would be coherent unless advised otherwise, and is not there on all devices.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adstack.backends.shared.buffers import Buffer
from adstack.backends.shared.elf import Object
from adstack.backends.shared.memory_left import memory_left
from adstack.errors import AdstackMemoryError
from adstack.runtime.threads.processes import foreign, forked, start

from .hip import Properties, call, properties, result, tried
from .layout import Kernel, kernels_of
from .threads import ARENA, ARENA_BYTES

__all__ = ["HIP", "NativeDriver", "architecture"]

HIP: Final = "HIP"
"""What a process starts, and one that is forked from it can't use."""
_MAPPED_NOT_COHERENT: Final = 0x2 | 0x80000000
"""hipHostMallocMapped and hipHostMallocNonCoherent."""
_UNIT: Final = 16
"""Bytes that memory comes in: atomic operations on bytes take the whole word."""
_GROUP: Final = 64
"""Threads of a workgroup that share nothing: small groups are spread best. Those that share memory, which is how they
combine what they add to one element, are in groups as large as the kernel may have."""
_BUFFER, _SIZE, _END = 1, 2, 3
"""HIP_LAUNCH_PARAM_BUFFER_POINTER, HIP_LAUNCH_PARAM_BUFFER_SIZE and HIP_LAUNCH_PARAM_END."""


def architecture(about: Properties) -> tuple[str, str]:
    """Name and processor of a device, as ("AMD Instinct MI300X", "gfx942")."""
    return about.name.decode(errors="replace"), about.architecture.decode(errors="replace").partition(":")[0]


class _Module:
    """A code object that is loaded, as long as anything refers to this."""

    def __init__(self, image: bytes) -> None:
        self._image = ctypes.create_string_buffer(image, len(image))  # the runtime may read it later, too
        self.handle = result("hipModuleLoadData", ctypes.addressof(self._image))
        weakref.finalize(self, _released, "hipModuleUnload", self.handle).atexit = False

    def address(self, variable: str) -> int:
        """Where a variable is, in the device's memory."""
        size = ctypes.c_size_t()
        return result("hipModuleGetGlobal", ctypes.byref(size), self.handle, variable.encode())


@dataclass(frozen=True)
class _Pipeline:
    """A kernel, the code that it is part of, how it is started, and where the arena's bounds are, if it has one.

    Attributes:
        group: threads of a workgroup, at most.
    """

    module: _Module
    function: int
    words_bytes: int
    group: int
    arena: int | None


class NativeDriver:
    """A `Driver`, see there.

    Args:
        number: of the device.
    """

    kind = "native"

    def __init__(self, number: int) -> None:
        start(HIP)
        self._number = number
        about = properties(number)
        self.name, self.processor = architecture(about)
        self.most = max(about.multiprocessors * about.threads // _GROUP, 1) * _GROUP
        self._arena = 0

    def _use(self) -> None:
        """Let this thread use the device, which every thread has to choose for itself."""
        if foreign(HIP):
            raise forked(HIP)
        call("hipSetDevice", self._number)

    def allocate(self, size: int) -> Buffer:
        """See `Driver.allocate`."""
        self._use()
        left, whole = memory_left(), max(-(-size // _UNIT), 1) * _UNIT
        if left is not None and whole > left:
            raise AdstackMemoryError(f"no memory for {size} bytes: {left} are left")
        at = result("hipHostMalloc", whole, _MAPPED_NOT_COHERENT)
        view = np.frombuffer(memoryview((ctypes.c_ubyte * whole).from_address(at)), np.uint8)
        weakref.finalize(view, _released, "hipHostFree", at).atexit = False  # it lives as long as a view of it
        view[:] = 0
        return Buffer(result("hipHostGetDevicePointer", at, 0), view[:size], at)

    def load(self, image: bytes, names: Sequence[str]) -> list[_Pipeline]:
        """See `Driver.load`."""
        self._use()
        module, kernels = _Module(image), kernels_of(image)
        has_arena = any(symbol.name == ARENA for symbol in Object(image).symbols)
        arena = module.address(ARENA) if has_arena else None
        functions = [result("hipModuleGetFunction", module.handle, name.encode()) for name in names]
        return [
            _Pipeline(module, function, kernels[name].descriptor.words_bytes, _group_of(kernels[name]), arena)
            for name, function in zip(names, functions, strict=True)
        ]

    def dispatch(self, pipeline: _Pipeline, words: Buffer, threads: int, group: int = 0) -> None:
        """See `Driver.dispatch`: whole workgroups start, and no more threads than are asked for."""
        self._use()
        if pipeline.arena is not None:
            self._empty_arena(pipeline.arena)
        group, size = group or min(threads, pipeline.group), ctypes.c_size_t(pipeline.words_bytes)
        told = (_BUFFER, words.bytes.ctypes.data, _SIZE, ctypes.addressof(size), _END)
        extra = (ctypes.c_void_p * len(told))(*told)
        extents = (threads // group, 1, 1, group, 1, 1)
        call("hipModuleLaunchKernel", pipeline.function, *extents, 0, None, None, ctypes.addressof(extra))

    def _empty_arena(self, variable: int) -> None:
        """Say where the arena is, all of which is free then. It is the device's own memory, made when first wanted."""
        if not self._arena:
            self._arena = result("hipMalloc", ARENA_BYTES)
            weakref.finalize(self, _released, "hipFree", self._arena).atexit = False
        bounds = np.array([self._arena, self._arena + ARENA_BYTES], np.uint64)
        call("hipMemcpyHtoD", variable, bounds.ctypes.data, bounds.nbytes)

    def finish(self) -> None:
        """See `Driver.finish`."""
        self._use()
        call("hipDeviceSynchronize")


def _group_of(kernel: Kernel) -> int:
    """How many threads of a kernel are in a workgroup."""
    return kernel.most_threads if kernel.descriptor.group_bytes else min(kernel.most_threads, _GROUP)


def _released(function: str, handle: int) -> None:
    """Give something back that nothing refers to any more; HIP waits for what uses it. There is nobody to tell."""
    if not foreign(HIP):
        tried(function, handle)
