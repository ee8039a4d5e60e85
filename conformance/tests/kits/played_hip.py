"""The HIP runtime, as far as it is called, played by the host: code objects run on an emulated processor.

Its functions are called as those of a library in C are, by their addresses and with parameters of C's types. What is
launched runs when the device is waited for, on a copy of its arguments.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from adstack.backends.amdgpu.emulator import started
from adstack.backends.amdgpu.hip import PROTOTYPES, WORDS, Properties
from adstack.backends.amdgpu.layout import kernels_of
from adstack.backends.rdna.machine import Code
from adstack.backends.shared.elf import Object

__all__ = ["NAMES", "Device", "PlayedHip"]

NAMES: Final = {
    1: "hipErrorInvalidValue",
    2: "hipErrorOutOfMemory",
    100: "hipErrorNoDevice",
    101: "hipErrorInvalidDevice",
    400: "hipErrorInvalidHandle",
    500: "hipErrorNotFound",
    719: "hipErrorLaunchFailure",
}
"""HIP's names of some of its codes."""
_SIZE: Final = ctypes.c_size_t
_MOST_BYTES: Final = 1 << 40


@dataclass(frozen=True)
class Device:
    """A device that is played: its name, what HIP says of its processor, and how many threads it has room for."""

    name: str = "AMD Played"
    architecture: str = "gfx1100"
    multiprocessors: int = 2
    threads: int = 100


class _Module:
    """A code object that is loaded. Its image is kept by the caller, as the runtime asks for."""

    def __init__(self, image: bytes) -> None:
        self.code, self.kernels = Code(image), kernels_of(image)
        self.variables = {symbol.name: symbol for symbol in Object(image).symbols}


