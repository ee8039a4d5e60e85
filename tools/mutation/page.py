"""The table of how many changes the tests notice: `python -m adstack.tools.mutation.page --write`.

It stands in conformance/results/README.md, made from the files beside it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record
from adstack.tools.marked import Marked

from .ledger import SURVIVED
from .rooms import room_of
from .run import ROOT

__all__ = ["RESULTS", "TABLE", "by_hand", "table"]

RESULTS: Final = ROOT / "conformance" / "results"
TABLE: Final = Marked("mutation", "python -m adstack.tools.mutation.page --write")
_BY_HAND: Final = {
    "derivative": "the table of derivatives",
    "ir": "the table of derivatives",
    "autodiff": "reverse mode and its plans",
    "analysis": "sums: which may be gathered",
    "transforms": "sums: how they are gathered",
    "backends": "lanes that update memory one by one",
}
_OTHERWISE: Final = "tapes, undoing, order, what is known of memory"


def table(folder: Path = RESULTS) -> str:
    """The table, and the changes that nothing notices below it."""
    lines = [
        "| what is changed | how | could be | tried | noticed | change nothing | survive |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    survivors: list[str] = []
    for file, how in {"mutation": "by row", "mutation-autodiff": "by hand", "mutation-rooms": "by operators"}.items():
        record: Record = json.loads((folder / f"{file}.json").read_text())
        lines += _rows(record, how)
        survivors += [
            f"- {row}: {change}" for row, change, by in _verdicts(record) if _fate(record, row, change, by) == 2
        ]
    return "\n".join([*lines, *(["", "What no test notices yet:", "", *survivors] if survivors else [])])


def _rows(record: Record, how: str) -> Iterator[str]:
    fates: dict[str, Counter[int]] = {}
    for row, change, by in _verdicts(record):
        fates.setdefault(_name(row, how), Counter())[_fate(record, row, change, by)] += 1
    drawn: Mapping[str, int] = record.get("drawn from", {})
    for name in drawn or fates:
        counts = fates.get(name, Counter[int]())
        could_be = drawn.get(name, counts.total())
        yield f"| {name} | {how} | {could_be} | {counts.total()} | {counts[0]} | {counts[1]} | {counts[2]} |"


def _verdicts(record: Record) -> Iterator[tuple[str, str, str]]:
    for row, changes in record["changed"].items():
        for change, by in changes.items():
            yield row, change, by


def _fate(record: Record, row: str, change: str, by: str) -> int:
    """0 for noticed, 1 for a change after which the program does the same, 2 for a survivor."""
    if by != SURVIVED:
        return 0
    return 1 if f"{row}: {change}" in record.get("why equivalent", {}) else 2


def _name(row: str, how: str) -> str:
    if how == "by operators":
        return room_of(row).name
    return "operations, atomics, conversions" if how == "by row" else by_hand(row)


def by_hand(row: str) -> str:
    """What the row of an edit that was written by hand is part of."""
    return _BY_HAND.get(row.partition("/")[0].partition(" ")[0], _OTHERWISE)


def main(arguments: list[str]) -> None:
    """Prints the table, or writes it into the page."""
    TABLE.serve(arguments, RESULTS / "README.md", table())


if __name__ == "__main__":
    main(sys.argv[1:])
