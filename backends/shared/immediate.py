"""Programs on a device whose dispatches run in order, and which the host waits for: what launches use and report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from adstack.errors import AdstackError
from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Bindings, Scalars

from .bits import raw_bits
from .buffers import Buffer, Memory, words_of
from .extents import Extent
from .launch_words import Context
from .layouts import Layouts
from .own_size import own_size
from .reports import OVERFLOW, PRINT_WORDS, failure, overflow_error, taken_prints, taken_records
from .sites import Site, record_words
from .standing import Standing

__all__ = ["Driver", "Executable", "Pipeline", "finished"]

_WORD: Final = (1 << 64) - 1

Pipeline: TypeAlias = Any
"""A kernel function that is ready to run: a handle that is only ever passed back to the driver."""


class Driver(Protocol):
    """A device whose dispatches have finished when `finish` returns.

    Attributes:
        name: of the device.
        kind: how it executes, see `protocol.backend.KINDS`.
        most: threads that a dispatch gets at most.
    """

    name: str
    kind: str
    most: int

    def allocate(self, size: int) -> Buffer:
        """So many zeroed bytes, `size`, which go with the last reference; AdstackMemoryError if there aren't any."""

    def dispatch(self, pipeline: Pipeline, words: Buffer, threads: int) -> None:
        """Queue a kernel function, the `pipeline`, on so many threads at most, handed the `words` of a launch.

        Threads divide the iterations among themselves, however many there are.
        """

    def finish(self) -> None:
        """Wait until everything that was queued has finished."""


@dataclass
class Executable(Standing):
    """A compiled program with what its launches use.

    Attributes:
        program: what was compiled.
        text: what was compiled of it.
        context: which word of a launch is what.
        sites: what may be reported.
        pipelines: one per task.
        extents: how many iterations each task has.
        words: what a launch hands over, and behind it the places that live for one launch.
        layouts: where its adstacks are.
        record: where overflows and failed checks are reported.
        prints: where printed text is collected.
        sizes: memory of its place "depths", if it has one.
    """

    program: Program
    text: str
    context: Context
    sites: Sequence[Site]
    pipelines: list[Pipeline]
    extents: list[Extent]
    words: Buffer
    layouts: Layouts
    record: Buffer | None = None
    prints: Buffer | None = None
    sizes: Buffer | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def run(self, driver: Driver, number: int, scalars: Scalars, bindings: Bindings) -> None:
        """Run all tasks of the launch of that `number`, on such scalar arguments and memory, and wait.

        Whatever is raised, nothing of it runs any more then.
        """
        sized = self.settled and bindings.sized
        self.settled = False
        self._fill(number, scalars, bindings)
        self.layouts.check(self._depths())
        try:
            self._dispatch(driver, scalars, bindings, sized=sized)
        finally:
            driver.finish()
        self.settled = True

    def _dispatch(self, driver: Driver, scalars: Scalars, bindings: Bindings, *, sized: bool) -> None:
        """Queue all tasks; sizers only if memory is not known to be `sized`."""
        for k, (task, extent) in enumerate(zip(self.program.tasks, self.extents, strict=True)):
            iterations = 0 if sized and task.sizes else extent.count(scalars, bindings.shapes)
            if not sized and self.layouts.looks_ahead(k):
                driver.finish()
                self.layouts.check(self._depths(), k)
            if iterations != 0:
                threads = driver.most if iterations is None else min(iterations, driver.most)
                if self.layouts.has(k):
                    threads = self._lay_out(driver, k, threads)
                driver.dispatch(self.pipelines[k], self.words, threads)

    def _fill(self, number: int, scalars: Scalars, bindings: Bindings) -> None:
        """Write the words that the launch hands to kernels: its number, scalars, extents, and addresses of memory."""
        context, words = self.context, words_of(self.words)
        self.shapes = bindings.shapes
        self.words.bytes[8 * context.words :] = 0
        for slot, value, dtype in zip(context.params, scalars, self.program.params, strict=True):
            words[slot] = raw_bits(value, dtype)
        for name, slot in context.pointers.items():
            words[slot] = bindings.storages[name].address
        for (name, axis), slot in context.extents.items():
            words[slot] = bindings.shapes[name][axis]
        words[context.own["launch"]] = number

    def _depths(self) -> list[int]:
        """The depths that sizers have computed, in the order of the place "depths"."""
        return [] if self.sizes is None else self.sizes.bytes.view(np.int64).tolist()

    def _lay_out(self, driver: Driver, number: int, threads: int) -> int:
        """Make a task's adstacks ready for up to so many threads; for how many that is."""
        if self.layouts.needs_depths(number):
            driver.finish()  # its sizers may still be queued
        table = self.layouts.lay_out(number, threads, self._depths())
        return self.tell(number, threads, table)

    def tell(self, number: int, threads: int, table: Sequence[int]) -> int:
        """Write down where a task's adstacks are: `table` is what `Layouts.lay_out` gives; how many threads run."""
        at = self.context.heaps[number].address
        words_of(self.words)[at : at + len(table)] = [word & _WORD for word in table]
        return threads

    def results(self) -> Scalars:
        """The scalars that the last launch returned."""
        places, inside = self.program.places, self.context.inside
        return [self._result(inside[name], places[name].dtype.numpy) for name in self.program.results]

    def _result(self, at: int, kind: np.dtype[np.generic]) -> float:
        value: float = self.words.bytes[at : at + kind.itemsize].view(kind)[0].item()
        return value

    def report(self) -> None:
        """Print what the last launch printed, and raise what it reported."""
        error = self._failure()
        if self.prints is not None:
            print(taken_prints(self.program.name, self.sites, self.prints.bytes.view(np.uint64)), end="")
        if error is not None:
            raise error

    def _failure(self) -> AdstackError | None:
        if self.record is None:
            return None
        taken = taken_records(words_of(self.record))
        if taken is None:
            return None
        overflow, record = taken
        self.settled = False
        sites = self.sites
        return failure(sites, record, self.shapes) if record[0] else overflow_error(sites, overflow)


def finished(executable: Executable, memory: Memory, seed: int, *, debug: bool) -> None:
    """Give a program the memory for what its launches keep and report, and its words what never changes.

    Args:
        executable: whose words are zeroed so far.
        memory: where from.
        seed: of random numbers.
        debug: whether checks report as well.
    """
    context, kinds = executable.context, {site.kind for site in executable.sites}
    words = words_of(executable.words)
    words[context.own["seed"]] = seed & _WORD
    if debug or kinds - {"print"}:
        executable.record = record = memory.allocate(8 * (OVERFLOW + record_words(executable.sites)))
        words[context.own["overflow"]] = record.address
        words[context.own["errors"]] = record.address + 8 * OVERFLOW
    if "print" in kinds:
        executable.prints = memory.allocate(8 * (2 + PRINT_WORDS))
        words_of(executable.prints)[1] = PRINT_WORDS
        words[context.own["print"]] = executable.prints.address
    for name, slot in context.depths.items():
        executable.sizes = memory.allocate(max(8, own_size(executable.program.places[name])))
        words[slot] = executable.sizes.address