class PlayedHip:
    """The runtime.

    Args:
        devices: that there are.

    Attributes:
        functions: by name, for `hip.library`.
        calls: how often each was called.
        fails: name -> (which calls of it fail, from 1 on; the code that these give).
        groups: workgroups and threads of each, of all launches.
        host, device: memory that is handed out, by its address.
        modules: that are loaded.
        raised: what went wrong in a function, which gave hipErrorLaunchFailure instead.
    """

    def __init__(self, *devices: Device) -> None:
        self.devices: Sequence[Device] = devices or (Device(),)
        self.calls: Counter[str] = Counter()
        self.fails: dict[str, tuple[Collection[int], int]] = {}
        self.groups: list[tuple[int, int]] = []
        self.host: dict[int, npt.NDArray[np.uint8]] = {}
        self.device: dict[int, npt.NDArray[np.uint8]] = {}
        self.modules: dict[int, _Module] = {}
        self._kernels: dict[int, tuple[_Module, str]] = {}
        self._queue: list[Callable[[], None]] = []
        self._handles, self.chosen = 0x1000, 0
        self.raised: list[Exception] = []
        self.functions: dict[str, Callable[..., Any]] = dict(zip(WORDS, (_title, _meaning), strict=True))
        self.functions |= {name: self._function(name, types) for name, types in PROTOTYPES.items()}

    def _function(self, name: str, types: Sequence[Any]) -> Any:
        """The function of a name, behind an address of C's."""
        played = getattr(self, name)

        def called(*arguments: Any) -> int:
            self.calls[name] += 1
            which, code = self.fails.get(name, ((), 0))
            try:
                return code if self.calls[name] in which else int(played(*arguments))
            except Exception as error:  # noqa: BLE001 - C has no exceptions: a test asks for them
                self.raised.append(error)
                return 719

        return ctypes.CFUNCTYPE(ctypes.c_int, *types)(called)

    def _handle(self) -> int:
        self._handles += 16
        return self._handles

    # ---- devices

    def hipGetDeviceCount(self, out: int) -> int:
        _put(out, len(self.devices), ctypes.c_int)
        return 0 if self.devices else 100

    def hipSetDevice(self, number: int) -> int:
        self.chosen = number
        return 0 if number < len(self.devices) else 101

    def hipGetDevicePropertiesR0600(self, out: int, number: int) -> int:
        if number >= len(self.devices):
            return 101
        about, device = Properties.from_address(out), self.devices[number]
        about.name, about.architecture = device.name.encode(), f"{device.architecture}:sramecc+:xnack-".encode()
        about.multiprocessors, about.threads = device.multiprocessors, device.threads
        return 0

    def hipRuntimeGetVersion(self, out: int) -> int:
        _put(out, 60443484, ctypes.c_int)
        return 0

    # ---- memory

    def hipHostMalloc(self, out: int, size: int, flags: int) -> int:
        return self._allocated(self.host, out, size) if flags == 0x80000002 else 1

    def hipMalloc(self, out: int, size: int) -> int:
        return self._allocated(self.device, out, size)

    def _allocated(self, memory: dict[int, npt.NDArray[np.uint8]], out: int, size: int) -> int:
        if size > _MOST_BYTES:
            return 2
        made = np.empty(size, np.uint8)
        made[: 1 << 16] = 0xA5
        memory[made.ctypes.data] = made
        _put(out, made.ctypes.data)
        return 0

    def hipHostGetDevicePointer(self, out: int, at: int, flags: int) -> int:
        _put(out, at)
        return 0 if at in self.host and flags == 0 else 1

    def hipHostFree(self, at: int) -> int:
        return self._freed(self.host, at)

    def hipFree(self, at: int) -> int:
        return self._freed(self.device, at)

    def _freed(self, memory: dict[int, npt.NDArray[np.uint8]], at: int) -> int:
        self.hipDeviceSynchronize()
        return 0 if memory.pop(at, None) is not None else 1

    def hipMemcpyHtoD(self, target: int, source: int, size: int) -> int:
        self.hipDeviceSynchronize()
        ctypes.memmove(target, source, size)
        return 0

    # ---- code

    def hipModuleLoadData(self, out: int, image: int) -> int:
        handle = self._handle()
        self.modules[handle] = _Module(ctypes.string_at(image, _image_bytes(image)))
        _put(out, handle)
        return 0

    def hipModuleUnload(self, module: int) -> int:
        return 0 if self.modules.pop(module, None) is not None else 400

    def hipModuleGetFunction(self, out: int, module: int, name: bytes) -> int:
        if name.decode() not in self.modules[module].kernels:
            return 500
        handle = self._handle()
        self._kernels[handle] = self.modules[module], name.decode()
        _put(out, handle)
        return 0

    def hipModuleGetGlobal(self, out: int, size: int, module: int, name: bytes) -> int:
        loaded = self.modules[module]
        if name.decode() not in loaded.variables:
            return 500
        symbol = loaded.variables[name.decode()]
        _put(out, loaded.code.base + symbol.value)
        _put(size, symbol.size)
        return 0

    # ---- launches

    def hipModuleLaunchKernel(self, function: int, *rest: Any) -> int:
        groups, _, _, threads, _, _, shared, stream, parameters, extra = rest
        if rest[1:3] + rest[4:6] != (1, 1, 1, 1) or (shared, stream, parameters) != (0, None, None):
            return 1
        buffer, words, ends, size, end = (ctypes.c_void_p * 5).from_address(extra)
        module, name = self._kernels[function]
        kernel, bytes_ = module.kernels[name], _SIZE.from_address(size).value
        if (buffer, ends, end, bytes_) != (1, 2, 3, kernel.descriptor.words_bytes) or threads > kernel.most_threads:
            return 1
        copy = ctypes.create_string_buffer(ctypes.string_at(words, bytes_), bytes_)
        start = started(kernel.descriptor)
        self._queue.append(lambda: module.code.dispatch(start, ctypes.addressof(copy), groups, threads))
        self.groups.append((groups, threads))
        return 0

    def hipDeviceSynchronize(self) -> int:
        queue, self._queue = self._queue, []
        for run in queue:
            run()
        return 0


def _title(code: int) -> bytes:
    return NAMES.get(code, f"hipError{code}").encode()


def _meaning(code: int) -> bytes:
    return f"what {code} means".encode()


def _put(at: int, value: int, kind: Any = _SIZE) -> None:
    kind.from_address(at).value = value


def _image_bytes(at: int) -> int:
    """How long the ELF file at an address is: its table of sections comes last."""
    head = ctypes.string_at(at, 64)
    return int.from_bytes(head[40:48], "little") + 64 * int.from_bytes(head[60:62], "little")
