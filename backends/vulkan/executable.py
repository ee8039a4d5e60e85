"""A compiled program, and what its launches use and report."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, field

from adstack.backends.codegen_spirv.tasks import Emitted
from adstack.backends.shared.extents import Extent
from adstack.backends.shared.launch_words import Context
from adstack.backends.shared.layouts import Layouts
from adstack.backends.shared.reports import failure, outgrown_in_graph, overflow_error, taken_prints, taken_records
from adstack.backends.shared.standing import Repeatable
from adstack.errors import AdstackError
from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Bindings, Scalars
from adstack.runtime.protocol.options import Options

from .bound import Binder
from .driver.pipeline import Pipeline
from .layout import Piece, mapped
from .shortcuts import Launcher

__all__ = ["Executable"]


@dataclass
class Executable(Repeatable):
    """A compiled program with what its launches use.

    Attributes:
        program: what was compiled.
        emitted: its shaders.
        pipelines: one per task.
        extents: how many iterations each task has.
        words: what a launch hands over, filled where it does not change between launches.
        packer: writes them.
        record: where failed checks and overflows are reported: memory that the host sees.
        unattended: only guarded accesses report, and the record is looked at whoever launches (see `shared.outside`).
        prints: where printed text is collected.
        steady: the dispatches of a launch, pipeline and workgroups, if they are always the same; else empty.
        repeats: whether launches differ in nothing but where their arrays are.
        bound, packed: what the last launch worked on, and its words, of one that repeats.
        layouts: where its adstacks are.
        sizes: memory of its place "depths", if it has one.
        depths: what stood there; not any more if `stale`.
        read: the number of the last launch whose reports have been looked at.
        binder: what is bound for its tasks, where memory is not reached by addresses.
        shapes: extents of its places when it was last launched.
        scalars: of the last launch that Python made.
        launcher: of launches that machine code makes.
    """

    program: Program
    options: Options
    emitted: Emitted
    pipelines: list[Pipeline]
    extents: list[Extent]
    words: list[int]
    packer: struct.Struct
    layouts: Layouts
    record: Piece | None = None
    unattended: bool = False
    prints: Piece | None = None
    steady: tuple[tuple[Pipeline, int], ...] = ()
    repeats: bool = False
    bound: Bindings | None = None
    packed: bytes = b""
    sizes: Piece | None = None
    depths: list[int] = field(default_factory=list)
    stale: bool = True
    read: int = 0
    binder: Binder | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    scalars: Scalars = ()
    launcher: Launcher | None = None
    _number: ctypes.c_int64 = field(default_factory=ctypes.c_int64)

    @property
    def unread(self) -> bool:
        """Whether it may have reported something since anybody looked."""
        return self.last_launch > self.read

    @property
    def number(self) -> int:
        """The number of the last launch that Python made."""
        return self._number.value

    @number.setter
    def number(self, number: int) -> None:
        self._number.value = number
        if self.launcher is not None:
            self.launcher.number = number

    @property
    def last_launch(self) -> int:
        """The number of the last launch."""
        return self.number if self.launcher is None else self.launcher.number

    @property
    def launch_word(self) -> int:
        """Where that number stands; elsewhere once there is a launcher."""
        return ctypes.addressof(self._number) if self.launcher is None else self.launcher.number_word

    @property
    def context(self) -> Context:
        """Which word holds what."""
        return self.emitted.context

    @property
    def waits(self) -> bool:
        """Whether a launch must be over before the call returns: it has a result, or something to say."""
        return bool(self.program.results or self.prints or self.options.debug)

    @property
    def reports(self) -> bool:
        """Whether its launches report something that is to be looked at for each of them."""
        return self.record is not None and not self.unattended

    def failure(self) -> AdstackError | None:
        """What launches that are over have reported, if anything; the record is clear then."""
        assert self.record is not None
        taken = taken_records(mapped(self.record))
        if taken is None:
            return None
        overflow, record = taken
        self.settled = False
        sites = self.emitted.sites
        if self.repeated and (not record[0] or sites[record[1]].kind == "claims"):
            return outgrown_in_graph(self.program.name, sites, self.layouts.uses.values(), overflow, record)
        return failure(sites, record, self._extents()) if record[0] else overflow_error(sites, overflow)

    def _extents(self) -> dict[str, tuple[int, ...]]:
        """The extents of its places in the last launch."""
        by_machine_code = self.launcher is not None and self.launcher.number > self.number
        return self.launcher.shapes() if self.launcher is not None and by_machine_code else self.shapes

    def show(self) -> None:
        """Print what the last launch, which is over, has printed; AdstackRuntimeError if that was too much to keep."""
        assert self.prints is not None
        print(taken_prints(self.program.name, self.emitted.sites, mapped(self.prints)), end="")
