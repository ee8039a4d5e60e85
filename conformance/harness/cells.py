"""The matrix: subjects, cells, and the states that a cell can end in."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any

from .loading import Entry
from .records import Record
from .text import printable

__all__ = ["Cell", "Gap", "Refusal", "Result", "Status", "Subject"]


class Status(str, Enum):
    """How a cell ended."""

    PASS = "pass"
    WRONG_VALUE = "wrong value"
    WRONG_GRADIENT = "wrong gradient"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    BROKEN = "broken"
    """The case is at fault, not the subject."""
    UNAVAILABLE = "unavailable"
    MISSING = "missing"
    """The subject says that it has not what the case takes."""

    @property
    def is_failure(self) -> bool:
        """Whether a run with such a cell fails."""
        return self not in (Status.PASS, Status.UNAVAILABLE, Status.MISSING)


@dataclass(frozen=True)
class Gap:
    """What a subject is known not to do.

    Attributes:
        covers: a rule's name, or a pattern of case ids ("ints/*", "arith/mod-of-negatives:i8").
        reason: why, in a sentence that the matrix shows.
        mode: the mode it is limited to; "" for all.
    """

    covers: str
    reason: str
    mode: str = ""

    def matches(self, entry: Entry, mode: str) -> bool:
        """Whether it covers a cell: by one of the rules of the case or a pattern of its id, and by mode unless it has
        none.
        """
        by_name = self.covers in entry.case.rules or fnmatchcase(entry.id, self.covers)
        return by_name and self.mode in ("", mode)


@dataclass(frozen=True)
class Refusal:
    """How a subject refuses what its target has no way to do: a gap wherever it says so, and nowhere else.

    Attributes:
        words: what the message has in it.
        reason: why, in a sentence that the matrix shows.
    """

    words: str
    reason: str


@dataclass(frozen=True)
class Subject:
    """Something that runs cases. What it says of itself is made printable.

    Attributes:
        name: "cpu", "cpu:aarch64", "quadrants": what the matrix calls it.
        module: what a case gets as `qd`.
        arch: what it is initialised with: the name of an attribute of the module.
        command: starts a worker; the worker's arguments are appended.
        kind: "native", "software", "emulated", or "unavailable".
        device, version: in words.
        reason, fix: why it is unavailable and what would help; "" if it is available.
        gaps: what it is known not to do.
        refusals: in which words it refuses what its target has no way to do.
        details: anything else that was found out about it: versions, limits.
        options: for its `init`, beside those of a case.
        dtypes: names of the element types that it has; () if all.
        part: which part of the cases it is given, in words; "" if all.
    """

    name: str
    module: str
    arch: str
    command: tuple[str, ...] = ()
    kind: str = "native"
    device: str = ""
    version: str = ""
    reason: str = ""
    fix: str = ""
    gaps: tuple[Gap, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    dtypes: tuple[str, ...] = ()
    part: str = ""

    def __post_init__(self) -> None:
        for name in ("device", "version", "reason", "fix"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    @property
    def is_available(self) -> bool:
        """Whether it can run here; `reason` says why not."""
        return not self.reason

    @property
    def title(self) -> tuple[str, str]:
        """What heads its column: "cpu" and "native", or "cpu" and "emulated: aarch64, qemu"."""
        if self.kind == "emulated":
            return self.arch, f"emulated: {self.device}"
        return self.name, self.kind


@dataclass(frozen=True)
class Cell:
    """One case (variant) on one subject in one mode, and the seed of everything random in it."""

    entry: Entry
    subject: Subject
    mode: str
    seed: int

    @property
    def gap(self) -> Gap | None:
        """The first gap of the subject that covers the cell, if one does."""
        return next((gap for gap in self.subject.gaps if gap.matches(self.entry, self.mode)), None)


@dataclass(frozen=True)
class Result:
    """What became of a cell. Its texts are made printable, whatever a subject has said.

    Attributes:
        exactness: the class it was judged in: "exact", "ulp(1)", "bound"; "" if nothing was compared.
        ulp: the largest measured distance from what was expected; None where that has no meaning.
        message: what went wrong, in words.
        seconds: wall time, compilation included.
        output: the end of what the cell wrote to standard output and error, if it failed.
        details: what explains the result, if it was asked for: "values", a list of what was compared; "programs",
            their IR by stage; "departures" from the reference, of a cell that failed.
    """

    cell: Cell
    status: Status
    exactness: str = ""
    ulp: float | None = None
    message: str = ""
    seconds: float = 0.0
    output: str = field(default="", repr=False)
    details: Record = field(default_factory=dict, repr=False, hash=False)

    def __post_init__(self) -> None:
        for name in ("message", "output"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    @property
    def refusal(self) -> Refusal | None:
        """The refusal of its subject whose words this is."""
        refusals = self.cell.subject.refusals if self.status is Status.REFUSED else ()
        return next((refusal for refusal in refusals if refusal.words in self.message), None)

    @property
    def gap(self) -> Gap | Refusal | None:
        """What it is known by: a gap of the cell, or a refusal."""
        return self.cell.gap or self.refusal

    @property
    def unexpected_pass(self) -> bool:
        """A known gap that passes is out of date: the gap must go."""
        return self.cell.gap is not None and self.status is Status.PASS

    @property
    def is_failure(self) -> bool:
        """Whether the run fails because of this cell."""
        if self.gap is not None and self.status is not Status.BROKEN:
            return self.unexpected_pass
        return self.status.is_failure
