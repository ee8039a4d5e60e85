"""The host playing a CUDA device, to see what kernels and launches mean where there is none: slow, but the same text.

Memory of the device is memory that the program is never shown. Threads run one after another, each a block of its own,
or, where iterations are blocks of threads that wait for each other, from one barrier to the next (`played/blocks.py`).
What only the real device can tell, its arithmetic, its memory model, its driver, is not to be seen here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.object_cache import ObjectCache
from adstack.runtime.protocol import host_pages

from .commands.layout import NODE_PARAMS
from .interface.driver import Copy, Device, Launch, Node, Zero
from .interface.errors import OUT_OF_MEMORY, DriverError
from .toolchain import Code, host_code

__all__ = ["Emulator"]

_ALIGNMENT: Final = 256
_GUARD: Final = 2 * _ALIGNMENT
"""Bytes that each allocation is larger by: to align it, and to see behind its end what was written there."""
_FUNCTIONS: Final = ("adstack.launch", "adstack.use", "adstack.zero", "adstack.fetch")
_COPY: Final = "adstack.copy"
_TEXT: Final = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @adstack.use(ptr %context) {
  ret i32 0
}
define i32 @adstack.zero(ptr %at, i8 %value, i64 %size, ptr %stream) {
  call void @llvm.memset.p0.i64(ptr %at, i8 %value, i64 %size, i1 false)
  ret i32 0
}
define i32 @adstack.fetch(ptr %to, ptr %from, i64 %size) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret i32 0
}
define i32 @adstack.copy(ptr %to, ptr %from, i64 %size, ptr %stream) {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  ret i32 0
}
define i32 @adstack.launch(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, ptr %stream,
    ptr %params, ptr %extra) {
  %ctx = load ptr, ptr %params
  %threads = mul i32 %gx, %bx
  %wide = zext i32 %threads to i64
  %code = call i32 %f(ptr %ctx, i64 %wide)
  ret i32 %code
}
"""


