"""Which cells a run has: cases that match, times subjects, times modes; and gaps that match nothing."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from .cells import Cell, Gap, Subject
from .loading import Entry

__all__ = ["cells_of", "one_of_each", "seed_of", "select", "stale_gaps"]


def select(entries: Iterable[Entry], patterns: Sequence[str] = (), rules: Sequence[str] = ()) -> list[Entry]:
    """Entries whose id matches one of the patterns (a plain name stands for all variants) and have one of the rules."""
    return [
        entry
        for entry in entries
        if (not patterns or any(_matches(entry.id, pattern) for pattern in patterns))
        and (not rules or any(fnmatchcase(rule, wanted) for rule in entry.case.rules for wanted in rules))
    ]


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
        if not modes or mode in modes
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
