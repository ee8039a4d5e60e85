"""Making a program runnable: its shaders, their pipelines, the memory for what it reports, what all launches share."""

from __future__ import annotations

import struct
import weakref
from functools import partial
from typing import Final

from adstack.backends.shared.extents import Extent
from adstack.backends.shared.layouts import Layouts
from adstack.backends.shared.reports import OVERFLOW
from adstack.errors import BackendUnavailableError
from adstack.ir.ops import RANDOM
from adstack.ir.structure import Program
from adstack.ir.types import DType, u64
from adstack.runtime.protocol.backend import Capabilities
from adstack.runtime.protocol.options import Options

from .bound import Binder, BoundStream, check_count
from .codegen import emit_module
from .executable import Executable
from .layout import Piece, mapped
from .records import add_records
from .shared import Shared

__all__ = ["Compiler"]

_WORD: Final = (1 << 64) - 1


class Compiler:
    """Makes programs runnable on a device.

    Args:
        common: the device.
        capabilities: what it can do.
        most: workgroups that a task gets.
    """

    def __init__(self, common: Shared, capabilities: Capabilities, most: int) -> None:
        self._common, self._capabilities, self._most = common, capabilities, most

    def compile(self, program: Program, options: Options) -> Executable:
        """See `Backend.compile`; BackendUnavailableError if the device does not keep an element type in memory."""
        with self._common.lock:
            self._common.tidy()
            return self._compile(program, options)

    def _compile(self, program: Program, options: Options) -> Executable:
        self._check_dtypes(program)
        emitted = emit_module(program, self._common.traits, debug=options.debug)
        physical = self._common.device.physical
        check_count(physical, program, emitted.shaders)
        pipelines = [
            self._common.pipelines.make(
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
        layouts = Layouts(program, context.heaps, self._common.heap, options.ad_stack_heap_limit, most)
        packer = struct.Struct(f"<{context.words}Q")
        executable = Executable(program, options, emitted, pipelines, extents, words, packer, layouts)
        add_records(executable, self._mapped, self._watch)
        if isinstance(self._common.stream, BoundStream):
            reports = executable.record, executable.prints, executable.sizes
            executable.binder = Binder(self._common.stream, self._common.heap, program, *reports)
        self._look_ahead(executable)
        record = None if executable.unattended else executable.record
        end = partial(self._common.destroy, pipelines, (record, executable.prints, executable.sizes))
        weakref.finalize(executable, self._common.leftovers.add, end).atexit = False
        return executable

    def _check_dtypes(self, program: Program) -> None:
        for place in program.places.values():
            if place.dtype not in self._capabilities.dtypes:
                raise BackendUnavailableError(
                    f"{place.called} holds {place.dtype}, which {self._capabilities.device} does not keep in memory",
                    do=f"use one of {', '.join(t.name for t in self._capabilities.dtypes)}, or another device",
                )

    def _look_ahead(self, executable: Executable) -> None:
        """Work out what is the same in every launch."""
        draws = any(op.opdef is RANDOM for task in executable.program.tasks for op in task.body.walk())
        arrays = any(place.kind == "ndarray" for place in executable.program.places.values())
        context = executable.context
        executable.repeats = not (context.params or context.depths or context.heaps or draws or arrays)
        fixed = [extent.fixed for extent in executable.extents]
        if not context.heaps and all(fixed):
            groups = [p.groups(n, self._most) for p, n in zip(executable.pipelines, fixed, strict=True)]
            executable.steady = tuple(zip(executable.pipelines, groups, strict=True))

    def _watch(self, executable: Executable, record: Piece) -> None:
        """See `records`."""
        view = mapped(record)[OVERFLOW:]
        end = partial(self._common.destroy, (), (record,))
        weakref.finalize(view, self._common.leftovers.add, end).atexit = False
        self._common.outside.watch(view, executable.emitted.sites, executable)

    def _mapped(self, words: int, dtype: DType = u64) -> Piece:
        piece = self._common.memory.piece(dtype, (words,), visible=True)
        mapped(piece)[:] = 0
        return piece
