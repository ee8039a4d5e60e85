"""NVIDIA's driver, called where it lives: `libcuda`, which comes with the driver and needs no package."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.errors import AdstackError, AdstackMemoryError, AdstackRuntimeError

from .driver_error import DriverError
from .graph_calls import DriverGraph, Node
from .header import (
    ATTRIBUTES,
    ERROR_LOG,
    ERROR_LOG_BYTES,
    HEAP_LIMIT,
    NO_TIMING,
    NOT_STARTED,
    OUT_OF_MEMORY,
    PTX,
    REFUSED,
    TARGET_FROM_CONTEXT,
)
from .overlap import can_overlap, overlapping

__all__ = ["Device", "Driver", "failure", "library"]

_NAMES: Final = ("libcuda.so.1", "libcuda.so", "nvcuda.dll")
_MOST_BYTES: Final = 2**62
_WORD: Final = 8
_HEAP_BYTES: Final = 256 * 1024 * 1024
_HEAP_SHARE: Final = 64
"""The device's own heap has this part of its memory, and so many bytes at least: some KiB for every thread."""
_LOG_BYTES: Final = 16384


@dataclass(frozen=True)
class Device:
    """What a device is.

    Attributes:
        name: as the driver calls it.
        capability: of its architecture, as (major, minor).
        memory: bytes.
        multiprocessors: how many.
        threads: that a multiprocessor runs at once.
        driver: the version of CUDA that the driver offers, as (major, minor).
        warp: threads that go together; the host playing a device has one.
    """

    name: str
    capability: tuple[int, int]
    memory: int
    multiprocessors: int
    threads: int
    driver: tuple[int, int]
    warp: int = 32


@cache
def library() -> ctypes.CDLL | None:
    """The driver, or None if there is none on this machine."""
    return next(filter(None, map(_opened, _NAMES)), None)


def _present() -> ctypes.CDLL:
    """The driver; only called where it was found."""
    driver = library()
    assert driver is not None, "there is no driver of CUDA on this machine"
    return driver


