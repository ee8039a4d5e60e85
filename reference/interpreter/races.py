"""The race detector: two iterations of one parallel loop that touch one element, one of them writing, not both atomic.

It remembers, per element, who read, wrote and updated it since the loop began. Of writers one is enough: a second one
is already a race. Two different readers and two different atomic updaters are remembered: if the next access conflicts
with any, it conflicts with one of these. Places that share memory share what is remembered.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..errors import AdstackRaceError
from ..ir.location import Loc
from .lanes import Array, Box, Memory
from .messages import listed, located
from .overlap import Slots, Span, numbered

__all__ = ["Access", "RaceDetector", "Touch", "race", "slots_of"]

Touch = tuple["Access", tuple[int, ...], Loc]
"""What an iteration does, which one it is, and where."""


class Access(enum.Enum):
    """How an element is touched."""

    READ = "reads"
    WRITE = "writes"
    ATOMIC = "atomically updates"


CONFLICTS = {
    Access.READ: (Access.WRITE, Access.ATOMIC),
    Access.WRITE: (Access.WRITE, Access.READ, Access.ATOMIC),
    Access.ATOMIC: (Access.WRITE, Access.READ),
}


class Record:
    """Up to two iterations, and the numbers of their source lines, per element of a memory; -1 is none."""

    def __init__(self, size: int) -> None:
        self.who = np.full((2, size), -1, np.int64)
        self.loc = np.zeros((2, size), np.int32)

    def note(self, at: Array, who: Array, loc: int) -> None:
        """Each lane touched its element."""
        for row in (0, 1):
            free = self.who[row, at] < 0
            self.who[row, at[free]] = who[free]
            self.loc[row, at[free]] = loc
            others = self.who[row, at] != who
            at, who = at[others], who[others]

    def conflict(self, at: Array, who: Array) -> tuple[int, int, int] | None:
        """The first lane whose element another iteration touched: its position, that iteration, the line's number."""
        for row in (0, 1):
            other = self.who[row, at]
            clash = (other >= 0) & (other != who)
            if clash.any():
                position = int(np.argmax(clash))
                return position, int(other[position]), int(self.loc[row, at[position]])
        return None


def slots_of(memories: Iterable[Memory]) -> tuple[dict[str, Slots], list[int]]:
    """A number for each element of these places: see `overlap.py`."""
    spans = {}
    for memory in memories:
        flat = memory.flat
        spans[memory.place.name] = Span(flat.__array_interface__["data"][0], flat.size, flat.itemsize)
    return numbered(spans)


@dataclass
class RaceDetector:
    """What the iterations of one parallel loop have touched so far, by the number of the memory.

    Attributes:
        box: the iterations.
        slots: see `slots_of`.
    """

    box: Box
    slots: tuple[dict[str, Slots], list[int]]
    records: dict[int, dict[Access, Record]] = field(default_factory=dict)
    locs: list[Loc] = field(default_factory=list)
    numbers: dict[Loc, int] = field(default_factory=dict)

    def observe(self, memory: Memory, at: Array, access: Access, who: Array, loc: Loc) -> None:
        """Each iteration of `who` touches the element at its position; raises if that is a race."""
        places, counts = self.slots
        own = places[memory.place.name]
        records = self.records.setdefault(own.memory, {})
        where = own.first + at * own.step
        if access not in records:
            records[access] = Record(counts[own.memory])
        records[access].note(where, who, self._number(loc))
        for other in CONFLICTS[access]:
            clash = records[other].conflict(where, who) if other in records else None
            if clash is not None:
                lane, rival, line = clash
                index = tuple(map(int, np.unravel_index(int(at[lane]), memory.extents))) if memory.extents else ()
                here = access, self.box.point(int(who[lane])), loc
                raise race(memory.place.called, index, here, (other, self.box.point(rival), self.locs[line]))

    def _number(self, loc: Loc) -> int:
        if loc not in self.numbers:
            self.numbers[loc] = len(self.locs)
            self.locs.append(loc)
        return self.numbers[loc]


def race(what: str, index: tuple[int, ...], one: Touch, other: Touch) -> AdstackRaceError:
    """The error for two iterations that touch an element."""
    (access, who, loc), (rival_access, rival, rival_loc) = one, other
    here = f"iteration {listed(who)} {access.value} it here"
    there = f"iteration {listed(rival)} {rival_access.value} it at {rival_loc}"
    return AdstackRaceError(
        f"Race on {what} at {listed(index)}: {here}, {there}",
        loc=located(loc),
        do="let each iteration touch elements of its own, or use atomic operations for all of these accesses",
    )
