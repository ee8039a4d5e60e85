"""A launch that writes down what its reversal could not have otherwise: `journaled(kernel, adjoints) -> Journaled`.

The last resort. The forward kernel does what the kernel does, and logs the values that it loads from memory that it
writes, old values of atomic updates, and random numbers. The reverse kernel's sweeps read them there. A log has a row
per parallel iteration, and in it an entry per iteration of the loop around the op. Logs that no reversal looks at are
not written. How large they must be is known only when the launch is over: it counts, and drops what does not fit.

Requires: a verified kernel, optimised with its accesses kept, updates whose order matters spelled out (`updates.py`).
Ensures: both kernels take the kernel's parameters. The forward kernel does what the kernel does; if all of it has found
room, the reverse kernel is what `reverse` would give for a kernel that overwrites nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..ir.builder import Builder
from ..ir.ops import FOR, IF, LOAD, PARALLEL_FOR, WHILE
from ..ir.structure import Kernel, Op, Place, Region, Value
from ..ir.types import u64
from ..transforms.rewriting.rewrite import clone_kernel, clone_op
from .activities.activity import Activity
from .emission.journal import Journal, JournalRow, Log, iteration_row, journal_of, serial_row
from .emission.rotate import rotate
from .emission.state import Counters, Names, counter, scoped
from .emission.sweep import Sweep
from .emission.trips import trip_count
from .places import WANTED
from .reverse import reverse
from .saving.plan import SavePlan
from .saving.planner import plan_saves

__all__ = ["Journaled", "journaled"]


@dataclass(frozen=True)
class Journaled:
    """A kernel in two.

    Attributes:
        forward, backward: the kernels.
        logs: what they share.
        sheets: how many there are.
        source, journal: what `reverse` was given.
    """

    forward: Kernel
    backward: Kernel
    logs: tuple[Log, ...]
    sheets: int
    source: Kernel
    journal: Journal


def journaled(kernel: Kernel, adjoints: Mapping[str, Place]) -> Journaled:
    """The kernel that logs, and the reverse kernel that reads it."""
    source = clone_kernel(kernel)
    rotate(source.body)
    journal = journal_of(source)
    backward = reverse(source, adjoints, journal=journal)
    read = {op.attrs["place"].name for op in backward.body.walk() if op.opdef is LOAD}
    written = replace(journal, logs={op: log for op, log in journal.logs.items() if log.place.name in read})
    forward = _Forward(source, written).emit()
    logs = tuple(written.logs.values())
    backward.places.update({log.place.name: log.place for log in logs})
    return Journaled(forward, backward, logs, len(journal.sheets), source, journal)


class _Writing(Sweep):
    """Emits the ops with their effects, and logs."""

    def __init__(self, b: Builder, saves: SavePlan, row: JournalRow) -> None:
        super().__init__(b, saves, None)
        self.writes = row

    def op(self, op: Op, names: Names, counters: Counters, index: Value | None) -> None:
        if op.opdef in (IF, FOR, WHILE):
            super().op(op, names, counters, index)
            return
        self._clone(op, names)
        if op in self.writes.journal.logs:
            self.writes.write(self.b, op, names[op.result], index)


class _Forward:
    """Builds the forward kernel."""

    def __init__(self, source: Kernel, journal: Journal) -> None:
        self.source = source
        self.journal = journal
        self.params = [Value(v.type, v.name) for v in source.params]
        self.b = Builder(Region(list(self.params)))
        self.saves = plan_saves(source.body, Activity(source.body, ()), ())
        self.wanted = Place(WANTED, u64, (2 * len(journal.sheets),), "ndarray")

    def emit(self) -> Kernel:
        """The kernel."""
        names: Names = dict(zip(self.source.params, self.params, strict=True))
        counters: Counters = {}
        *ops, end = self.source.body.ops
        for op in ops:
            with self.b.at(op.loc):
                if op.opdef is PARALLEL_FOR:
                    self._parallel(op, names)
                    continue
                self._iteration([op], names, counters, serial_row(self.journal, self.b))
        self._count(None, counters)
        self.b.region.ops.append(clone_op(end, names))  # type: ignore[arg-type]
        logs = (log.place for log in self.journal.logs.values())
        places = {**self.source.places, **{place.name: place for place in (*logs, self.wanted)}}
        return Kernel(self.source.name, self.b.region, places, self.source.returns, self.source.loc, self.source.apart)

    def _iteration(self, ops: Sequence[Op], names: Names, counters: Counters, row: JournalRow) -> None:
        sweep = _Writing(self.b, self.saves, row)
        for op in ops:
            counters.update((loop, counter(self.b)) for loop in self.saves.counters_of(op))
            with self.b.at(op.loc):
                sweep.op(op, names, counters, None)

    def _parallel(self, op: Op, names: Names) -> None:
        source = op.regions[0]
        bounds = [names.get(v, v) for v in op.operands]
        rows = counter(self.b, 1)
        for lo, hi in zip(bounds[::2], bounds[1::2], strict=True):
            rows = self.b.mul(rows, trip_count(self.b, lo, hi))
        for sheet, _ in self._sheets(op):
            self.b.store(self.wanted, [counter(self.b, 2 * sheet + 1)], self.b.cast(rows, u64))
        args = [Value(v.type, v.name) for v in source.args]
        body = Region(args)
        local, counters = scoped(names), Counters()
        local.update(zip(source.args, args, strict=True))
        with self.b.into(body):
            row = iteration_row(self.journal, self.b, args, bounds)
            self._iteration(source.ops[:-1], local, counters, row)
            self._count(op, counters)
            self.b.yield_()
        self.b.parallel_for(list(zip(bounds[::2], bounds[1::2], strict=True)), body)

    def _count(self, parallel: Op | None, counters: Counters) -> None:
        """Note how many entries there were."""
        for sheet, loop in self._sheets(parallel):
            entries = counter(self.b, 1) if loop is None else counters[loop]
            self.b.atomic("max", self.wanted, [counter(self.b, 2 * sheet)], self.b.cast(entries, u64))
            if parallel is None:
                self.b.store(self.wanted, [counter(self.b, 2 * sheet + 1)], self.b.const(1, u64))

    def _sheets(self, parallel: Op | None) -> Iterator[tuple[int, Op | None]]:
        used = {log.sheet for log in self.journal.logs.values()}
        for (outer, loop), sheet in self.journal.sheets.items():
            if outer is parallel and sheet in used:
                yield sheet, loop
