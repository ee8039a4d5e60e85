"""The host's processor as a backend: launches have finished when they return."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_llvm.function.context import Context
from adstack.backends.hostcall import calls as native
from adstack.backends.shared.bits import signed_bits
from adstack.backends.shared.kept import default_folder
from adstack.backends.shared.object_cache import ObjectCache
from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.reports import failure, overflow_error, printed
from adstack.backends.shared.sites import Site, record_words
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.adstack_heap import TaskUse
from adstack.runtime.assume import Assumed, assumed
from adstack.runtime.backend import Bindings, Capabilities, Probe, Unavailable
from adstack.runtime.options import Options
from adstack.runtime.shortcuts import Shortcut

from . import capability, layout
from .adstacks import DeviceHeap, Layouts
from .codegen import Module, emit_module
from .fitting import NOTHING, UNFIT
from .graphs import Graph, Graphs
from .pool import pool
from .toolchain import Code, compile_text, optimised, target_machine, warm_up

__all__ = ["CpuBackend", "Executable", "open_device", "probe"]

Array = npt.NDArray[Any]
_LONG = frozenset({"for", "while", "print"})
"""Operations that may keep a launch from ending soon."""
_PRINT = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))


def probe() -> Probe:
    """See `capability.probe`."""
    return capability.probe()


def open_device() -> CpuBackend:
    """The processor."""
    found = capability.probe()
    if isinstance(found, Unavailable):
        raise BackendUnavailableError(found.reason, do=found.fix)
    warm_up()
    native.prepare()  # what every kernel needs is made here, so that the first one does not wait for it
    pool()
    return CpuBackend(found)


@dataclass
class Version:
    """A program as code for some number of lanes.

    Attributes:
        module: the LLVM text.
        code: the machine code.
        layouts: where its adstacks are.
    """

    module: Module
    code: Code
    layouts: Layouts


@dataclass
class Executable:
    """A compiled program with the memory that its launches use.

    Attributes:
        program: what was compiled.
        compiled: makes a version: whether its adstacks take one lane at a time, whether it is for all launches.
        uses: the heap of each task as it was laid out last, by the task's number.
        version: what runs first in every launch.
        slots: the context, filled where it does not change between launches.
        own: memory of temps, results and depths.
        errors, overflow, raised: what a launch reports; the last are exceptions from printing.
        shapes: extents of its places when it was last launched.
        bound: what it was last launched on, which the context tells already; None if that differs from call to call,
            so that the arrays of the last one are not kept.
        depths: a word that says whose depths stand: 1 for Python's last launch, else see `llvm.native_record`.
        others: versions for where a block of many lanes is too large, and for launches that the usual one is not made
            for, by what `compiled` was told; made when they are needed.
        sites: what reports are about, in any version.
        keep: what the machine code points to.
    """

    program: Program
    options: Options
    compiled: Callable[[bool, bool], Version]
    uses: dict[int, TaskUse]
    version: Version
    slots: Array
    own: dict[str, Array]
    errors: Array
    overflow: Array
    raised: list[BaseException] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    bound: Bindings | None = None
    depths: ctypes.c_int64 = field(default_factory=ctypes.c_int64)
    others: dict[tuple[bool, bool], Version] = field(default_factory=dict)
    sites: Sequence[Site] = ()
    keep: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        self.is_parallel = any(task.kind == "parallel" for task in self.program.tasks)
        self.sizes = any(task.sizes for task in self.program.tasks)
        self.takes_arrays = any(place.kind == "ndarray" for place in self.program.places.values())
        self.is_long = any(op.name in _LONG for task in self.program.tasks for op in task.body.walk())
        self.address: int = self.slots.ctypes.data
        self.cells, self.entry = self.slots.data, self.code.entry
        self.launch_slot, self.sized_slot = (self.context.own[name] for name in ("launch", "sized"))
        self.params = list(zip(self.context.params, self.program.params, strict=True))

    @property
    def settled(self) -> bool:
        """Whether the last launch from Python has finished, and the depths stand that it computed."""
        return self.depths.value == 1

    @settled.setter
    def settled(self, done: bool) -> None:
        self.depths.value = int(done)

    @property
    def module(self) -> Module:
        """The LLVM text."""
        return self.version.module

    @property
    def code(self) -> Code:
        """The machine code."""
        return self.version.code

    @property
    def context(self) -> Context:
        """Which slot holds what."""
        return self.module.emitted.context

    def use(self, version: Version) -> None:
        """Let the context tell where a version's adstacks are."""
        self.slots[self.context.own["rows"]] = version.layouts.table.ctypes.data

    def go_on(self, stopped: int) -> None:
        """Run the rest of a launch that stopped where the heap was not ready for a task, or all of an unfit one."""
        version, whole, narrow = self.version, stopped == UNFIT, False
        try:
            if whole:
                version = self._other(narrow, whole)
                if not version.module.emitted.rows:
                    self.slots[self.context.own["unfit"]] = version.code.entry  # machine code finds the way next time
                stopped = native.run(version.code.entry, self.slots.ctypes.data)
            if stopped:
                version.layouts.check(stopped - 1)
            while stopped:
                total = version.layouts.total(stopped - 1)
                if version.layouts.lay_out(stopped - 1, total):
                    stopped = native.run(version.code.entry, self.slots.ctypes.data, stopped)
                elif not narrow:
                    self.report()
                    narrow = True
                    version = self._other(narrow, whole)
                    stopped = native.run(version.code.entry, self.slots.ctypes.data, stopped)
                else:
                    raise version.layouts.limit_reached(stopped - 1, stopped - 1)
            self.report()
        finally:
            self.use(self.version)

    def _other(self, narrow: bool, whole: bool) -> Version:
        """Go on in another version."""
        key = narrow, whole
        if key not in self.others:
            self.others[key] = self.compiled(*key)
        self.use(self.others[key])
        return self.others[key]

    def report(self) -> None:
        """Raise what the last launch reported, if anything."""
        if self.raised:
            self.errors[:] = 0
            raise self.raised.pop()
        if self.errors.item(0):
            record = self.errors.tolist()
            self.errors[:] = 0
            raise failure(self.sites, record, self.shapes)
        if self.overflow.item(0):
            record = self.overflow.tolist()
            self.overflow[:] = 0
            self.settled = False
            raise overflow_error(self.sites, record)


