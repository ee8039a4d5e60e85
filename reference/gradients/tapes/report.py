"""What a tape says about the memory that it kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..events import Event, HostWrites

__all__ = ["Kept", "TapeReport", "report_of"]


@dataclass(frozen=True)
class Kept:
    """Old values of one buffer that one event overwrote, or what a launch logged. Of a launch that was followed: the
    elements that it may have overwritten.

    Attributes:
        event: "launch 3: step", or "host" for writes between launches.
        place: what the user calls the memory; "values of x (file:line)" for what a launch logged when it loaded them.
        elements: how many were kept.
        bytes: what they take, positions included.
    """

    event: str
    place: str
    elements: int
    bytes: int


@dataclass(frozen=True)
class TapeReport:
    """All that a tape kept, in the order in which it happened."""

    entries: tuple[Kept, ...] = ()

    @property
    def bytes(self) -> int:
        """How many bytes are kept in all."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def elements(self) -> int:
        """How many elements are kept in all."""
        return sum(entry.elements for entry in self.entries)

    def __str__(self) -> str:
        lines = [f"{e.event}: {e.elements} elements of {e.place} ({e.bytes} bytes)" for e in self.entries]
        return "\n".join([*lines, f"kept in all: {self.elements} elements, {self.bytes} bytes"])


def report_of(events: Iterable[Event]) -> TapeReport:
    """What some events keep."""
    return TapeReport(tuple(Kept(title, *one) for title, pieces in _titled(events) for one in pieces))


def _titled(events: Iterable[Event]) -> Iterator[tuple[str, list[tuple[str, int, int]]]]:
    """(title, what is kept) for each event, and for each call of one that stands for several."""
    number = 0
    for event in events:
        if isinstance(event, HostWrites):
            yield event.title, event.kept()
            continue
        for title, pieces in event.launches():
            yield f"launch {number}: {title}", pieces
            number += 1
