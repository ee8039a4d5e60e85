"""What the backend asks of a CUDA device. NVIDIA's driver does it (`native.py`), or the host (`emulator.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from adstack.backends.shared.object_cache import ObjectCache

__all__ = ["Copy", "Device", "Driver", "DriverGraph", "Launch", "Node", "Zero", "memory_use"]

_LOCAL_SHARE: Final = 16


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

    @property
    def local_bytes(self) -> int:
        """What adstacks may take of a thread's own memory.

        A process that has launched a kernel holds the local memory of as many of its threads as the device ever runs
        at once, until it ends: no more than `_LOCAL_SHARE` of the device's memory shall go there, since a dozen
        processes may share the device.
        """
        return self.memory // _LOCAL_SHARE // (self.multiprocessors * self.threads)


@dataclass(frozen=True)
class Launch:
    """A kernel with the words that it is handed: by value, when the graph is made or the node is set."""

    function: int
    grid: int
    block: int
    words: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Zero:
    """Bytes to be zeroed."""

    address: int
    size: int


@dataclass(frozen=True)
class Copy:
    """Bytes to be copied from one place of the device's memory to another."""

    target: int
    source: int
    size: int


Node = Launch | Zero | Copy


class DriverGraph(Protocol):
    """Nodes one after the other, ready to be launched on the default stream. Calls raise DriverError.

    Attributes:
        handle: its own, for the functions of `Driver.graph_functions`.
        handles: of its nodes, in order.
    """

    handle: int
    handles: Sequence[int]

    def set(self, number: int, node: Launch) -> None:
        """Hand the kernel of the node `number` other words from the next launch of the graph on."""

    def launch(self) -> None:
        """Queue everything."""


class Driver(Protocol):
    """One device. Everything is done in order, on the default stream. Calls raise DriverError.

    Addresses and handles are numbers, sizes are bytes.

    Attributes:
        host: whether it is the host that plays the device.
        device: what the device is.
    """

    host: bool
    device: Device

    def enter(self) -> None:
        """Let this thread use the device; the first to do so starts it."""

    # ---- memory

    def allocate(self, size: int, *, zeroed: bool = True) -> int:
        """The address of `size` bytes of the device, zeroed or as they come."""

    def allocate_by_page(self, size: int) -> tuple[int, bool]:
        """The address of `size` zeroed bytes of the device, and whether it takes pages of them only as they are first
        touched.
        """

    def free(self, address: int) -> None:
        """Give the memory at an address back, once everything launched has finished with it."""

    def available(self) -> int:
        """Bytes that are free."""

    def zero(self, address: int, size: int) -> None:
        """Zero `size` bytes from an address on, after what was launched before."""

    def fill(self, address: int, count: int, element: bytes) -> None:
        """Repeat the 1, 2, 4 or 8 bytes of an element `count` times, after what was launched before."""

    def copy(self, source: int, target: int, size: int) -> None:
        """Copy `size` bytes on the device from one address to another, after what was launched before."""

    def upload(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """Copy a C-contiguous array to an address of the device, after what was launched before."""

    def download(self, address: int, array: npt.NDArray[np.generic]) -> None:
        """Copy from an address to a C-contiguous array, after what was launched before; all of it has finished then."""

    def pinned(self, size: int) -> int:
        """The address of `size` zeroed bytes of the host that the device copies to while the host goes on."""

    def free_pinned(self, address: int) -> None:
        """Give the memory of the host at an address back, to which nothing is on its way."""

    def send(self, address: int, pinned: int, size: int) -> None:
        """Copy `size` bytes from an address to pinned memory, some time after what was launched before."""

    # ---- code

    def load(self, text: str, symbols: Sequence[str], cached: ObjectCache | None) -> object:
        """A module of LLVM text, compiled or taken from the cache.

        Args:
            text: of a whole program, with the code of the device or of the host that plays it.
            symbols: its kernels.
            cached: where machine code is kept.
        """

    def unload(self, module: object) -> None:
        """Forget a module, once everything launched has finished."""

    def function(self, module: object, name: str) -> int:
        """The handle of the kernel of that name in a module."""

    def resident(self, function: int, threads: int) -> int:
        """How many blocks of so many threads of a kernel, the `function`, a multiprocessor runs at once."""

    def float_adds(self, cached: ObjectCache | None) -> Mapping[str, float]:
        """The float types to which memory adds by itself -> the least magnitude with which it does so to the bit.

        It is tried on the device; `cached` is where what was seen is kept.
        """

    # ---- launches

    def functions(self) -> list[int]:
        """What the host's code of a program calls: launching, making the context this thread's, the context, zeroing,
        copying to the host.
        """

    def copier(self) -> list[int]:
        """What copies of machine code call: copying on the device, making the context this thread's, the context, the
        stream.
        """

    def graph_functions(self) -> list[int]:
        """What machine code calls about graphs: handing the kernel of a node other words, launching."""

    def launch(self, node: Launch) -> None:
        """Queue a kernel, the `node`; its words are read before this returns."""

    def graph(self, nodes: Sequence[Node]) -> DriverGraph:
        """Nodes that are launched together, one after the other."""

    def order(self, first: int | None, then: int | None) -> None:
        """Let what comes into the stream `then` wait for what is in the stream `first`; None is the default stream."""

    def check(self, code: int) -> None:
        """Raise what a launch by machine code gave, if it is an error."""

    def synchronize(self) -> None:
        """Wait until everything has finished."""


def memory_use(driver: Driver, own: int) -> str:
    """How a device's memory is used, in words; DriverError if it does not say so any more.

    Args:
        driver: of the device.
        own: bytes that adstacks of this process hold.
    """
    share = f"{driver.available() / 2**30:.2f} of {driver.device.memory / 2**30:.2f} GiB are free"
    return f"{share}; adstacks of this process hold {own / 2**30:.2f} GiB, arrays and other processes the rest"
