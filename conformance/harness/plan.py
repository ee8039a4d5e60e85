"""Which cells a run has: cases that match, times subjects, times modes; and gaps that match nothing."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .cells import Cell, Gap, Subject
from .loading import Entry

__all__ = ["Selection", "cells_of", "one_of_each", "seed_of", "select", "stale_gaps"]


@dataclass(frozen=True)
class Selection:
    """What a run was asked for; what is empty limits nothing.

    Attributes:
        patterns: of the ids of cases; a plain name stands for all variants.
        rules: patterns of rules, of which a case has one.
        modes: the modes.
    """

    patterns: Sequence[str] = ()
    rules: Sequence[str] = ()
    modes: Sequence[str] = ()

    def has_case(self, id_: str, rules: Iterable[str]) -> bool:
        """Whether a case with this id and these rules was asked for."""
        return (not self.patterns or any(_matches(id_, pattern) for pattern in self.patterns)) and (
            not self.rules or any(fnmatchcase(rule, wanted) for rule in rules for wanted in self.rules)
        )

    def has_mode(self, mode: str) -> bool:
        """Whether a mode was asked for."""
        return not self.modes or mode in self.modes


def select(entries: Iterable[Entry], patterns: Sequence[str] = (), rules: Sequence[str] = ()) -> list[Entry]:
    """Entries whose id matches one of the patterns (a plain name stands for all variants) and have one of the rules."""
    selection = Selection(patterns, rules)
    return [entry for entry in entries if selection.has_case(entry.id, entry.case.rules)]


def _matches(id_: str, pattern: str) -> bool:
    return fnmatchcase(id_, pattern) or fnmatchcase(id_.partition(":")[0], pattern)


def one_of_each(entries: Iterable[Entry], seed: int = 0, dtypes: Collection[str] = ()) -> list[Entry]:
    """One variant of each case: that with the least seed of its own, so that another `seed` chooses others.

    Where the subject has these `dtypes` alone, a variant in another type is chosen of none but those cases that have no
    other variant.
    """

    def rank(entry: Entry) -> tuple[bool, int]:
        lacking = bool(dtypes) and any(name not in dtypes for _, name in entry.variant.dtypes)
        return lacking, seed_of(entry.id, seed)

    least: dict[str, Entry] = {}
    for entry in entries:
        name = entry.id.partition(":")[0]
        least[name] = min(least.get(name, entry), entry, key=rank)
    return list(least.values())


def cells_of(
    entries: Sequence[Entry], subjects: Sequence[Subject], modes: Sequence[str] = (), seed: int = 0
) -> list[Cell]:
    """Every cell of the run, subject by subject; of the modes that a case has, those asked for.

    A subject that is given a part of the cases has one variant of each.
    """
    some = {dtypes: one_of_each(entries, seed, dtypes) for dtypes in {subject.dtypes for subject in subjects}}
    return [
        Cell(entry, subject, mode, seed_of(entry.id, seed))
        for subject in subjects
        for entry in (some[subject.dtypes] if subject.part else entries)
        for mode in entry.case.modes
        if Selection(modes=modes).has_mode(mode)
    ]


def seed_of(id_: str, seed: int) -> int:
    """The seed of a case: its own, the same on every subject, in every run with the same `seed`."""
    return zlib.crc32(f"{seed}:{id_}".encode()) & 0x7FFFFFFF


def stale_gaps(entries: Sequence[Entry], subjects: Sequence[Subject]) -> list[tuple[Subject, Gap]]:
    """Gaps that match no case at all: something was renamed or removed."""
    return [
        (subject, gap)
        for subject in subjects
        for gap in subject.gaps
        if not any(gap.matches(entry, mode) for entry in entries for mode in entry.case.modes)
    ]
