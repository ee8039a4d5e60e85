"""The host's processor as a backend: launches have finished when they return."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall import launching
from adstack.backends.hostcall.entry import Entry
from adstack.backends.hostcall.sequences import Sequenced
from adstack.backends.hostcall.served import Served
from adstack.backends.shared.bits import signed_bits
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.sites import Site, record_words
from adstack.backends.shared.standing import BY_PYTHON
from adstack.errors import BackendUnavailableError
from adstack.ir.ops import PARALLEL_FOR
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.assume import Assumed, assumed
from adstack.runtime.protocol import host_pages
from adstack.runtime.protocol.backend import Bindings, Capabilities, Probe, Unavailable
from adstack.runtime.protocol.following import SequenceCall
from adstack.runtime.protocol.options import Options

from . import capability, layout
from .adstacks import DeviceHeap, Layouts
from .codegen import Module, emit_module
from .executable import Executable, Version, printer_of
from .fitting import NOTHING
from .graphs import Graph, Graphs
from .machine import emulated, machine
from .pool import pool
from .sequences import Processor
from .toolchain import compile_text, listing, warm_up

__all__ = ["CpuBackend", "open_device", "probe", "probe_emulated"]

Array = npt.NDArray[np.generic]


def probe(device: str = "") -> Probe:
    """See `capability.probe`."""
    return capability.probe(device)


def probe_emulated(processor: str) -> Probe:
    """See `capability.probe_emulated`."""
    return capability.probe_emulated(processor)


def open_device(device: str = "") -> CpuBackend:
    """The processor."""
    probed = capability.probe(device)
    if isinstance(probed, Unavailable):
        raise BackendUnavailableError(probed.reason, do=probed.fix)
    warm_up()
    launching.prepare()  # what every kernel needs is made here, so that the first one does not wait for it
    pool()
    return EmulatedBackend(probed) if emulated() else CpuBackend(probed)


class CpuBackend(Served[Executable]):
    """Memory is numpy arrays; a launch runs machine code on them."""

    takes_host_memory: ClassVar[bool] = True

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self.heap = DeviceHeap()
        self._launches = ctypes.c_int64(0)
        self._graphs = Graphs(self._entry)

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return self._launches.value

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`."""
        own = {
            place.name: layout.allocate(place.dtype, (max(1, own_size(place) // place.dtype.size),))
            for place in program.places.values()
            if place.kind in ("temp", "result", "depths")
        }
        depths = next((own[place.name] for place in program.places.values() if place.kind == "depths"), None)

        uses: dict[int, TaskUse] = {}

        fitting, sites = assumed(program), list[Site]()

        def compiled(narrow: bool, any_arguments: bool) -> Version:
            module = _module(program, options, narrow, NOTHING if any_arguments else fitting, sites)
            code = compile_text(module.text, ObjectCache(default_folder()) if options.offline_cache else None)
            layouts = Layouts(program, module.emitted, depths, self.heap, options.ad_stack_heap_limit, uses)
            return Version(module, code, layouts)

        version = compiled(False, False)
        context = version.module.emitted.context
        slots = layout.words(context.size)
        errors = layout.words(max(record_words(sites), _guard_words(program)))
        overflow = layout.words(3)
        for name, memory in own.items():
            slots[context.pointers[name]] = memory.ctypes.data
        for name, memory in (("errors", errors), ("overflow", overflow), ("heap", self.heap.record)):
            slots[context.own[name]] = memory.ctypes.data
        slots[context.own["seed"]] = options.random_seed & (2**63 - 1)
        executable = Executable(program, options, compiled, uses, version, slots, own, errors, overflow, sites=sites)
        executable.use(version)
        printer, slots[context.own["print"]] = printer_of(executable)
        executable.keep = (printer, self.heap)
        slots[context.own["poll"]], slots[context.own["stop"]] = pool().poll, pool().stop_word
        slots[context.own["outside"]] = pool().outside
        if executable.is_parallel:
            slots[context.own["parallel"]] = pool().start(options.cpu_max_num_threads)
        return executable

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """The heap of each task that has run with adstacks in it."""
        return [use for _, use in sorted(executable.uses.items())]

    def listing(self, executable: Executable) -> dict[str, str]:
        """LLVM IR as generated and as optimised, and the machine's assembly."""
        return listing(executable.module.text)

    def launch(self, executable: Executable, scalars: Sequence[float], bindings: Bindings) -> Sequence[float]:
        """See `Backend.launch`."""
        if executable.is_parallel:
            pool().start(executable.options.cpu_max_num_threads)  # a forked process has no threads yet
        return launching.alone(partial(self._launch, executable, scalars, bindings))

    def _launch(self, executable: Executable, scalars: Sequence[float], bindings: Bindings) -> Sequence[float]:
        slots = executable.cells
        for (slot, dtype), value in zip(executable.params, scalars, strict=True):
            slots[slot] = signed_bits(value, dtype)
        if bindings is not executable.bound:
            context = executable.context
            for name, storage in bindings.storages.items():
                slots[context.pointers[name]] = storage.__array_interface__["data"][0]
            for (name, axis), slot in context.extents.items():
                slots[slot] = bindings.shapes[name][axis]
            executable.shapes, executable.bound = bindings.shapes, None if executable.takes_arrays else bindings
        if not executable.checked:
            executable.version.layouts.check(0)
            executable.checked = True
        self._launches.value += 1
        slots[executable.launch_slot] = self._launches.value
        standing = executable.standing
        slots[executable.sized_slot] = standing.value == BY_PYTHON and bindings.sized
        standing.value = 0
        try:
            stopped = launching.run(executable.entry, executable.address)
            if stopped:
                executable.go_on(stopped)
        finally:
            slots[executable.sized_slot] = 0  # calls that machine code serves don't know
        standing.value = BY_PYTHON
        executable.report()
        self._graphs.note(executable, bindings)
        return [executable.own[name][0].item() for name in executable.program.results]

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread launches."""
        launching.alone(work)

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Run, and keep what was launched; None if that was not a launch of each of these."""
        return self._graphs.capture(run, executables)

    def repeat(self, graph: Graph) -> bool:
        """Launch a graph."""
        launching.alone(graph.repeat)
        return True

    def resize(self, graph: Graph, number: int) -> None:
        """Nothing: every launch computes how deep its adstacks must be."""

    def last_launch(self, executable: Executable) -> int:
        """The number of the last launch of an executable."""
        number: int = executable.cells[executable.launch_slot]
        return number

    def launch_word(self, executable: Executable) -> int:
        """Where that number stands."""
        return executable.address + 8 * executable.launch_slot

    def mark(self, storage: object) -> int:
        """0: launches need not note what they use."""
        return 0

    def last_scalars(self, executable: Executable) -> Sequence[int | bool | None]:
        """The scalar arguments of its last launch; None for floats."""
        slots = executable.slots
        return [
            None if dtype.is_float else slots[slot : slot + 1].view(dtype.numpy)[0].item()
            for slot, dtype in executable.params
        ]

    def entry_of(self, executable: Executable) -> Entry | None:
        """A program as machine code launches it; None in debug mode, where every launch has all its checks."""
        return None if executable.options.debug else self._entry(executable)

    def sequence(self, calls: Sequence[SequenceCall | None]) -> Sequenced:
        """A sequence of calls."""
        return Sequenced(calls, Processor(self._entry))

    def _entry(self, executable: Executable) -> Entry:
        return Entry(
            program=executable.program,
            context=executable.context,
            run=executable.code.entry,
            slots=executable.slots.ctypes.data,
            errors=executable.errors.ctypes.data,
            overflow=executable.overflow.ctypes.data,
            launches=ctypes.addressof(self._launches),
            results={name: executable.own[name].ctypes.data for name in executable.program.results},
            long=executable.is_long,
            failed=executable.report,
            goes_on=executable.go_on,
            keep=(self, executable),
            depths=ctypes.addressof(executable.standing) if executable.sizes else 0,
            sized=executable.address + 8 * executable.sized_slot,
        )

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        """See `Backend.allocate`."""
        return layout.allocate(dtype, shape)

    def adopt(self, array: Array) -> Array | None:
        """See `Backend.adopt`."""
        return array

    def free(self, storage: Array) -> None:
        """Python frees it."""

    def allocate_by_page(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        """See `Paging.allocate_by_page`."""
        return layout.allocate(dtype, shape, by_page=self.takes_host_memory)

    def is_by_page(self, storage: Array) -> bool:
        """See `Paging.is_by_page`."""
        return self.takes_host_memory

    def gives_back(self, storage: Array) -> bool:
        """See `Paging.gives_back`: memory that others see, too, stays."""
        return self.takes_host_memory and host_pages.are_given_back()

    def vacate(self, storage: Array, start: int, count: int) -> bool:
        """See `Paging.vacate`."""
        if self.takes_host_memory:
            host_pages.vacate(storage.reshape(-1)[start : start + count])
        return self.takes_host_memory

    def address(self, storage: Array) -> int:
        """See `Backend.address`."""
        address: int = storage.ctypes.data
        return address

    def host_view(self, storage: Array) -> Array:
        """See `Backend.host_view`."""
        return storage

    def download(self, storage: Array) -> Array:
        """See `Backend.download`."""
        copied: Array = storage.copy()
        return copied

    def upload(self, storage: Array, array: Array) -> None:
        """See `Backend.upload`."""
        storage[...] = array


class EmulatedBackend(CpuBackend):
    """The same where an emulated processor runs the machine code: it sees the memory of this backend, and no other."""

    takes_host_memory: ClassVar[bool] = False

    def adopt(self, array: Array) -> None:
        """See `Backend.adopt`: nothing is adopted, as emulated code reaches memory of its own alone."""


def _guard_words(program: Program) -> int:
    """The size of the record of any guard: a flag, a site, an iteration, an index and extents."""
    ops = [op for task in program.tasks for op in task.body.walk()]
    ranks = [op.attrs["place"].rank if "place" in op.attrs else 1 for op in ops if "guarded" in op.attrs]
    axes = [len(op.regions[0].args) for op in ops if op.opdef is PARALLEL_FOR]
    return 2 + max(axes, default=0) + 2 * max(ranks, default=0)


def _module(program: Program, options: Options, narrow: bool, fitting: Assumed, sites: list[Site]) -> Module:
    return emit_module(
        program,
        debug=options.debug,
        lanes=options.cpu_lanes,
        vector_bytes=machine().vector_bytes,
        narrow=narrow,
        framed=options.ad_stack_storage == "stack",
        assumed=fitting,
        sites=sites,
    )
