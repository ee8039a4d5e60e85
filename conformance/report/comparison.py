"""A run beside another one: which cells came to another state, or to another distance, which are new and which gone."""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

from ..harness.cells import Result
from ..harness.records import Record
from .compact import Outcome, outcomes
from .summary import Report, label

__all__ = ["Before", "before_of", "change_of", "changes"]

Before: TypeAlias = dict[tuple[str, str, str], Outcome]
"""What became of cells in the other run, by subject, case and mode."""


def before_of(run: Record) -> Before:
    """The cells of a run that was written to JSON. KeyError or TypeError if it is none."""
    cells = run["cells"]
    names = [cell["subject"] for cell in cells]
    return {(name, one.case, one.mode): one for name, one in zip(names, outcomes(cells), strict=True)}


def _name(result: Result) -> tuple[str, str, str]:
    return result.cell.subject.name, result.cell.entry.id, result.cell.mode


def change_of(result: Result, before: Before) -> str:
    """What is other than before: "state", "distance" (or the class of exactness), "new"; "" if nothing is."""
    one = before.get(_name(result))
    if one is None:
        return "new"
    if one.state != label(result):
        return "state"
    return "distance" if (one.exactness, one.ulp) != (result.exactness, result.ulp) else ""


def changes(report: Report, before: Before) -> list[Record]:
    """By subject of this run: how many cells passed before and now, how many changed in which way, and what is gone."""
    rows = []
    for subject in report.subjects:
        mine = [result for result in report.results if result.cell.subject is subject]
        past = {name: one for name, one in before.items() if name[0] == subject.name}
        counts = Counter(change_of(result, before) for result in mine)
        now = {_name(result) for result in mine}
        rows.append(
            {
                "subject": subject.name,
                "before": f"{sum(one.state == 'pass' for one in past.values())} of {len(past)}",
                "now": f"{sum(label(result) == 'pass' for result in mine)} of {len(mine)}",
                **{kind: counts[kind] for kind in ("state", "distance", "new")},
                "gone": [f"{case} {mode}" for _, case, mode in past if (subject.name, case, mode) not in now],
            }
        )
    return rows