class Emulator:
    """A `Driver`, see there."""

    host = True

    def __init__(self, memory: int = 1 << 32) -> None:
        self.device = Device("the host playing a CUDA device", (9, 0), memory, 4, 8, (13, 0), warp=1)
        self._memory: dict[int, npt.NDArray[np.uint8]] = {}
        self._sizes: dict[int, int] = {}
        self.orders: list[tuple[int | None, int | None]] = []
        self._code = host_code(_TEXT, (*_FUNCTIONS, _COPY), None)
        self._graphs: WeakValueDictionary[int, EmulatedGraph] = WeakValueDictionary()
        self._setter, self._starter = _SETTER(self._tell), _STARTER(self._start)

    def enter(self) -> None:
        """Every thread may use it."""

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        """See `Driver.allocate`."""
        if size > self.available():
            raise DriverError("allocate", OUT_OF_MEMORY, "out of memory")
        memory = np.full(max(size, 1) + _GUARD, 0xA5, np.uint8)
        address = self._kept(memory, size)
        if zeroed:
            ctypes.memset(address, 0, size)
        return address

    def _kept(self, memory: npt.NDArray[np.uint8], size: int) -> int:
        """The address of `size` bytes, which are in use from now on, in memory that is larger."""
        address = -(-memory.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        self._memory[address] = memory
        self._sizes[address] = size
        return address

    def allocate_by_page(self, size: int) -> tuple[int, bool]:
        """See `Driver.allocate_by_page`: the system of the host does that."""
        memory = host_pages.take(size + _GUARD)
        address = self._kept(memory, size)
        memory[address - memory.ctypes.data + size :] = 0xA5
        return address, True

    def free(self, address: int) -> None:
        """Forget memory; AssertionError if something wrote behind its end, and so into the host's heap."""
        memory = self._memory.pop(address)
        end = address - memory.ctypes.data + self._sizes.pop(address)
        assert (memory[end:] == 0xA5).all(), f"something wrote behind the {memory.size - _GUARD} bytes at {address:#x}"

    def zero(self, address: int, size: int) -> None:
        """See `Driver.zero`."""
        ctypes.memset(address, 0, size)

    def fill(self, address: int, count: int, element: bytes) -> None:
        """See `Driver.fill`."""
        ctypes.memmove(address, element * count, len(element) * count)

    def copy(self, source: int, target: int, size: int) -> None:
        """See `Driver.copy`."""
        ctypes.memmove(target, source, size)

    def upload(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """See `Driver.upload`."""
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def download(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """See `Driver.download`."""
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def pinned(self, size: int) -> int:
        """See `Driver.pinned`."""
        return self.allocate(size)

    def free_pinned(self, address: int) -> None:
        """See `Driver.free_pinned`."""
        self.free(address)

    def send(self, address: int, pinned: int, size: int) -> None:
        """See `Driver.send`."""
        ctypes.memmove(pinned, address, size)

    @property
    def pieces(self) -> int:
        """How many pieces of memory are in use."""
        return len(self._memory)

    def available(self) -> int:
        """Bytes that are free."""
        return self.device.memory - sum(allocation.size for allocation in self._memory.values())

    def load(self, text: str, symbols: Sequence[str], cached: ObjectCache | None) -> Code:
        """See `Driver.load`: a module is machine code of the host."""
        return host_code(text, [f"{symbol}.grid" for symbol in symbols], cached)

    def unload(self, module: object) -> None:
        """See `Driver.unload`: a module goes with its object."""

    def function(self, module: object, name: str) -> int:
        """See `Driver.function`: it runs all threads of a task."""
        assert isinstance(module, Code)
        return module.symbols[f"{name}.grid"]

    def resident(self, function: int, threads: int) -> int:
        """See `Driver.resident`."""
        return self.device.threads // threads

    def float_adds(self, cached: ObjectCache | None) -> Mapping[str, float]:
        """See `Driver.float_adds`: all of them, always."""
        return _ADDS

    def functions(self) -> list[int]:
        """What stands for the driver's functions."""
        launch, use, zero, fetch = (self._code.symbols[name] for name in _FUNCTIONS)
        return [launch, use, 0, zero, fetch]

    def copier(self) -> list[int]:
        """What stands for the driver's functions."""
        return [self._code.symbols[_COPY], self._code.symbols["adstack.use"], 0, 0]

    def graph_functions(self) -> list[int]:
        """See `Driver.graph_functions`."""
        return [ctypes.cast(one, ctypes.c_void_p).value or 0 for one in (self._setter, self._starter)]

    def _tell(self, graph: int, node: int, address: int) -> int:
        """What cuGraphExecKernelNodeSetParams does."""
        self._graphs[graph].tell(node, address)
        return 0

    def _start(self, graph: int, _: int | None) -> int:
        """What cuGraphLaunch does."""
        try:
            self._graphs[graph].launch()
        except DriverError as error:  # which the driver's function would give as a code
            return error.code
        return 0

    def launch(self, node: Launch) -> None:
        """See `Driver.launch`: it runs all threads of a task."""
        self.check(_GRID(node.function)(node.words.ctypes.data, node.grid * node.block))

    def graph(self, nodes: Sequence[Node]) -> EmulatedGraph:
        """See `Driver.graph`: it does the nodes one after the other."""
        graph = EmulatedGraph(self, nodes)
        self._graphs[graph.handle] = graph
        return graph

    def order(self, first: int | None, then: int | None) -> None:
        """See `Driver.order`: everything has been done; it is noted that somebody wanted an order."""
        self.orders.append((first, then))

    def check(self, code: int) -> None:
        """See `Driver.check`: what can go wrong is that threads of a block wait for others that never come."""
        if code:
            raise DriverError("launch", code, "the threads of a block have come to different barriers")

    def synchronize(self) -> None:
        """Everything has finished."""


class EmulatedGraph:
    """A `DriverGraph`, see there; nodes keep the words that they were handed, and node k has the handle k + 1."""

    def __init__(self, host: Emulator, nodes: Sequence[Node]) -> None:
        self._host = host
        self._nodes = [_kept(node) for node in nodes]
        self.handle = id(self)
        self.handles: Sequence[int] = range(1, len(nodes) + 1)

    def tell(self, number: int, address: int) -> None:
        """Hand the kernel of a node, by its handle, what stands at the address of CUDA_KERNEL_NODE_PARAMS."""
        params = np.frombuffer(ctypes.string_at(address, NODE_PARAMS.itemsize), NODE_PARAMS)[0]
        node = self._nodes[number - 1]
        assert isinstance(node, Launch)
        (at,) = np.frombuffer(ctypes.string_at(int(params["params"]), 8), np.uint64)
        words = np.frombuffer(ctypes.string_at(int(at), node.words.nbytes), np.int64)
        self.set(number - 1, Launch(int(params["function"]), int(params["grid"][0]), int(params["block"][0]), words))

    def set(self, number: int, node: Launch) -> None:
        """See `DriverGraph.set`."""
        self._nodes[number] = _kept(node)

    def launch(self) -> None:
        """Do everything."""
        for node in self._nodes:
            if isinstance(node, Zero):
                self._host.zero(node.address, node.size)
            elif isinstance(node, Copy):
                self._host.copy(node.source, node.target, node.size)
            else:
                self._host.launch(node)


_ADDS: Final[Mapping[str, float]] = MappingProxyType({"f16": 0, "f32": 0, "f64": 0})
_SETTER: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_STARTER: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_GRID: Final = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)


def _kept(node: Node) -> Node:
    return node if isinstance(node, (Zero, Copy)) else Launch(node.function, node.grid, node.block, node.words.copy())
