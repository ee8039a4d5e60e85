"""What a launch logs because its reversal could not have it otherwise: `journal_of(kernel)`. See `journaled.py`.

A log has a row per parallel iteration, and in it an entry per iteration of the loop around the op.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir.builder import Builder
from ...ir.ops import ATOMIC, LOAD, PARALLEL_FOR, PLACE_WRITES, RANDOM, SERIAL_LOOPS
from ...ir.scalar_ops import AND
from ...ir.structure import Kernel, Op, Place, Region, Value
from ...ir.types import i64
from .state import counter
from .trips import trip_count, trips_before

__all__ = ["Journal", "JournalRow", "Log", "iteration_row", "journal_of", "serial_row"]


@dataclass(frozen=True)
class Log:
    """What one op logs.

    Attributes:
        place: the memory, of (entries, rows).
        sheet: the number of what decides how much that is; words 2 n and 2 n + 1 of `WANTED` tell.
        label: what that is, for people.
    """

    place: Place
    sheet: int
    label: str


@dataclass(frozen=True)
class Journal:
    """Which ops of a kernel log, and where.

    Attributes:
        logs: by op.
        sheets: (the parallel loop, the loop right around the op) -> the number of the sheet.
    """

    logs: Mapping[Op, Log]
    sheets: Mapping[tuple[Op | None, Op | None], int]


def journal_of(source: Kernel) -> Journal:
    """The journal in which a launch of a kernel logs all that it loads and overwrites, as far as anything uses it."""
    planner = _Planner(source)
    return Journal(planner.logs, planner.sheets)


class _Planner:
    """Gives each op that logs its place."""

    def __init__(self, source: Kernel) -> None:
        self.logs: dict[Op, Log] = {}
        self.sheets: dict[tuple[Op | None, Op | None], int] = {}
        self._written = {op.attrs["place"].name for op in source.body.walk() if op.opdef in PLACE_WRITES}
        self._note(source.body, None, None)

    def _note(self, region: Region, parallel: Op | None, loop: Op | None) -> None:
        for op in region.ops:
            if self._is_logged(op):
                sheet = self.sheets.setdefault((parallel, loop), len(self.sheets))
                place = Place(f"journal.{len(self.logs)}", op.result.dtype, (None, None), "ndarray")
                self.logs[op] = Log(place, sheet, _described(op))
            for inner in op.regions:
                if op.opdef is PARALLEL_FOR:
                    self._note(inner, op, None)
                else:
                    self._note(inner, parallel, op if op.opdef in SERIAL_LOOPS else loop)

    def _is_logged(self, op: Op) -> bool:
        """Whether its value is gone after the launch, and any op uses it."""
        if not op.results or not op.results[0].uses:
            return False
        return op.opdef in (RANDOM, ATOMIC) or (op.opdef is LOAD and op.attrs["place"].name in self._written)


@dataclass(frozen=True)
class JournalRow:
    """The row of the logs that code works on: that of its parallel iteration.

    Attributes:
        journal: the logs.
        row: the number of the row (i64).
    """

    journal: Journal
    row: Value

    def read(self, b: Builder, op: Op, index: Value | None) -> Value:
        """What the launch logged for an op; `index` is the iteration of the loop right around it."""
        return b.load(self.journal.logs[op].place, [counter(b) if index is None else index, self.row])

    def write(self, b: Builder, op: Op, value: Value, index: Value | None) -> None:
        """Log a value, if there is room."""
        place = self.journal.logs[op].place
        at = [counter(b) if index is None else index, self.row]
        inside = [b.lt(k, b.shape(place, axis, i64)) for axis, k in enumerate(at)]
        room, full = Region(), Region()
        with b.into(room):
            b.store(place, at, value)
            b.yield_()
        with b.into(full):
            b.yield_()
        b.if_(b.emit(AND, *inside), room, full)


def serial_row(journal: Journal, b: Builder) -> JournalRow:
    """The row of serial code."""
    return JournalRow(journal, counter(b))


def iteration_row(journal: Journal, b: Builder, args: Sequence[Value], bounds: Sequence[Value]) -> JournalRow:
    """The row of one iteration of a parallel loop: `args` are its indices, `bounds` the first and end of each axis."""
    row = counter(b)
    for index, lo, hi in zip(args, bounds[::2], bounds[1::2], strict=True):
        row = b.add(b.mul(row, trip_count(b, lo, hi)), trips_before(b, lo, index))
    return JournalRow(journal, row)


def _described(op: Op) -> str:
    """What is logged, and where in the source."""
    place = op.attrs.get("place")
    return f"{'random numbers' if place is None else f'values of {place.label or place.name}'} ({op.loc})"