class CpuBackend:
    """Memory is numpy arrays; a launch runs machine code on them."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self.heap = DeviceHeap()
        self._launches = ctypes.c_int64(0)
        self._graphs = Graphs()

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return self._launches.value

    def compile(self, program: Program, options: Options) -> Executable:
        own = {
            place.name: layout.allocate(place.dtype, (max(1, own_size(place) // place.dtype.size),))
            for place in program.places.values()
            if place.kind in ("temp", "result", "depths")
        }
        depths = next((own[place.name] for place in program.places.values() if place.kind == "depths"), None)

        uses: dict[int, TaskUse] = {}

        fitting, sites = assumed(program), list[Site]()

        def compiled(narrow: bool, whole: bool) -> Version:
            module = _module(program, options, narrow, NOTHING if whole else fitting, sites)
            code = compile_text(module.text, ObjectCache(default_folder()) if options.offline_cache else None)
            layouts = Layouts(program, module.emitted, depths, self.heap, options.ad_stack_heap_limit, uses)
            return Version(module, code, layouts)

        version = compiled(False, False)
        context = version.module.emitted.context
        slots = np.zeros(context.size, np.int64)
        errors = np.zeros(max(record_words(sites), _guard_words(program)), np.int64)
        overflow = np.zeros(3, np.int64)
        for name, memory in own.items():
            slots[context.pointers[name]] = memory.ctypes.data
        for name, memory in (("errors", errors), ("overflow", overflow), ("heap", self.heap.record)):
            slots[context.own[name]] = memory.ctypes.data
        slots[context.own["seed"]] = options.random_seed & (2**63 - 1)
        made = Executable(program, options, compiled, uses, version, slots, own, errors, overflow, sites=sites)
        made.use(version)
        printer = _printer(made)
        slots[context.own["print"]] = ctypes.cast(printer, ctypes.c_void_p).value or 0
        made.keep = (printer, self.heap)
        slots[context.own["poll"]], slots[context.own["stop"]] = pool().poll, pool().stop_word
        if made.is_parallel:
            slots[context.own["parallel"]] = pool().start(options.cpu_max_num_threads)
        return made

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """The heap of each task that has run with adstacks in it."""
        return [use for _, use in sorted(executable.uses.items())]

    def listing(self, executable: Executable) -> dict[str, str]:
        """LLVM IR as generated and as optimised, and the machine's assembly."""
        module = optimised(executable.module.text)
        text = str(module)
        return {"llvm": executable.module.text, "llvm-opt": text, "asm": target_machine().emit_assembly(module)}

    def launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        if executable.is_parallel:
            pool().start(executable.options.cpu_max_num_threads)  # a forked process has no threads yet
        return native.alone(lambda: self._launch(executable, scalars, bindings))

    def _launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
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
        self._launches.value += 1
        slots[executable.launch_slot] = self._launches.value
        slots[executable.sized_slot] = executable.settled and bindings.sized
        executable.settled = False
        try:
            stopped = native.run(executable.entry, executable.address)
            if stopped:
                executable.go_on(stopped)
        finally:
            slots[executable.sized_slot] = 0  # calls that machine code serves don't know
        executable.settled = True
        executable.report()
        self._graphs.note(executable, bindings)
        return [executable.own[name][0].item() for name in executable.program.results]

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread launches."""
        native.alone(work)

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Run, and keep what was launched; None if that was not a launch of each of these."""
        return self._graphs.capture(run, executables)

    def repeat(self, graph: Graph) -> bool:
        """Launch a graph."""
        native.alone(lambda: graph.repeat(ctypes.addressof(self._launches)))
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

    def last_scalars(self, executable: Executable) -> Sequence[Any]:
        """The scalar arguments of its last launch; None for floats."""
        slots = executable.slots
        return [
            None if dtype.is_float else slots[slot : slot + 1].view(dtype.numpy)[0].item()
            for slot, dtype in executable.params
        ]

    def shortcut(self, executable: Executable, wanted: Shortcut) -> Callable[..., Any] | None:
        """A builtin; in debug mode none, so that every launch has all its checks."""
        return None if executable.options.debug else native.make(self._entry(executable), wanted)

    def _entry(self, executable: Executable) -> native.Entry:
        return native.Entry(
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
            depths=ctypes.addressof(executable.depths) if executable.sizes else 0,
        )

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        return layout.allocate(dtype, shape)

    def adopt(self, array: Array) -> Array:
        return array

    def free(self, storage: Any) -> None:
        """Python frees it."""

    def address(self, storage: Array) -> int:
        address: int = storage.ctypes.data
        return address

    def host_view(self, storage: Array) -> Array:
        return storage

    def download(self, storage: Array) -> Array:
        copied: Array = storage.copy()
        return copied

    def upload(self, storage: Array, array: Array) -> None:
        storage[...] = array


