"""What a tape says about the memory that it kept."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Kept", "TapeReport"]


@dataclass(frozen=True)
class Kept:
    """Old values of one buffer that one event overwrote, or what a launch logged.

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
        return sum(entry.bytes for entry in self.entries)

    @property
    def elements(self) -> int:
        return sum(entry.elements for entry in self.entries)

    def __str__(self) -> str:
        lines = [f"{e.event}: {e.elements} elements of {e.place} ({e.bytes} bytes)" for e in self.entries]
        return "\n".join([*lines, f"kept in all: {self.elements} elements, {self.bytes} bytes"])
