"""A device by way of NVIDIA's driver."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.object_cache import ObjectCache

from . import adds
from .bindings import Handle, address, call, declarations, error_of
from .interface.driver import Device, Launch, Node
from .interface.errors import OUT_OF_MEMORY, REFUSED, DriverError
from .native_graphs import NativeGraph
from .overlap import can_overlap, overlapping
from .toolchain import architecture, ptx, recipe

__all__ = ["NativeDriver", "count"]

_MOST_BYTES: Final = 2**62
_WORD: Final = 8
_LEAST_BY_PAGE: Final = 4 << 20
"""Bytes: pages of a device have 2 MiB."""
_TO_ALL_STREAMS: Final = 1
"""CU_MEM_ATTACH_GLOBAL"""
_HEAP_BYTES: Final = 256 * 1024 * 1024
_HEAP_SHARE: Final = 64
"""The device's own heap has this part of its memory, and so many bytes at least: some KiB for every thread."""
_LOG_BYTES: Final = 16384
_NAME_BYTES: Final = 256


def count() -> int:
    """How many devices there are; DriverError if the driver does not work."""
    call("cuInit", 0)
    number: int = call("cuDeviceGetCount")
    return number


class NativeDriver:
    """A `Driver`, see there, in the primary context of a device, which torch and cupy use too.

    Addresses of the host are handed over as numbers: of an array, cuda-bindings may take the value for the address.

    Args:
        ordinal: the device's number among those that the driver shows.
    """

    host = False

    def __init__(self, ordinal: int) -> None:
        call("cuInit", 0)
        self._handle = call("cuDeviceGet", ordinal)
        self._context: Handle = None
        self._event: Handle = None
        self._use = declarations().cuCtxSetCurrent
        self.device = self._described()
        self._by_page = bool(self._attribute("CONCURRENT_MANAGED_ACCESS"))

    def _described(self) -> Device:
        version = call("cuDriverGetVersion")
        return Device(
            call("cuDeviceGetName", _NAME_BYTES, self._handle).split(b"\0")[0].decode().strip(),
            (self._attribute("COMPUTE_CAPABILITY_MAJOR"), self._attribute("COMPUTE_CAPABILITY_MINOR")),
            call("cuDeviceTotalMem", self._handle),
            self._attribute("MULTIPROCESSOR_COUNT"),
            self._attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
            (version // 1000, version % 1000 // 10),
        )

    def _attribute(self, name: str) -> int:
        attribute = getattr(declarations().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        value: int = call("cuDeviceGetAttribute", attribute, self._handle)
        return value

    def enter(self) -> None:
        """See `Driver.enter`."""
        if self._context is None:
            self._context = call("cuDevicePrimaryCtxRetain", self._handle)
        (code,) = self._use(self._context)  # every launch by Python comes here: `call` would take twice the time
        if code:
            raise error_of("cuCtxSetCurrent", code)

    # ---- memory

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        """See `Driver.allocate`."""
        size = max(-(-size // _WORD), 1) * _WORD  # atomic operations on bytes take the whole word
        if size > _MOST_BYTES:  # the driver would be handed what is left of it in 64 bits
            raise DriverError("cuMemAlloc", OUT_OF_MEMORY, f"{size} bytes are more than any device has")
        at = int(call("cuMemAlloc", size))
        if zeroed:
            self.zero(at, size)
        return at

    def allocate_by_page(self, size: int) -> tuple[int, bool]:
        """See `Driver.allocate_by_page`: managed memory, whose pages are zeroed, as nobody may see what others left."""
        if size < _LEAST_BY_PAGE or not self._by_page:
            return self.allocate(size), False
        if size > _MOST_BYTES:
            raise DriverError("cuMemAllocManaged", OUT_OF_MEMORY, f"{size} bytes are more than any device has")
        return int(call("cuMemAllocManaged", size, _TO_ALL_STREAMS)), True

    def free(self, address: int) -> None:
        """See `Driver.free`."""
        call("cuMemFree", address)

    def available(self) -> int:
        """See `Driver.available`."""
        free: int = call("cuMemGetInfo")[0]
        return free

    def zero(self, address: int, size: int) -> None:
        """See `Driver.zero`."""
        call("cuMemsetD8Async", address, 0, size, None)

    def fill(self, address: int, count: int, element: bytes) -> None:
        """See `Driver.fill`."""
        words = [int.from_bytes(element[k : k + 4], "little") for k in range(0, len(element), 4)]
        if len(words) == 2 and words[0] == words[1]:
            words, count = words[:1], 2 * count
        if len(words) == 2:
            for k, word in enumerate(words):
                call("cuMemsetD2D32Async", address + 4 * k, 8, word, 1, count, None)
        else:
            call(f"cuMemsetD{8 * min(len(element), 4)}Async", address, words[0], count, None)

    def copy(self, source: int, target: int, size: int) -> None:
        """See `Driver.copy`."""
        if size:
            call("cuMemcpyDtoDAsync", target, source, size, None)

    def upload(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """See `Driver.upload`."""
        if array.nbytes:
            call("cuMemcpyHtoD", address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """See `Driver.download`."""
        if array.nbytes:
            call("cuMemcpyDtoH", array.ctypes.data, address, array.nbytes)

    def pinned(self, size: int) -> int:
        """See `Driver.pinned`."""
        at: int = call("cuMemHostAlloc", size, 0)
        ctypes.memset(at, 0, size)
        return at

    def free_pinned(self, address: int) -> None:
        """See `Driver.free_pinned`."""
        call("cuMemFreeHost", address)

    def send(self, address: int, pinned: int, size: int) -> None:
        """See `Driver.send`."""
        call("cuMemcpyDtoHAsync", pinned, address, size, None)

    # ---- code

    def load(self, text: str, symbols: Sequence[str], cached: ObjectCache | None) -> object:
        """See `Driver.load`: machine code is made for this very device."""
        target = architecture(self.device.capability)
        device = (self.device.name, *map(str, self.device.capability + self.device.driver))
        key = "" if cached is None else cached.key(text, *target, *device, recipe())
        image = None if cached is None else cached.read(key)
        if image is None:
            image = self.link(ptx(text, target))
            if cached is not None:
                cached.write(key, image)
        if "@malloc(" in text:
            self.make_heap()
        return self.load_image(image)

    def link(self, ptx: str) -> bytes:
        """Machine code of PTX, for this very device; DriverError, with what the assembler said, if it can't be made."""
        option = declarations().CUjit_option
        log = bytearray(_LOG_BYTES)  # the driver writes to it, as long as there is the state
        values = {
            option.CU_JIT_ERROR_LOG_BUFFER: log,
            option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
            option.CU_JIT_TARGET_FROM_CUCONTEXT: 0,
        }
        state = call("cuLinkCreate", len(values), [*values], [*values.values()])
        try:
            return self._linked(state, ptx.encode() + b"\0")
        except DriverError as error:
            said = log.split(b"\0")[0].decode(errors="replace").strip()
            raise DriverError(f"assembling a kernel ({said})", error.code, str(error)) from error
        finally:
            call("cuLinkDestroy", state)

    def _linked(self, state: Handle, text: bytes) -> bytes:
        """What a state of the linker makes of one text of PTX."""
        kind = declarations().CUjitInputType.CU_JIT_INPUT_PTX
        call("cuLinkAddData", state, kind, text, len(text), b"kernels", 0, [], [])
        image, size = call("cuLinkComplete", state)
        return ctypes.string_at(image, size)

    def load_image(self, image: bytes) -> object:
        """A module of machine code."""
        return call("cuModuleLoadData", image)

    def make_heap(self) -> None:
        """Have room for what threads take for themselves.

        It can't be made once any kernel of this process has used the heap, and stands as long as the process does: what
        an earlier `init` made is found again. A smaller one that others have used is kept: threads may find it full.
        """
        limit = declarations().CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE
        wanted = max(self.device.memory // _HEAP_SHARE, _HEAP_BYTES)
        if call("cuCtxGetLimit", limit) >= wanted:
            return
        try:
            call("cuCtxSetLimit", limit, wanted)
        except DriverError as error:
            if error.code != REFUSED:
                raise

    def unload(self, module: object) -> None:
        """See `Driver.unload`."""
        call("cuModuleUnload", module)

    def function(self, module: object, name: str) -> int:
        """See `Driver.function`."""
        return int(call("cuModuleGetFunction", module, name.encode()))

    def resident(self, function: int, threads: int) -> int:
        """See `Driver.resident`."""
        blocks: int = call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, 0)
        return blocks

    def float_adds(self, cached: ObjectCache | None) -> Mapping[str, float]:
        """See `Driver.float_adds`: it is what `adds.py` sees the device do."""
        return adds.float_adds(self, cached)

    # ---- launches

    def functions(self) -> list[int]:
        """What the host's code of a program calls: launching, making the context this thread's, the context, zeroing,
        copying to the host.
        """
        overlaps = can_overlap(self.device.capability)
        launch = overlapping(address("cuLaunchKernelEx")) if overlaps else address("cuLaunchKernel")
        zero, fetch = address("cuMemsetD8Async"), address("cuMemcpyDtoH")
        return [launch, address("cuCtxSetCurrent"), int(self._context), zero, fetch]

    def copier(self) -> list[int]:
        """What copies of machine code call: copying on the device, making the context this thread's, the context, the
        default stream.
        """
        return [address("cuMemcpyDtoDAsync"), address("cuCtxSetCurrent"), int(self._context), 0]

    def graph_functions(self) -> list[int]:
        """See `Driver.graph_functions`."""
        return [address("cuGraphExecKernelNodeSetParams"), address("cuGraphLaunch")]

    def launch(self, node: Launch) -> None:
        """See `Driver.launch`."""
        words = np.array([node.words.ctypes.data], np.uint64)
        call("cuLaunchKernel", node.function, node.grid, 1, 1, node.block, 1, 1, 0, None, words.ctypes.data, 0)

    def graph(self, nodes: Sequence[Node]) -> NativeGraph:
        """Nodes that are launched together, one after the other."""
        return NativeGraph(self._context, nodes)

    def order(self, first: int | None, then: int | None) -> None:
        """See `Driver.order`."""
        if self._event is None:
            self._event = call("cuEventCreate", int(declarations().CUevent_flags.CU_EVENT_DISABLE_TIMING))
        call("cuEventRecord", self._event, first)
        call("cuStreamWaitEvent", then, self._event, 0)

    def check(self, code: int) -> None:
        """See `Driver.check`."""
        if code:
            raise error_of("cuLaunchKernel", code)

    def synchronize(self) -> None:
        """See `Driver.synchronize`."""
        call("cuCtxSynchronize")
