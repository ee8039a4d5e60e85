"""A Vulkan device as a backend: launches are recorded, and run when a batch is full or somebody looks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Final

import numpy as np

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.sequences import Sequenced
from adstack.backends.hostcall.served import Served
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.protocol import host_pages
from adstack.runtime.protocol.backend import Array, Bindings, Capabilities, Probe, Scalar, Scalars
from adstack.runtime.protocol.following import SequenceCall
from adstack.runtime.protocol.options import Options
from adstack.runtime.threads.guards import rewired
from adstack.runtime.threads.interrupts import uninterrupted

from . import capability
from .codegen import most_groups
from .compiling import Compiler
from .executable import Executable
from .graphs import Graph
from .launches import Launches
from .layout import Piece
from .sequences import Recording
from .shared import Shared, shared
from .shortcuts import Launcher, Work
from .transfers import Transfers

__all__ = ["Executable", "VulkanBackend", "device_names", "open_device", "probe"]

_FEW: Final = 4096
"""Bytes that are written along with commands."""


def probe(device: str = "") -> Probe:
    """See `capability.probe`."""
    return capability.probe(device)


def device_names() -> list[str]:
    """See `capability.device_names`."""
    return capability.device_names()


def open_device(device: str = "") -> VulkanBackend:
    """The chosen device; BackendUnavailableError if it can't be used."""
    physical = capability.chosen(device)
    if isinstance(physical, tuple):
        reason, fix = physical
        raise BackendUnavailableError(reason, do=fix)
    return VulkanBackend(capability.offered(physical), shared(physical.number, physical.addresses))


