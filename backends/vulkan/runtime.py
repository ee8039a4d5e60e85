"""A Vulkan device as a backend: launches are recorded, and run when a batch is full or somebody looks."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.backends.hostcall import calls, launching
from adstack.backends.shared.bits import raw_bits
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType, u8, u64
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.protocol.backend import Bindings, Capabilities, Probe
from adstack.runtime.protocol.options import Options
from adstack.runtime.protocol.shortcuts import HostArgument, Shortcut
from adstack.runtime.threads.guards import rewired
from adstack.runtime.threads.interrupts import uninterrupted

from . import capability
from .adstacks import Layouts
from .bound import Binder, BoundStream, check_count
from .codegen import emit_module, most_groups
from .driver.pipeline import Pipeline
from .executable import OVERFLOW, Executable
from .graphs import Graph, Graphs
from .hostcode.extents import Extent
from .layout import Piece, mapped
from .records import add_records
from .shared import Shared, shared
from .shortcuts import Launcher, Work
from .transfers import Transfers

__all__ = ["Executable", "VulkanBackend", "open_device", "probe"]

Array = npt.NDArray[Any]
_WORD = (1 << 64) - 1


def probe() -> Probe:
    """See `capability.probe`."""
    return capability.probe()


def open_device() -> VulkanBackend:
    """The chosen device."""
    physical = capability.chosen()
    if isinstance(physical, tuple):
        reason, fix = physical
        raise BackendUnavailableError(reason, do=fix)
    return VulkanBackend(capability.offered(physical), shared(physical.number, physical.addresses))


class VulkanBackend:
    """Memory is pieces of Vulkan buffers, known by their addresses."""

    def __init__(self, capabilities: Capabilities, common: Shared) -> None:
        self.capabilities = capabilities
        self._shared = common
        self.device, self.memory, self.stream = common.device, common.memory, common.stream
        self._launches = ctypes.c_int64(0)
        physical = self.device.physical
        self._groups = most_groups(physical.is_cpu, physical.limits["groups"])
        self._transfers = Transfers(self.memory, self.stream, self._seen)
        self._graphs = Graphs(
            self.memory, self.stream, common.heap, common.lock, common.unread, self._groups, common.leftovers
        )

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return self._launches.value

    # ---- compiling

    def compile(self, program: Program, options: Options) -> Executable:
        with self._shared.lock:
            self._shared.tidy()
            return self._compile(program, options)

    def _compile(self, program: Program, options: Options) -> Executable:
        self._check_dtypes(program)
        emitted = emit_module(program, self._shared.traits, debug=options.debug)
        physical = self.device.physical
        check_count(physical, program, emitted.shaders)
        pipelines = [
            self._shared.pipelines.make(
                s.words,
                s.local_size,
                s.capabilities,
                s.task.name,
                repeats=s.repeats,
                cached=options.offline_cache,
                buffers=s.buffers,
            )
            for s in emitted.shaders
        ]
        context = emitted.context
        words = [0] * context.words
        words[context.own["seed"]] = options.random_seed & _WORD
        extents = [Extent.of(task) for task in program.tasks]
        most = 0 if physical.addresses else physical.limits["range"]
        layouts = Layouts(program, context.heaps, self._shared.heap, options.ad_stack_heap_limit, most)
        packer = struct.Struct(f"<{context.words}Q")
        made = Executable(program, options, emitted, pipelines, extents, words, packer, layouts)
        add_records(made, self._mapped, self._watch)
        if isinstance(self.stream, BoundStream):
            made.binder = Binder(self.stream, self._shared.heap, program, made.record, made.prints, made.sizes)
        self._look_ahead(made)
        record = None if made.unattended else made.record
        end = partial(self._shared.destroy, pipelines, (record, made.prints, made.sizes))
        weakref.finalize(made, self._shared.leftovers.add, end).atexit = False
        return made

    def _check_dtypes(self, program: Program) -> None:
        for place in program.places.values():
            if place.dtype not in self.capabilities.dtypes:
                raise BackendUnavailableError(
                    f"{place.kind} {place.label or place.name} holds {place.dtype}, which "
                    f"{self.capabilities.device} does not keep in memory",
                    do=f"use one of {', '.join(t.name for t in self.capabilities.dtypes)}, or another device",
                )

    def _look_ahead(self, made: Executable) -> None:
        """Work out what is the same in every launch."""
        draws = any(op.name == "random" for task in made.program.tasks for op in task.body.walk())
        arrays = any(place.kind == "ndarray" for place in made.program.places.values())
        made.repeats = not (made.context.params or made.context.depths or made.context.heaps or draws or arrays)
        fixed = [extent.fixed for extent in made.extents]
        if not made.context.heaps and all(fixed):
            groups = [p.groups(n, self._groups) for p, n in zip(made.pipelines, fixed, strict=True)]
            made.steady = tuple(zip(made.pipelines, groups, strict=True))

    def _watch(self, made: Executable, record: Piece) -> None:
        """See `records`."""
        view = mapped(record)[OVERFLOW:]
        end = partial(self._shared.destroy, (), (record,))
        weakref.finalize(view, self._shared.leftovers.add, end).atexit = False
        self._shared.outside.watch(view, made.emitted.sites, made)

    def _mapped(self, words: int, dtype: DType = u64) -> Piece:
        piece = self.memory.piece(dtype, (words,), visible=True)
        mapped(piece)[:] = 0
        return piece

    def listing(self, executable: Executable) -> dict[str, str]:
        """The words of each task's module, as text."""
        from adstack.backends.codegen_spirv.assembly.text import listing

        return {f"spirv {s.task.name}": listing(s.words) for s in executable.emitted.shaders}

    # ---- launching

    def launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        with self._shared.lock, uninterrupted():
            return self._launch(executable, scalars, bindings)

    def _launch(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> Sequence[Any]:
        if executable.repeated:
            self._settle()  # what a graph's launch reported is told apart
        self._launches.value += 1
        executable.number, executable.scalars, executable.repeated = self.launches, scalars, False
        counts = self._counts(executable, scalars, bindings)
        piece = self._words(executable, counts)
        try:
            if executable.binder is not None:
                executable.binder.check(piece, bindings.storages)
            self._hand(executable, piece, scalars, bindings)
            for pipeline, groups in executable.steady:
                self._run(executable, pipeline, piece, groups, bindings)
            if not executable.steady:
                self._record(executable, piece, counts, bindings)
            if self._graphs.keeping:
                self._graphs.note(executable, scalars, bindings)
            if not executable.waits:
                return ()
            try:
                self._settle()
            finally:  # what was printed before a check failed is seen as well
                if executable.prints is not None:
                    executable.show()
            places, inside = executable.program.places, executable.context.inside
            return [_read(piece, inside[name], places[name].dtype) for name in executable.program.results]
        finally:
            batch = self.stream.batch
            for storage in bindings.storages.values():
                storage.batch = batch
            if piece.own:
                piece.batch = batch
                self.memory.free(piece)

    def _counts(self, executable: Executable, scalars: Sequence[Any], bindings: Bindings) -> list[int | None]:
        """How many iterations each task has in a launch, as far as the host can tell; 0 for those to leave out."""
        if executable.steady:
            return []
        sized = executable.settled and bindings.sized
        tasks = zip(executable.program.tasks, executable.extents, strict=True)
        return [0 if sized and task.sizes else extent.count(scalars, bindings.shapes) for task, extent in tasks]

    def _record(self, executable: Executable, piece: Piece, counts: Sequence[int | None], bindings: Bindings) -> None:
        """Record the dispatches of a launch."""
        executable.settled = False
        executable.layouts.check(executable.depths)
        for number, (task, iterations) in enumerate(zip(executable.program.tasks, counts, strict=True)):
            if iterations != 0:
                executable.stale |= bool(task.sizes)
                self._dispatch(executable, number, piece, iterations, bindings)
        executable.settled = True

    def _run(self, executable: Executable, pipeline: Pipeline, piece: Piece, groups: int, bindings: Bindings) -> None:
        """Dispatch one task of a launch."""
        if self._graphs.keeping:
            self._graphs.step(pipeline, groups)
        if executable.binder is not None:
            executable.binder.bind(pipeline, piece, bindings.storages)
        self.stream.dispatch(pipeline, piece.address, groups)

    def _dispatch(
        self, executable: Executable, number: int, piece: Piece, iterations: int | None, bindings: Bindings
    ) -> None:
        pipeline = executable.pipelines[number]
        groups = pipeline.groups(iterations, self._groups)
        if number in executable.context.heaps:
            groups = self._lay_out(executable, number, piece, self._threads(pipeline, iterations))
        self._run(executable, pipeline, piece, groups, bindings)

    def _threads(self, pipeline: Pipeline, iterations: int | None) -> int:
        """How many threads may need rows for their adstacks."""
        threads = pipeline.groups(iterations, self._groups) * pipeline.local_size
        return min(iterations or threads, threads)

    def _words(self, executable: Executable, counts: Sequence[int | None]) -> Piece:
        """Memory for the words of a launch; apart from the batch's if the launch may have to wait in between."""
        if not executable.context.heaps or self._stands(executable, counts):
            return self.stream.words(executable.context.size)
        piece = self.memory.piece(u8, (executable.context.size,), visible=True)
        piece.own = True
        return piece

    def _stands(self, executable: Executable, counts: Sequence[int | None]) -> bool:
        """Whether the adstacks of a launch are where they were in the last one."""
        if executable.context.depths and executable.stale:
            return False
        if any(task.sizes and n != 0 for task, n in zip(executable.program.tasks, counts, strict=True)):
            return False
        layouts, depths, pipelines = executable.layouts, executable.depths, executable.pipelines
        heaps = (number for number in executable.context.heaps if counts[number] != 0)
        return all(layouts.stands(k, self._threads(pipelines[k], counts[k]), depths) for k in heaps)

    def _lay_out(self, executable: Executable, number: int, piece: Piece, threads: int) -> int:
        """Make a task's adstacks ready for up to so many threads; gives how many workgroups run."""
        layouts = executable.layouts
        if layouts.needs_depths(number) and executable.stale:
            assert executable.sizes is not None
            self.stream.finish()
            executable.depths = mapped(executable.sizes).tolist()
            executable.stale = False
        if not layouts.stands(number, threads, executable.depths):
            words, at = layouts.lay_out(number, threads, executable.depths), executable.context.heaps[number].address
            executable.words[at : at + len(words)] = words  # for later launches, while they stand
            struct.pack_into(f"<{len(words)}Q", piece.block.host, piece.offset + 8 * at, *words)
        return -(-layouts.running[number] // executable.pipelines[number].local_size)

    def adstacks(self, executable: Executable) -> list[TaskUse]:
        """The heap of each task that has run with adstacks in it."""
        uses = executable.layouts.uses
        return [uses[number] for number in sorted(uses)]

    def _hand(self, executable: Executable, piece: Piece, scalars: Sequence[Any], bindings: Bindings) -> None:
        """Write down what a launch is handed, and what is to be known of it later."""
        if executable.bound is bindings:
            piece.block.host[piece.offset : piece.offset + executable.context.size] = executable.packed
        else:
            self._fill(executable, piece, scalars, bindings)
        if executable.reports:
            executable.shapes = bindings.shapes
            self._shared.unread[id(executable)] = executable

    def _fill(self, executable: Executable, piece: Piece, scalars: Sequence[Any], bindings: Bindings) -> None:
        """Write the words of a launch, and zeros behind them; remember them if the next launch has the same."""
        words, context = executable.words, executable.context
        for slot, value, dtype in zip(context.params, scalars, executable.program.params, strict=True):
            words[slot] = raw_bits(value, dtype)
        for name, slot in context.pointers.items():
            words[slot] = bindings.storages[name].address
        for (name, axis), slot in context.extents.items():
            words[slot] = bindings.shapes[name][axis]
        words[context.own["launch"]] = self.launches
        host, at = piece.block.host, piece.offset
        executable.packer.pack_into(host, at, *words)
        rest = context.size - executable.packer.size
        if rest:
            end = at + executable.packer.size
            host[end : end + rest] = bytes(rest)
        if executable.repeats:
            executable.bound, executable.packed = bindings, host[at : at + context.size]

    def _settle(self) -> None:
        """Wait for everything, and raise the first thing that went wrong in it, once."""
        self.stream.finish()
        if self._shared.unread or self._shared.outside.any:
            with uninterrupted():
                self._raise_reported()

    def _raise_reported(self) -> None:
        launched = list(self._shared.unread.values())
        self._shared.unread.clear()
        for error in filter(None, [self._shared.outside.taken(), *(one.failure() for one in launched)]):
            raise error

    def _seen(self, storage: Piece) -> None:
        """Wait for what may touch a piece, so that the host may."""
        if self._shared.unread and storage.batch > self.device.finished:
            self._settle()
        else:
            self.stream.wait(storage.batch)
            if self._shared.outside.any:
                self._settle()

    def last_launch(self, executable: Executable) -> int:
        """The number of the last launch of an executable."""
        return executable.last_launch

    def launch_word(self, executable: Executable) -> int:
        """Where that number stands."""
        return executable.launch_word

    def last_scalars(self, executable: Executable) -> Sequence[Any]:
        """The scalar arguments of its last launch; None for floats that machine code passed."""
        launcher = executable.launcher
        by_python = launcher is None or launcher.number <= executable.number
        return executable.scalars if launcher is None or by_python else launcher.scalars()

    def shortcut(self, executable: Executable, wanted: Shortcut) -> Callable[..., Any] | None:
        """A builtin that records the launch; none where Python must look after it, or memory is the host's own."""
        pipelines, extents, binder = executable.pipelines, executable.extents, executable.binder
        work = Work(executable.program, executable.context, pipelines, extents, self._groups, binder)
        foreign = any(isinstance(argument, HostArgument) for argument in wanted.arguments)
        if executable.waits or executable.reports or foreign or not work.is_plain:
            return None
        with self._shared.lock:
            if executable.launcher is None:
                executable.launcher = Launcher(work, executable.words, self.stream, self._shared.lock)
                executable.launcher.number = executable.number
                rewired()  # that number stands elsewhere now
        launches = ctypes.addressof(self._launches)
        return calls.make(executable.launcher.entry(launches, self, executable), wanted)

    def address(self, storage: Piece) -> int:
        """Where a launch finds the memory."""
        return storage.address

    def mark(self, storage: Piece) -> int:
        """Where the last batch that may touch it is noted."""
        return ctypes.addressof(storage.last)

    def exclusively(self, work: Callable[[], None]) -> None:
        """Do work while no thread launches, or uses the device."""

        def without_others() -> None:
            with self._shared.lock if self._shared.lock.is_here else nullcontext():  # a forked process has no device
                work()

        launching.alone(without_others)

    # ---- graphs

    def capture(self, run: Callable[[], object], executables: Sequence[Executable]) -> Graph | None:
        """Run, and keep what was launched; None if that was not a launch of each of these, or needs Python."""
        return self._graphs.capture(run, executables)

    def repeat(self, graph: Graph) -> bool:
        """Launch a graph; False if there is no memory for its adstacks."""
        with self._shared.lock, uninterrupted():
            return self._graphs.repeat(graph, self._launches)

    def resize(self, graph: Graph, number: int) -> None:
        """Compute the depths of a launch's adstacks; AdstackStaleBoundError if they have no room."""
        with self._shared.lock:
            self._graphs.resize(graph, number)

    # ---- waiting

    def synchronize(self) -> None:
        with self._shared.lock:
            self._shared.leftovers.sweep()
            self._settle()

    # ---- memory

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Piece:
        if dtype not in self.capabilities.dtypes:
            raise BackendUnavailableError(
                f"{self.capabilities.device} does not keep {dtype} in memory",
                do=f"use one of {', '.join(t.name for t in self.capabilities.dtypes)}, or another device",
            )
        with self._shared.lock:
            self._shared.tidy()
            piece = self.memory.piece(dtype, shape)
            self._transfers.clear(piece)
            return piece

    def adopt(self, array: Array) -> None:
        """None: the device does not address the host's memory."""

    def free(self, storage: Piece) -> None:
        with uninterrupted():
            self._shared.lock.give_back(lambda: self.memory.free(storage))

    def abandon(self, storage: Piece) -> None:
        """Give memory back that has lost its owner, once the device is done with it."""
        self._shared.leftovers.add(partial(self.free, storage))

    def reclaim(self) -> None:
        """Have back what was given back or abandoned, after waiting for the device."""
        with self._shared.lock:
            self._shared.leftovers.sweep()
            self.stream.finish()

    def close(self) -> None:
        """Give back the adstack heap, and what was abandoned."""
        self._shared.lock.give_back(self._shared.heap.drop)
        self._shared.lock.give_back(self._shared.leftovers.sweep)

    def host_view(self, storage: Piece) -> Array | None:
        with self._shared.lock:
            return self._transfers.view(storage)

    def download(self, storage: Piece) -> Array:
        return self._downloaded(storage, 0, np.empty(storage.shape, storage.dtype.numpy))

    def download_at(self, storage: Piece, start: int, count: int) -> Array:
        """A copy of elements from the `start`th on."""
        return self._downloaded(storage, start * storage.dtype.size, np.empty(count, storage.dtype.numpy))

    def _downloaded(self, storage: Piece, at: int, array: Array) -> Array:
        with self._shared.lock:
            self._transfers.read(storage, at, array)
        return array

    def upload(self, storage: Piece, array: Array) -> None:
        self.upload_at(storage, 0, np.ascontiguousarray(array))

    def upload_at(self, storage: Piece, start: int, array: Array) -> None:
        """Write elements from the `start`th on."""
        with self._shared.lock:
            self._transfers.write(storage, start * storage.dtype.size, array)

    def fill(self, storage: Piece, element: bytes) -> bool:
        word = element * (4 // len(element)) if len(element) < 4 else element[:4]
        if len(element) == 8 and word != element[4:]:
            return False
        with self._shared.lock:
            self.stream.fill(storage, int.from_bytes(word, "little"))
        return True

    def copy(self, source: Piece, target: Piece) -> None:
        with self._shared.lock:
            self.stream.copy(source, target, source.bytes)

    def copy_at(self, source: Piece, start: int, target: Piece, count: int) -> None:
        """Copy elements from the `start`th on to the beginning of other memory."""
        size = source.dtype.size
        if count:
            with self._shared.lock:
                self.stream.copy(source, target, count * size, start=start * size)


def _read(piece: Piece, at: int, dtype: DType) -> Any:
    """A returned scalar."""
    return np.frombuffer(piece.block.host, dtype.numpy, 1, piece.offset + at)[0].item()
