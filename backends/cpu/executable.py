"""A compiled program with the memory that its launches use, and what goes on where a launch stops."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from adstack.backends.codegen_llvm.function.context import Context
from adstack.backends.hostcall import launching
from adstack.backends.shared.reports import failure, overflow_error, printed
from adstack.backends.shared.sites import Site
from adstack.backends.shared.standing import Standing
from adstack.ir.ops import FOR, PRINT, WHILE
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import TaskUse
from adstack.runtime.protocol.backend import Bindings
from adstack.runtime.protocol.options import Options

from .adstacks import Layouts
from .codegen import Module
from .fitting import UNFIT
from .machine import machine
from .machines import Bits, Code

__all__ = ["Executable", "Version", "printer_of"]

Array = npt.NDArray[np.int64]
_LONG = frozenset({FOR, WHILE, PRINT})
"""Operations that may keep a launch from ending soon."""


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
class Executable(Standing):
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
        others: versions for where a block of many lanes is too large, and for launches that the usual one is not made
            for, by what `compiled` was told; made when they are needed.
        sites: what reports are about, in any version.
        keep: what the machine code points to.
        checked: whether tasks whose depths are constant can run at all.
    """

    program: Program
    options: Options
    compiled: Callable[[bool, bool], Version]
    uses: dict[int, TaskUse]
    version: Version
    slots: Array
    own: dict[str, npt.NDArray[np.generic]]
    errors: Array
    overflow: Array
    raised: list[BaseException] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    bound: Bindings | None = None
    others: dict[tuple[bool, bool], Version] = field(default_factory=dict)
    sites: Sequence[Site] = ()
    keep: tuple[object, ...] = ()
    checked: bool = False

    def __post_init__(self) -> None:
        self.is_parallel = any(task.kind == "parallel" for task in self.program.tasks)
        self.sizes = any(task.sizes for task in self.program.tasks)
        self.takes_arrays = any(place.kind == "ndarray" for place in self.program.places.values())
        self.is_long = any(op.opdef in _LONG for task in self.program.tasks for op in task.body.walk())
        self.address: int = self.slots.ctypes.data
        self.cells, self.entry = self.slots.data, self.code.entry
        self.launch_slot, self.sized_slot = (self.context.own[name] for name in ("launch", "sized"))
        self.params = list(zip(self.context.params, self.program.params, strict=True))

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
        version, any_arguments, narrow = self.version, stopped == UNFIT, False
        try:
            if any_arguments:
                version = self._other(narrow, any_arguments)
                if not version.module.emitted.rows:
                    self.slots[self.context.own["unfit"]] = version.code.inside  # machine code finds the way next time
                stopped = launching.run(version.code.entry, self.slots.ctypes.data)
            if stopped:
                version.layouts.check(stopped - 1)
            if stopped > len(self.program.tasks):
                stopped = launching.run(version.code.entry, self.slots.ctypes.data, stopped)
            while stopped:
                total = version.layouts.total(stopped - 1)
                if version.layouts.lay_out(stopped - 1, total):
                    stopped = launching.run(version.code.entry, self.slots.ctypes.data, stopped)
                elif not narrow:
                    self.report()
                    narrow = True
                    version = self._other(narrow, any_arguments)
                    stopped = launching.run(version.code.entry, self.slots.ctypes.data, stopped)
                else:
                    raise version.layouts.limit_reached(stopped - 1, stopped - 1)
            self.report()
        finally:
            self.use(self.version)

    def _other(self, narrow: bool, any_arguments: bool) -> Version:
        """Go on in another version."""
        key = narrow, any_arguments
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


def printer_of(executable: Executable) -> tuple[object, int]:
    """What machine code calls to print, to be kept, and its address.

    An exception can't pass through it: it is raised when the launch is over.
    """
    raised, errors, owner = executable.raised, executable.errors, weakref.ref(executable)

    def write(site: int, bits: Bits) -> None:
        running = owner()
        if raised or running is None:
            return
        try:
            print(printed(running.sites[site], bits[: len(running.sites[site].types)]), end="")
        except BaseException as error:  # noqa: BLE001 - every one of them is raised later
            raised.append(error)
            errors[0] = 1

    return machine().printer(executable.address, write)
