"""A run beside another one: which cells came to another state, or to another distance, which are new and which gone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from ..harness.cells import Result
from ..harness.records import Record
from .compact import Outcome, outcomes
from .summary import Report, label

__all__ = ["Before", "before_of", "change_of", "changes"]

Name: TypeAlias = tuple[str, str, str]
"""A cell: subject, case and mode."""


@dataclass(frozen=True)
class Before:
    """The other run.

    Attributes:
        cells: what became of its cells.
        rules: by case, the rules that it was evidence for.
    """

    cells: dict[Name, Outcome]
    rules: dict[str, list[str]]


def before_of(run: Record) -> Before:
    """The cells of a run that was written to JSON. KeyError or TypeError if it is none."""
    cells = run["cells"]
    names = [cell["subject"] for cell in cells]
    became = {(name, one.case, one.mode): one for name, one in zip(names, outcomes(cells), strict=True)}
    return Before(became, {cell["case"]: cell["rules"] for cell in cells})


def _name(result: Result) -> Name:
    return result.cell.subject.name, result.cell.entry.id, result.cell.mode


def change_of(result: Result, before: Before) -> str:
    """What is other than before: "state", "distance" (or the class of exactness), "new"; "" if nothing is."""
    one = before.cells.get(_name(result))
    if one is None:
        return "new"
    if one.state != label(result):
        return "state"
    return "distance" if (one.exactness, one.ulp) != (result.exactness, result.ulp) else ""


def changes(report: Report, before: Before) -> list[Record]:
    """By subject of this run: how many cells passed before and now, how many changed in which way, and what is gone.

    Before are those cells of the other run that this one has, too, or would have if the suite still had them.
    """
    rows = []
    for subject in report.subjects:
        mine = [result for result in report.results if result.cell.subject is subject]
        now = {_name(result) for result in mine}
        missing = [name for name in before.cells if name[0] == subject.name and name not in now]
        gone = [name for name in missing if _is_gone(name, report, before)]
        past = {name: before.cells[name] for name in [*(now & before.cells.keys()), *gone]}
        counts = Counter(change_of(result, before) for result in mine)
        rows.append(
            {
                "subject": subject.name,
                "before": f"{sum(one.state == 'pass' for one in past.values())} of {len(past)}",
                "now": f"{sum(label(result) == 'pass' for result in mine)} of {len(mine)}",
                **{kind: counts[kind] for kind in ("state", "distance", "new")},
                "gone": [f"{case} {mode}" for _, case, mode in gone],
            }
        )
    return rows


def _is_gone(name: Name, report: Report, before: Before) -> bool:
    """Whether this run was asked for a cell of the other one, and the suite has its case, or its mode of it, no more.

    What was not asked for, or was left when the run was interrupted, is not gone.
    """
    _, case, mode = name
    asked = report.selection.has_case(case, before.rules[case]) and report.selection.has_mode(mode)
    return asked and (case, mode) not in report.known