def _guard_words(program: Program) -> int:
    """The size of the record of any guard: a flag, a site, an iteration, an index and extents."""
    ops = [op for task in program.tasks for op in task.body.walk()]
    ranks = [op.attrs["place"].rank if "place" in op.attrs else 1 for op in ops if "guarded" in op.attrs]
    axes = [len(op.regions[0].args) for op in ops if op.name == "parallel_for"]
    return 2 + max(axes, default=0) + 2 * max(ranks, default=0)


def _module(program: Program, options: Options, narrow: bool, fitting: Assumed, sites: list[Site]) -> Module:
    _, features = capability.host()
    return emit_module(
        program,
        debug=options.debug,
        lanes=options.cpu_lanes,
        vector_bytes=capability.vector_bytes(features),
        narrow=narrow,
        framed=options.ad_stack_storage == "stack",
        assumed=fitting,
        sites=sites,
    )


def _printer(executable: Executable) -> Any:
    """What machine code calls to print. An exception can't pass through it: it is raised when the launch is over."""
    raised, errors, owner = executable.raised, executable.errors, weakref.ref(executable)

    def write(site: int, bits: Any) -> None:
        running = owner()
        if raised or running is None:
            return
        try:
            print(printed(running.sites[site], bits[: len(running.sites[site].types)]), end="")
        except BaseException as error:  # noqa: BLE001 - every one of them is raised later
            raised.append(error)
            errors[0] = 1

    return _PRINT(write)
