"""The host's processor as a backend: launches have finished when they return."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from adstack.backends.llvm.cache import ObjectCache, default_folder
from adstack.backends.llvm.context import Context, own_size, raw_bits
from adstack.backends.llvm.frame import record_words
from adstack.backends.llvm.reports import failure, overflow_error, printed
from adstack.errors import BackendUnavailableError
from adstack.ir.structure import Program
from adstack.ir.types import DType
from adstack.runtime.backend import Bindings, Capabilities, Probe, Unavailable
from adstack.runtime.options import Options
from adstack.runtime.shortcuts import Shortcut

from . import capability, layout, native
from .codegen import Module, emit_module
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
class Executable:
    """A compiled program with the memory that its launches use.

    Attributes:
        program: what was compiled.
        module: the LLVM text.
        code: the machine code.
        slots: the context, filled where it does not change between launches.
        own: memory of temps and results.
        errors, overflow, raised: what a launch reports; the last are exceptions from printing.
        shapes: extents of its places when it was last launched.
        keep: what the machine code points to.
    """

    program: Program
    options: Options
    module: Module
    code: Code
    slots: Array
    own: dict[str, Array]
    errors: Array
    overflow: Array
    raised: list[BaseException] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    keep: tuple[Any, ...] = ()

    @property
    def context(self) -> Context:
        """Which slot holds what."""
        return self.module.emitted.context

    @property
    def is_parallel(self) -> bool:
        """Whether it has loops that threads may share."""
        return any(task.kind == "parallel" for task in self.program.tasks)

    def report(self) -> None:
        """Raise what the last launch reported, if anything."""
        if self.raised:
            self.errors[:] = 0
            raise self.raised.pop()
        if self.errors[0]:
            record = self.errors.tolist()
            self.errors[:] = 0
            raise failure(self.module.emitted.sites, record, self.shapes)
        if self.overflow[0]:
            record = self.overflow.tolist()
            self.overflow[:] = 0
            raise overflow_error(self.module.emitted.sites, record)


class CpuBackend:
    """Memory is numpy arrays; a launch runs machine code on them."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.capabilities = capabilities
        self._launches = np.zeros(1, np.int64)

    @property
    def launches(self) -> int:
        """How many launches there were."""
        return int(self._launches[0])

    def compile(self, program: Program, options: Options) -> Executable:
        _, features = capability.host()
        width = capability.vector_bytes(features)
        module = emit_module(program, debug=options.debug, lanes=options.cpu_lanes, vector_bytes=width)
        cached = ObjectCache(default_folder()) if options.offline_cache else None
        code = compile_text(module.text, cached)
        context = module.emitted.context
        slots = np.zeros(context.size, np.int64)
        own = {
            place.name: np.zeros(max(1, own_size(place) // place.dtype.size), place.dtype.numpy)
            for place in program.places.values()
            if place.kind in ("temp", "result")
        }
        for name, memory in own.items():
            slots[context.pointers[name]] = memory.ctypes.data
        errors = np.zeros(record_words(module.emitted.sites), np.int64)
        slots[context.own["errors"]] = errors.ctypes.data
        overflow = np.zeros(3, np.int64)
        slots[context.own["overflow"]] = overflow.ctypes.data
        slots[context.own["seed"]] = options.random_seed & (2**63 - 1)
        raised: list[BaseException] = []
        printer = _printer(module, errors, raised)
        slots[context.own["print"]] = ctypes.cast(printer, ctypes.c_void_p).value or 0
        made = Executable(program, options, module, code, slots, own, errors, overflow, raised, keep=(printer,))
        if made.is_parallel:
            slots[context.own["parallel"]] = pool().start(options.cpu_max_num_threads)
        return made

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
        slots, context = executable.slots, executable.context
        task = executable.program.tasks[0].body.args if executable.program.tasks else ()
        for slot, value, arg in zip(context.params, scalars, task, strict=True):
            slots[slot] = raw_bits(value, arg.dtype)
        for name, storage in bindings.storages.items():
            slots[context.pointers[name]] = storage.__array_interface__["data"][0]
        for (name, axis), slot in context.extents.items():
            slots[slot] = bindings.shapes[name][axis]
        executable.shapes = bindings.shapes
        self._launches[0] += 1
        slots[context.own["launch"]] = self._launches[0]
        native.run(executable.code.entry, slots.ctypes.data)
        executable.report()
        return [executable.own[name][0].item() for name in executable.program.results]

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
            launches=self._launches.ctypes.data,
            results={name: executable.own[name].ctypes.data for name in executable.program.results},
            long=any(op.name in _LONG for task in executable.program.tasks for op in task.body.walk()),
            failed=executable.report,
            keep=(self, executable),
        )

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def allocate(self, dtype: DType, shape: tuple[int, ...]) -> Array:
        return layout.allocate(dtype, shape)

    def adopt(self, array: Array) -> Array:
        return array

    def free(self, storage: Any) -> None:
        """Python frees it."""

    def host_view(self, storage: Array) -> Array:
        return storage

    def download(self, storage: Array) -> Array:
        copied: Array = storage.copy()
        return copied

    def upload(self, storage: Array, array: Array) -> None:
        storage[...] = array


def _printer(module: Module, errors: Array, raised: list[BaseException]) -> Any:
    """What machine code calls to print. An exception can't pass through it: it is raised when the launch is over."""
    sites = module.emitted.sites

    def write(site: int, bits: Any) -> None:
        if raised:
            return
        try:
            print(printed(sites[site], bits[: len(sites[site].types)]), end="")
        except BaseException as error:  # noqa: BLE001 - every one of them is raised later
            raised.append(error)
            errors[0] = 1

    return _PRINT(write)
