"""What came of each change, kept in a file from the first verdict on: an interrupted run loses none.

A file holds the last verdict on every change, and names those of earlier commits: a run of some changes leaves what is
there of the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Final, TypeAlias

from adstack.conformance.harness.records import Record

from .equivalent import equivalents
from .run import Verdict, Wrong

__all__ = ["SURVIVED", "Ledger"]

SURVIVED: Final = "survived"
Name: TypeAlias = "tuple[str, str]"
"""A change's row and what is changed there."""


@dataclass(frozen=True)
class _Entry:
    by: str
    commit: str


class Ledger:
    """The verdicts on some changes.

    Args:
        file: where they are kept; verdicts on changes that there are no more are left out.
        everything: all changes of this kind, in the file's order.
        commit: what is being tried.
        candidates: how many changes there could be, by what is changed; none if all are tried every time.
    """

    def __init__(
        self, file: Path, everything: Sequence[Wrong], commit: str, candidates: Mapping[str, int] | None = None
    ) -> None:
        self.file, self.commit, self.candidates = file, commit, dict(candidates or {})
        self.names = [(mutant.row, mutant.change) for mutant in everything]
        self.reasons = {name: reason for name, reason in equivalents().items() if name in set(self.names)}
        self.entries: dict[Name, _Entry] = {}
        self._read()

    def _read(self) -> None:
        record = json.loads(self.file.read_text()) if self.file.is_file() else {}
        before = {(row, change): commit for commit, rows in record.get("earlier", {}).items() for row, change in rows}
        for row, changes in record.get("changed", {}).items():
            for change, by in changes.items():
                if (row, change) in set(self.names):
                    self.entries[row, change] = _Entry(by, before.get((row, change), record["commit"]))

    @property
    def killers(self) -> dict[Name, str]:
        """The test that noticed each change the last time."""
        return {name: entry.by for name, entry in self.entries.items() if entry.by != SURVIVED}

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict, in the file too."""
        by = verdict.by if verdict.killed else SURVIVED
        self.entries[verdict.mutant.row, verdict.mutant.change] = _Entry(by, self.commit)
        self.write()

    def write(self) -> None:
        """Write the file, all at once."""
        unfinished = self.file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.record(), indent=1, ensure_ascii=False) + "\n")
        unfinished.replace(self.file)

    def survivors(self, chosen: Callable[[Name], bool] = lambda name: True) -> list[Name]:
        """The changes that no test noticed and that are not known to change nothing."""
        return [name for name in self._of(SURVIVED) if name not in self.reasons and chosen(name)]

    def noticed_after_all(self) -> list[Name]:
        """The changes that are said to change nothing, and that a test noticed."""
        return [name for name in self.reasons if name in self.killers]

    def _of(self, by: str) -> list[Name]:
        return [name for name in self.names if name in self.entries and self.entries[name].by == by]

    def record(self) -> Record:
        """The file's content: counts, and per row what killed each change."""
        rows: dict[str, dict[str, str]] = {}
        for row, change in [name for name in self.names if name in self.entries]:
            rows.setdefault(row, {})[change] = self.entries[row, change].by
        same = {
            f"{row}: {change}": self.reasons[row, change]
            for row, change in self._of(SURVIVED)
            if (row, change) in self.reasons
        }
        survived = len(self.survivors())
        record: Record = {
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "commit": self.commit,
            "rows": len(rows),
            "changes": len(self.entries),
            "killed": len(self.entries) - survived - len(same),
            "equivalent": len(same),
            "survived": survived,
        }
        optional = {"drawn from": self.candidates, "why equivalent": same, "earlier": self._earlier()}
        return {**record, **{key: value for key, value in optional.items() if value}, "changed": rows}

    def _earlier(self) -> dict[str, list[list[str]]]:
        """What was last tried at another commit."""
        earlier: dict[str, list[list[str]]] = {}
        for name, entry in self.entries.items():
            if entry.commit != self.commit:
                earlier.setdefault(entry.commit, []).append(list(name))
        return earlier
