"""Programs on a device whose dispatches run in order: what launches use and report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adstack.errors import AdstackError
from adstack.ir.structure import Program
from adstack.runtime.protocol.backend import Array, Bindings, Scalars

from .bits import raw_bits
from .buffers import Buffer, Memory, words_of
from .extents import Extent
from .launch_words import Context
from .layouts import Layouts
from .own_size import own_size
from .queueing import Driver, Pipeline, Queue
from .reports import (
    OVERFLOW,
    PRINT_WORDS,
    failure,
    outgrown_in_graph,
    overflow_error,
    taken_prints,
    taken_records,
)
from .sites import Site, record_words
from .standing import Repeatable

__all__ = ["Driver", "Executable", "Pipeline", "Step", "finished"]

_WORD: Final = (1 << 64) - 1


@dataclass(frozen=True)
class Step:
    """A dispatch: the number of a task, and how many threads run it."""

    number: int
    threads: int


@dataclass
class Executable(Repeatable):
    """A compiled program with what its launches use.

    Attributes:
        program: what was compiled.
        text: what was compiled of it.
        context: which word of a launch is what.
        sites: what may be reported.
        pipelines: one per task.
        extents: how many iterations each task has.
        words: what the last launch hands over, and behind it the places that live for one launch.
        layouts: where its adstacks are.
        constants: the words of a launch, filled where they never change.
        located: words that hold addresses in the words' own memory: how many bytes from the first one.
        record: where overflows and failed checks are reported.
        prints: where printed text is collected.
        sizes: memory of its place "depths", if it has one.
        depths: what stood there; not any more if `stale`.
        shapes: extents of its places in the last launch.
        checks: whether it was compiled for debug mode.
        widths: of tasks whose iterations are blocks of threads that run side by side, how many threads a block has.
    """

    program: Program
    text: str
    context: Context
    sites: Sequence[Site]
    pipelines: list[Pipeline]
    extents: list[Extent]
    words: Buffer
    layouts: Layouts
    constants: Array = field(default_factory=lambda: np.zeros(0, np.uint64))
    located: Mapping[int, int] = field(default_factory=dict)
    record: Buffer | None = None
    prints: Buffer | None = None
    sizes: Buffer | None = None
    depths: list[int] = field(default_factory=list)
    stale: bool = True
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    checks: bool = False
    widths: Mapping[int, int] = field(default_factory=dict)

    @property
    def waits(self) -> bool:
        """Whether a launch must be over before the call returns: it has a result, or something to say."""
        return bool(self.program.results or self.prints or self.checks)

    @property
    def heap_words(self) -> Sequence[int]:
        """The words that hold the address of the heap."""
        return [words.address for words in self.context.heaps.values()]

    def run(self, queue: Queue, words: Buffer, number: int, scalars: Scalars, bindings: Bindings) -> list[Step]:
        """Queue all tasks of a launch.

        Args:
            queue: of the device.
            words: memory for what the launch is handed.
            number: of the launch.
            scalars: its arguments.
            bindings: the memory that it works on.

        Returns:
            What it has dispatched.
        """
        sized, steps = self.settled and bindings.sized, list[Step]()
        self.settled = self.repeated = False
        self.hand(words, self.constants)
        self._fill(number, scalars, bindings)
        self.layouts.check(self.depths)
        for k, task in enumerate(self.program.tasks):
            threads = 0 if sized and task.sizes else self._threads(k, scalars, bindings, queue.most)
            if self.stale and self.layouts.looks_ahead(k):
                self.learn_depths(queue)
                self.layouts.check(self.depths, k)
            if threads:
                self.stale |= bool(task.sizes)
                steps.append(self._dispatch(queue, k, threads))
        self.settled = True
        return steps

    def sizers(self, scalars: Scalars, bindings: Bindings, most: int) -> list[Step]:
        """The dispatches of a launch that compute depths, of `most` threads at most."""
        sizers = [k for k, task in enumerate(self.program.tasks) if task.sizes]
        steps = [Step(k, self._threads(k, scalars, bindings, most)) for k in sizers]
        return [step for step in steps if step.threads]

    def _threads(self, number: int, scalars: Scalars, bindings: Bindings, most: int) -> int:
        """How many threads a task gets where there is memory for its adstacks; 0 if it has no iterations."""
        iterations, width = self.extents[number].count(scalars, bindings.shapes), self.widths.get(number, 1)
        rows = max(most // width, 1)
        return width * (rows if iterations is None else min(iterations, rows))

    def hand(self, words: Buffer, told: Array, storage: Buffer | None = None) -> None:
        """Let a launch have what it is told.

        Args:
            words: memory of its own, which nothing uses.
            told: the words, but for addresses in that memory.
            storage: where the adstack heap is; None to leave that as it is.
        """
        context, self.words = self.context, words
        there = words_of(words)
        there[: context.words] = told
        words.bytes[8 * context.words : context.size] = 0
        for word, at in self.located.items():
            there[word] = words.address + at
        if storage is not None:
            there[list(self.heap_words)] = storage.address

    def _fill(self, number: int, scalars: Scalars, bindings: Bindings) -> None:
        """Write the words that differ between launches: number, scalars, extents, and addresses of memory."""
        context, words = self.context, words_of(self.words)
        self.shapes = bindings.shapes
        for slot, value, dtype in zip(context.params, scalars, self.program.params, strict=True):
            words[slot] = raw_bits(value, dtype)
        for name, slot in context.pointers.items():
            words[slot] = bindings.storages[name].address
        for (name, axis), slot in context.extents.items():
            words[slot] = bindings.shapes[name][axis]
        words[context.own["launch"]] = number

    def _dispatch(self, queue: Queue, number: int, threads: int) -> Step:
        """Queue a task on so many threads, or as many as there is memory for."""
        if self.layouts.has(number):
            threads = self._lay_out(queue, number, threads)
        self.queue_on(queue, self.words, Step(number, threads))
        return Step(number, threads)

    def queue_on(self, queue: Queue, words: Buffer, step: Step) -> None:
        """Queue a dispatch, which is handed the words of a launch."""
        queue.dispatch(self.pipelines[step.number], words, step.threads, self.widths.get(step.number, 0))

    def learn_depths(self, queue: Queue) -> None:
        """Wait for the sizers that were queued, and look what they have computed."""
        queue.finish()
        self.depths = [] if self.sizes is None else self.sizes.bytes.view(np.int64).tolist()
        self.stale = False

    def _lay_out(self, queue: Queue, number: int, threads: int) -> int:
        """Make a task's adstacks ready for up to so many threads; for how many that is."""
        if self.stale and self.layouts.needs_depths(number):
            self.learn_depths(queue)
        return self.tell(number, threads, self.layouts.lay_out(number, threads, self.depths))

    def tell(self, number: int, threads: int, table: Sequence[int]) -> int:
        """Write down where a task's adstacks are: `table` is what `Layouts.lay_out` gives; how many threads run."""
        at = self.context.heaps[number].address
        words_of(self.words)[at : at + len(table)] = [word & _WORD for word in table]
        return threads

    def results(self) -> Scalars:
        """The scalars that the last launch, which is over, has returned."""
        places, inside = self.program.places, self.context.inside
        return [self._result(inside[name], places[name].dtype.numpy) for name in self.program.results]

    def _result(self, at: int, kind: np.dtype[np.generic]) -> float:
        value: float = self.words.bytes[at : at + kind.itemsize].view(kind)[0].item()
        return value

    def show(self) -> None:
        """Print what the last launch, which is over, has printed; AdstackRuntimeError if that was too much to keep."""
        if self.prints is not None:
            print(taken_prints(self.program.name, self.sites, self.prints.bytes.view(np.uint64)), end="")

    def failure(self) -> AdstackError | None:
        """What launches that are over have reported, if anything; the record is clear then."""
        taken = None if self.record is None else taken_records(words_of(self.record))
        if taken is None:
            return None
        overflow, record = taken
        self.settled = False
        sites = self.sites
        if self.repeated and (not record[0] or sites[record[1]].kind == "claims"):
            return outgrown_in_graph(self.program.name, sites, self.layouts.uses.values(), overflow, record)
        return failure(sites, record, self.shapes) if record[0] else overflow_error(sites, overflow)


def finished(executable: Executable, memory: Memory, seed: int, *, debug: bool) -> None:
    """Give a program the memory for what its launches keep and report, and write down what never changes.

    Args:
        executable: what was compiled.
        memory: where from.
        seed: of random numbers.
        debug: whether checks report as well.
    """
    context, kinds = executable.context, {site.kind for site in executable.sites}
    executable.constants = words = np.zeros(context.words, np.uint64)
    executable.checks = debug
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
