"""Arrays that may overlap, and a number for each piece of memory in which they have elements.

Two arguments may be views of one array. What is noted of an element then must be noted once, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["Slots", "Span", "numbered"]

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Span:
    """Where an array is.

    Attributes:
        start: its address.
        count: how many elements it has.
        size: the bytes of an element.
    """

    start: int
    count: int
    size: int

    @property
    def end(self) -> int:
        """The address behind its last element."""
        return self.start + self.count * self.size


@dataclass(frozen=True)
class Slots:
    """The numbers of an array's elements.

    Attributes:
        memory: the number of the memory: the same for arrays that overlap.
        first: the number of the first element there.
        step: what the numbers of two neighbours differ by. It is above 1 only beside overlapping arrays of smaller
            elements.
    """

    memory: int
    first: int
    step: int


def numbered(spans: Mapping[Name, Span]) -> tuple[dict[Name, Slots], list[int]]:
    """The slots of each array, and how many there are in each memory."""
    slots: dict[Name, Slots] = {}
    counts: list[int] = []
    for names in _overlapping(spans):
        start = min(spans[name].start for name in names)
        size = min(spans[name].size for name in names)
        for name in names:
            span = spans[name]
            slots[name] = Slots(len(counts), (span.start - start) // size, span.size // size)
        counts.append(max(-(-(spans[name].end - start) // size) for name in names))
    return slots, counts


def _overlapping(spans: Mapping[Name, Span]) -> list[list[Name]]:
    """The names in groups: each overlaps another one of its group. Arrays without elements stand alone."""
    groups = [[name] for name, span in spans.items() if not span.count]
    end: int | None = None
    for name, span in sorted(spans.items(), key=lambda item: item[1].start):
        if not span.count:
            continue
        if end is not None and span.start < end:
            groups[-1].append(name)
        else:
            groups.append([name])
        end = span.end if end is None else max(end, span.end)
    return groups