class VulkanBackend(Served[Executable]):
    """Memory is pieces of Vulkan buffers, known by their addresses.

    Attributes:
        common: what it shares with all other backends of the process.
    """

    def __init__(self, capabilities: Capabilities, common: Shared) -> None:
        self.capabilities = capabilities
        self.common = common
        self.device, self.memory, self.stream = common.device, common.memory, common.stream
        physical = self.device.physical
        self._groups = most_groups(physical.is_cpu, physical.limits["groups"])
        self._compiler = Compiler(common, capabilities, self._groups)
        self._launches = Launches(common, self._groups)
        self._transfers = Transfers(self.memory, self.stream, self._launches.seen)

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return self._launches.count.value

    # ---- compiling

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`."""
        return self._compiler.compile(program, options)

    def listing(self, executable: Executable) -> dict[str, str]:
        """See `Backend.listing`: the words of each task's module, as text."""
        from adstack.backends.codegen_spirv.assembly.text import listing

        return {f"spirv {s.task.name}": listing(s.words) for s in executable.emitted.shaders}

    # ---- launching

    def launch(self, executable: Executable, scalars: Scalars, bindings: Bindings) -> Scalars:
        """See `Backend.launch`."""
        return self._launches.launch(executable, scalars, bindings)

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """See `Backend.adstacks`."""
        uses = executable.layouts.uses
        return [uses[number] for number in sorted(uses)]

    def last_launch(self, executable: Executable) -> int:
        """The number of the last launch of an executable."""
        return executable.last_launch

    def launch_word(self, executable: Executable) -> int:
        """See `Serving.launch_word`."""
        return executable.launch_word

    def last_scalars(self, executable: Executable) -> Sequence[Scalar | None]:
        """See `Serving.last_scalars`: None only for floats that machine code passed."""
        launcher = executable.launcher
        by_python = launcher is None or launcher.number <= executable.number
        return executable.scalars if launcher is None or by_python else launcher.integers()

    def sequence(self, calls: Sequence[SequenceCall | None]) -> Sequenced:
        """A sequence of calls."""
        return Sequenced(calls, Recording(self.stream, self.common.lock, self.entry_of))

    def entry_of(self, executable: Executable) -> Entry | None:
        """See `Served.entry_of`."""
        work = self._work(executable)
        if executable.waits or not work.is_plain:
            return None
        with self.common.lock:
            launcher = executable.launcher
            if launcher is None:
                launcher = executable.launcher = Launcher(work, executable.words, self.stream, self.common.lock)
                launcher.number = executable.number
                rewired()  # that number stands elsewhere now
                if executable.reports:
                    self.common.served[id(executable)] = executable
            elif executable.number >= launcher.number:  # Python made the last launch
                launcher.take(executable.words)
            if executable.settled and not (executable.context.depths and executable.stale):
                # depths that stand for Python's launch stand for machine code from now on
                launcher.lay_out(executable.layouts, executable.words, executable.depths)
        launches = ctypes.addressof(self._launches.count)

        def goes_on(_: int) -> None:
            if not launcher.record():
                self._launches.relaunch(executable, launcher)

        return launcher.entry(launches, goes_on, self, executable)

    def _work(self, executable: Executable) -> Work:
        return Work(
            executable.program,
            executable.context,
            executable.pipelines,
            executable.extents,
            self._groups,
            executable.by_graph,
            self.common.heap.version,
            executable.standing,
            executable.binder,
        )

    def address(self, storage: Piece) -> int:
        """See `Backend.address`."""
        return storage.address

    def mark(self, storage: Piece) -> int:
        """See `Serving.mark`: the word has the number of the last batch that may touch the memory."""
        return ctypes.addressof(storage.last)

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread launches, or uses the device."""

        def without_others() -> None:
            with self.common.lock if self.common.lock.is_here else nullcontext():  # a forked process has no device
                work()

        launching.alone(without_others)

    # ---- graphs

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """See `Capturing.capture`."""
        return self._launches.graphs.capture(run, executables)

    def repeat(self, graph: Graph) -> bool:
        """Launch a graph; False if there is no memory for its adstacks."""
        with self.common.lock, uninterrupted():
            return self._launches.graphs.repeat(graph, self._launches.count)

    def resize(self, graph: Graph, number: int) -> None:
        """See `Capturing.resize`."""
        with self.common.lock:
            self._launches.graphs.resize(graph, number)

    # ---- waiting

    def synchronize(self) -> None:
        """See `Backend.synchronize`."""
        with self.common.lock:
            self.common.leftovers.sweep()
            self._launches.settle()

    # ---- memory

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Piece:
        """See `Backend.allocate`."""
        if dtype not in self.capabilities.dtypes:
            raise BackendUnavailableError(
                f"{self.capabilities.device} does not keep {dtype} in memory",
                do=f"use one of {', '.join(t.name for t in self.capabilities.dtypes)}, or another device",
            )
        with self.common.lock:
            self.common.tidy()
            piece = self.memory.piece(dtype, shape)
            self._transfers.clear(piece)
            return piece

    def allocate_by_page(self, dtype: DType, shape: tuple[int, ...]) -> Piece:
        """See `Paging.allocate_by_page`: all large pieces are, where the driver takes memory of this process."""
        return self.allocate(dtype, shape)

    def is_by_page(self, storage: Piece) -> bool:
        """See `Paging.is_by_page`."""
        return storage.block.by_page

    def gives_back(self, storage: Piece) -> bool:
        """See `Paging.gives_back`: memory of this process does, not the driver's."""
        return storage.block.by_page and host_pages.are_given_back()

    def vacate(self, storage: Piece, start: int, count: int) -> bool:
        """See `Paging.vacate`: memory of the driver is written as a whole."""
        if not storage.block.by_page:
            return False
        with self.common.lock:
            view = self._transfers.view(storage)
            if view is not None:
                host_pages.vacate(view.reshape(-1)[start : start + count])
            return view is not None

    def adopt(self, array: Array) -> None:
        """See `Backend.adopt`: None, as the device does not address the host's memory."""

    def free(self, storage: Piece) -> None:
        """See `Backend.free`."""
        with uninterrupted():
            self.common.lock.give_back(lambda: self.memory.free(storage))

    def abandon(self, storage: Piece) -> None:
        """See `Reclaiming.abandon`."""
        self.common.leftovers.add(partial(self.free, storage))

    def reclaim(self) -> None:
        """Have back what was given back or abandoned, after waiting for the device."""
        with self.common.lock:
            self.common.leftovers.sweep()
            self.stream.finish()

    def close(self) -> None:
        """Give back the adstack heap, and what was abandoned."""
        self.common.lock.give_back(self.common.heap.drop)
        self.common.lock.give_back(self.common.leftovers.sweep)

    def host_view(self, storage: Piece) -> Array | None:
        """See `Backend.host_view`."""
        with self.common.lock:
            return self._transfers.view(storage)

    def download(self, storage: Piece) -> Array:
        """See `Backend.download`."""
        return self._downloaded(storage, 0, np.empty(storage.shape, storage.dtype.numpy))

    def download_at(self, storage: Piece, start: int, count: int) -> Array:
        """See `Transferring.download_at`."""
        return self._downloaded(storage, start * storage.dtype.size, np.empty(count, storage.dtype.numpy))

    def _downloaded(self, storage: Piece, at: int, array: Array) -> Array:
        with self.common.lock:
            self._transfers.read(storage, at, array)
        return array

    def upload(self, storage: Piece, array: Array) -> None:
        """See `Backend.upload`."""
        self.upload_at(storage, 0, np.ascontiguousarray(array))

    def is_in_use(self, storage: Piece) -> bool:
        """See `Transferring.is_in_use`."""
        with self.common.lock:
            return self._transfers.is_in_use(storage)

    def upload_at(self, storage: Piece, start: int, array: Array) -> None:
        """See `Transferring.upload_at`."""
        with self.common.lock:
            self._transfers.write(storage, start * storage.dtype.size, array)

    def fill(self, parts: Sequence[tuple[Piece, bytes]]) -> bool:
        """See `Transferring.fill`: much memory can't be filled with elements of 8 bytes whose halves differ."""
        filled: list[tuple[Piece, int]] = []
        written: list[tuple[Piece, bytes]] = []
        for storage, element in parts:
            word = element * (4 // len(element)) if len(element) < 4 else element[:4]
            if len(element) < 8 or word == element[4:]:
                filled.append((storage, int.from_bytes(word, "little")))
            elif storage.bytes > _FEW:
                return False
            else:
                written.append((storage, element * (storage.bytes // len(element))))
        with self.common.lock:
            self.stream.fill(filled)
            for storage, octets in written:
                self.stream.write(storage, octets)
        return True

    def copy(self, source: Piece, target: Piece) -> None:
        """See `Transferring.copy`."""
        with self.common.lock:
            self.stream.copy(source, target, source.bytes)

    def copy_parts(self, parts: Sequence[tuple[Piece, int, Piece, int]]) -> None:
        """See `Transferring.copy_parts`."""
        sized = [(source, start, target, count, source.dtype.size) for source, start, target, count in parts if count]
        if not sized:
            return
        with self.common.lock:
            self.stream.copy_parts([(s, start * size, t, 0, count * size) for s, start, t, count, size in sized])