def _opened(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def failure(error: DriverError, doing: str) -> AdstackError:
    """What a program is told about a call that failed."""
    if error.code == OUT_OF_MEMORY:
        return AdstackMemoryError(
            f"the device has no memory left for {doing}",
            do="use smaller arrays, free those not needed, or end other programs that use the device",
        )
    if error.is_lost:
        return AdstackRuntimeError(
            f"the device failed, {doing}: {error}",
            do="end this process, which can't use the device any more; debug=True finds accesses out of bounds",
        )
    forked = "start processes by spawn: one that was forked can't use the device" if error.code == NOT_STARTED else ""
    return AdstackRuntimeError(f"{doing}: {error}", do=forked)


class Driver:
    """One device. Everything is done on the default stream, in the primary context, which torch and cupy use too."""

    host = False
    """Whether it is the host that plays the device."""

    def __init__(self, ordinal: int) -> None:
        self._library = _present()
        self._handle, self._context = ctypes.c_int(), ctypes.c_void_p()
        self._event = ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(self._handle), ordinal)
        self.device = self._described()

    @staticmethod
    def count() -> int:
        """How many devices there are; DriverError if the driver does not work."""
        number = ctypes.c_int()
        _checked("cuInit", _present().cuInit(0))
        _checked("cuDeviceGetCount", _present().cuDeviceGetCount(ctypes.byref(number)))
        return number.value

    def _call(self, name: str, *args: object) -> None:
        _checked(name, getattr(self._library, name)(*args))

    def _described(self) -> Device:
        name, memory, version = ctypes.create_string_buffer(256), ctypes.c_size_t(), ctypes.c_int()
        self._call("cuDeviceGetName", name, 256, self._handle)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(memory), self._handle)
        self._call("cuDriverGetVersion", ctypes.byref(version))
        numbers = {key: self._attribute(code) for key, code in ATTRIBUTES.items()}
        return Device(
            name.value.decode(),
            (numbers["major"], numbers["minor"]),
            memory.value,
            numbers["multiprocessors"],
            numbers["threads"],
            (version.value // 1000, version.value % 1000 // 10),
        )

    def _attribute(self, code: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), code, self._handle)
        return value.value

    def enter(self) -> None:
        """Let this thread use the device; the first to do so starts it."""
        if self._context.value is None:
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._handle)
        self._call("cuCtxSetCurrent", self._context)

    # ---- memory

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        """The address of so many bytes."""
        address = ctypes.c_uint64()
        size = max(-(-size // _WORD), 1) * _WORD  # atomic operations on bytes take the whole word
        if size > _MOST_BYTES:  # the driver would be handed what is left of it in 64 bits
            raise DriverError("cuMemAlloc", OUT_OF_MEMORY, f"{size} bytes are more than any device has")
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        if zeroed:
            self.zero(address.value, size)
        return address.value

    def free(self, address: int) -> None:
        """Give memory back, once everything launched has finished with it."""
        self._call("cuMemFree_v2", ctypes.c_uint64(address))

    def zero(self, address: int, size: int) -> None:
        """Zero bytes, after what was launched before."""
        self._call("cuMemsetD8Async", ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size), None)

    def fill(self, address: int, count: int, element: bytes) -> None:
        """Repeat the 1, 2, 4 or 8 bytes of an element, after what was launched before."""
        words = [int.from_bytes(element[k : k + 4], "little") for k in range(0, len(element), 4)]
        if len(words) == 2 and words[0] == words[1]:
            words, count = words[:1], 2 * count
        if len(words) == 2:
            for k, word in enumerate(words):
                at, pitch = ctypes.c_uint64(address + 4 * k), ctypes.c_size_t(8)
                self._call("cuMemsetD2D32Async", at, pitch, word, ctypes.c_size_t(1), ctypes.c_size_t(count), None)
            return
        name = f"cuMemsetD{8 * min(len(element), 4)}Async"
        kind = {1: ctypes.c_ubyte, 2: ctypes.c_ushort}.get(len(element), ctypes.c_uint)
        self._call(name, ctypes.c_uint64(address), kind(words[0]), ctypes.c_size_t(count), None)

    def copy(self, source: int, target: int, size: int) -> None:
        """Copy bytes on the device, after what was launched before."""
        if size:
            addresses = ctypes.c_uint64(target), ctypes.c_uint64(source)
            self._call("cuMemcpyDtoDAsync_v2", *addresses, ctypes.c_size_t(size), None)

    def upload(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """Copy a C-contiguous array to the device, after what was launched before."""
        if array.nbytes:
            source = ctypes.c_void_p(array.ctypes.data)
            self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), source, ctypes.c_size_t(array.nbytes))

    def download(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """Copy to a C-contiguous array, after what was launched before; all of it has finished then."""
        if array.nbytes:
            target = ctypes.c_void_p(array.ctypes.data)
            self._call("cuMemcpyDtoH_v2", target, ctypes.c_uint64(address), ctypes.c_size_t(array.nbytes))

    def pinned(self, size: int) -> int:
        """The address of so many zeroed bytes of the host that the device copies to while the host goes on."""
        address = ctypes.c_void_p()
        self._call("cuMemHostAlloc", ctypes.byref(address), ctypes.c_size_t(size), 0)
        ctypes.memset(address.value or 0, 0, size)
        return address.value or 0

    def free_pinned(self, address: int) -> None:
        """Give memory of the host back, to which nothing is on its way."""
        self._call("cuMemFreeHost", ctypes.c_void_p(address))

    def send(self, address: int, pinned: int, size: int) -> None:
        """Copy to pinned memory, some time after what was launched before."""
        self._call(
            "cuMemcpyDtoHAsync_v2", ctypes.c_void_p(pinned), ctypes.c_uint64(address), ctypes.c_size_t(size), None
        )

    def available(self) -> int:
        """Bytes that are free."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    # ---- code

    def link(self, ptx: str) -> bytes:
        """Machine code of PTX, for this very device."""
        state, image, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        log = ctypes.create_string_buffer(_LOG_BYTES)
        names = (ctypes.c_int * 3)(ERROR_LOG, ERROR_LOG_BYTES, TARGET_FROM_CONTEXT)
        values = (ctypes.c_void_p * 3)(ctypes.addressof(log), _LOG_BYTES, None)
        self._call("cuLinkCreate_v2", 3, names, values, ctypes.byref(state))
        try:
            text = ptx.encode() + b"\0"
            self._call("cuLinkAddData_v2", state, PTX, text, ctypes.c_size_t(len(text)), b"kernels", 0, None, None)
            self._call("cuLinkComplete", state, ctypes.byref(image), ctypes.byref(size))
            return ctypes.string_at(image, size.value)
        except DriverError as error:
            said = log.value.decode(errors="replace").strip()
            raise DriverError(f"assembling a kernel ({said})", error.code, str(error)) from error
        finally:
            self._call("cuLinkDestroy", state)

    def load(self, image: bytes, *, heap: bool = False) -> ctypes.c_void_p:
        """A module of machine code; say so if its threads take memory of the device's own heap."""
        if heap:
            self._make_heap()
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), image)
        return module

    def _make_heap(self) -> None:
        """Have room for what threads take for themselves.

        It can't be made once any kernel of this process has used the heap, and stands as long as the process does: what
        an earlier `init` made is found again. A smaller one that others have used is kept: threads may find it full.
        """
        limit = ctypes.c_size_t()
        self._call("cuCtxGetLimit", ctypes.byref(limit), HEAP_LIMIT)
        wanted = max(self.device.memory // _HEAP_SHARE, _HEAP_BYTES)
        if limit.value < wanted:
            code = self._library.cuCtxSetLimit(HEAP_LIMIT, ctypes.c_size_t(wanted))
            if code != REFUSED:
                _checked("cuCtxSetLimit", code)

    def unload(self, module: object) -> None:
        """Forget a module, once everything launched has finished."""
        self._call("cuModuleUnload", module)

    def function(self, module: object, name: str) -> int:
        """A kernel of a module."""
        function = ctypes.c_void_p()
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function.value or 0

    def resident(self, function: int, threads: int) -> int:
        """How many blocks of so many threads a multiprocessor runs at once."""
        blocks = ctypes.c_int()
        self._call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks),
            ctypes.c_void_p(function),
            threads,
            ctypes.c_size_t(0),
        )
        return blocks.value

    def functions(self) -> list[int]:
        """What the host's code of a program calls: launching, making the context this thread's, the context, zeroing,
        copying to the host.
        """
        launch, use, zero, fetch = (
            ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0
            for name in ("cuLaunchKernel", "cuCtxSetCurrent", "cuMemsetD8Async", "cuMemcpyDtoH_v2")
        )
        if can_overlap(self.device.capability):
            launch = overlapping(self._library)
        return [launch, use, self._context.value or 0, zero, fetch]

    def launch(self, function: int, threads: int, word: int) -> None:
        """Launch one block of threads, with one word as its argument."""
        argument = ctypes.c_uint64(word)
        params = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        shape = (1, 1, 1, threads, 1, 1, 0)
        self._call("cuLaunchKernel", ctypes.c_void_p(function), *shape, None, params, None)

    def graph(self, nodes: Sequence[Node]) -> DriverGraph:
        """Nodes that are launched together, one after the other."""
        return DriverGraph(self._call, self._context, nodes, self._setter)

    def _setter(self) -> int:
        """The address of cuGraphExecKernelNodeSetParams."""
        return ctypes.cast(self._library.cuGraphExecKernelNodeSetParams_v2, ctypes.c_void_p).value or 0

    def order(self, first: int | None, then: int | None) -> None:
        """Let what comes into one stream wait for what is in another; None is the default stream."""
        if self._event.value is None:
            self._call("cuEventCreate", ctypes.byref(self._event), NO_TIMING)
        self._call("cuEventRecord", self._event, ctypes.c_void_p(first))
        self._call("cuStreamWaitEvent", ctypes.c_void_p(then), self._event, 0)

    def check(self, code: int) -> None:
        """Raise what a launch gave, if it is an error."""
        _checked("cuLaunchKernel", code)

    def synchronize(self) -> None:
        """Wait until everything has finished."""
        self._call("cuCtxSynchronize")


def _checked(name: str, code: int) -> None:
    if code:
        words = []
        for look in (_present().cuGetErrorName, _present().cuGetErrorString):
            text = ctypes.c_char_p()
            look(code, ctypes.byref(text))
            words.append((text.value or b"").decode())
        raise DriverError(name, code, ", ".join(filter(None, words)) or "unknown error")
