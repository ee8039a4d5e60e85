"""A compiled program, and what its launches use and report."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from adstack.backends.codegen_msl.tasks import Emitted
from adstack.backends.shared.bits import raw_bits
from adstack.backends.shared.extents import Extent
from adstack.backends.shared.layouts import Layouts
from adstack.backends.shared.own_size import own_size
from adstack.backends.shared.reports import OVERFLOW, PRINT_WORDS, failure, overflow_error, taken_prints, taken_records
from adstack.backends.shared.sites import record_words
from adstack.backends.shared.standing import Standing
from adstack.errors import AdstackError
from adstack.ir.structure import Program
from adstack.runtime.adstacks.heap import Heap
from adstack.runtime.protocol.backend import Bindings, Scalars
from adstack.runtime.protocol.options import Options

from .driver import Buffer, Driver, Pipeline
from .layout import words_of

__all__ = ["Executable", "build"]

_WORD = (1 << 64) - 1


@dataclass
class Executable(Standing):
    """A compiled program with what its launches use.

    Attributes:
        program: what was compiled.
        emitted: its source.
        pipelines: one per task.
        extents: how many iterations each task has.
        words: what a launch hands over, and behind it the places that live for one launch.
        layouts: where its adstacks are.
        record: where overflows and failed checks are reported.
        prints: where printed text is collected.
        sizes: memory of its place "depths", if it has one.
    """

    program: Program
    options: Options
    emitted: Emitted
    pipelines: list[Pipeline]
    extents: list[Extent]
    words: Buffer
    layouts: Layouts
    record: Buffer | None = None
    prints: Buffer | None = None
    sizes: Buffer | None = None
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def run(self, driver: Driver, number: int, scalars: Scalars, bindings: Bindings) -> None:
        """Run all tasks of the launch of that `number`, on such scalar arguments and memory, and wait."""
        sized = self.settled and bindings.sized
        self.settled = False
        self._fill(number, scalars, bindings)
        self.layouts.check(self._depths())
        for k, (task, extent) in enumerate(zip(self.program.tasks, self.extents, strict=True)):
            iterations = 0 if sized and task.sizes else extent.count(scalars, bindings.shapes)
            if not sized and self.layouts.looks_ahead(k):
                driver.finish()
                self.layouts.check(self._depths(), k)
            if iterations != 0:
                threads = driver.most if iterations is None else min(iterations, driver.most)
                if k in self.emitted.context.heaps:
                    self._lay_out(driver, k, threads)
                driver.dispatch(self.pipelines[k], self.words, threads)
        driver.finish()
        self.settled = True

    def _fill(self, number: int, scalars: Scalars, bindings: Bindings) -> None:
        """Write the words that the launch hands to kernels: its number, scalars, extents, and addresses of memory."""
        context, words = self.emitted.context, words_of(self.words)
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

    def _lay_out(self, driver: Driver, number: int, threads: int) -> None:
        """Make a task's adstacks ready for up to so many threads."""
        if self.layouts.needs_depths(number):
            driver.finish()  # its sizers may still be queued
        table = self.layouts.lay_out(number, threads, self._depths())
        at = self.emitted.context.heaps[number].address
        words_of(self.words)[at : at + len(table)] = [word & _WORD for word in table]

    def results(self) -> Scalars:
        """The scalars that the last launch returned."""
        places, inside = self.program.places, self.emitted.context.inside
        return [self._result(inside[name], places[name].dtype.numpy) for name in self.program.results]

    def _result(self, at: int, kind: np.dtype[np.generic]) -> float:
        value: float = self.words.bytes[at : at + kind.itemsize].view(kind)[0].item()
        return value

    def report(self) -> None:
        """Print what the last launch printed, and raise what it reported."""
        error = self._failure()
        if self.prints is not None:
            print(taken_prints(self.program.name, self.emitted.sites, self.prints.bytes.view(np.uint64)), end="")
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
        sites = self.emitted.sites
        return failure(sites, record, self.shapes) if record[0] else overflow_error(sites, overflow)


def build(driver: Driver, heap: Heap, program: Program, options: Options, emitted: Emitted) -> Executable:
    """Compile a source, and give the program the memory that its launches use."""
    context, kinds = emitted.context, {site.kind for site in emitted.sites}
    pipelines = driver.load(emitted.text, emitted.names, keep=options.offline_cache)
    layouts = Layouts(program, context.heaps, heap, options.ad_stack_heap_limit)
    block = driver.allocate(-(-max(context.size, 8) // 8) * 8)
    extents = [Extent.of(task) for task in program.tasks]
    executable = Executable(program, options, emitted, pipelines, extents, block, layouts)
    words = words_of(block)
    words[context.own["seed"]] = options.random_seed & _WORD
    if options.debug or kinds - {"print"}:
        executable.record = record = driver.allocate(8 * (OVERFLOW + record_words(emitted.sites)))
        words[context.own["overflow"]] = record.address
        words[context.own["errors"]] = record.address + 8 * OVERFLOW
    if "print" in kinds:
        executable.prints = driver.allocate(8 * (2 + PRINT_WORDS))
        words_of(executable.prints)[1] = PRINT_WORDS
        words[context.own["print"]] = executable.prints.address
    for name, slot in context.depths.items():
        executable.sizes = driver.allocate(max(8, own_size(program.places[name])))
        words[slot] = executable.sizes.address
    return executable
