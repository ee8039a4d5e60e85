"""A run of the suite in few lines, to be committed: counts, what did not pass and why, and digests of all cells.

Nearly every cell of a matrix passes, so what passes is only counted. Two runs are compared by their digests, which are
sha256 of lines that end with a newline, sorted, with tabs between what a line tells:

- "cases": the id of each case;
- "cells": case, mode, state and exactness of each cell;
- "measured": the same and the largest distance in ulp. Where threads add to one number in any order, distances differ
  from run to run on the same device; "cases" and "cells" do not.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..harness.cells import Status
from ..harness.records import Record

__all__ = ["Outcome", "compact", "differences", "digests", "outcomes", "text"]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell.

    Attributes:
        case: the id of its case.
        mode: its mode.
        state: the status in words; "gap" for a known gap and "gap passes" for one that is out of date.
        exactness: the class it was judged in, as of `Result`; "" if nothing was compared.
        ulp: the largest distance in ulp; None where that has no meaning.
        reason: why it did not pass; "" if it did.
    """

    case: str
    mode: str
    state: str
    exactness: str = ""
    ulp: float | None = None
    reason: str = ""

    @property
    def topic(self) -> str:
        """The folder that the case is in: a row of the matrix."""
        return self.case.partition("/")[0]


def outcomes(cells: Iterable[Record]) -> list[Outcome]:
    """What became of each of the cells of a report in JSON (see `summary.cell_record`)."""
    return [_outcome(cell) for cell in cells]


def _outcome(cell: Record) -> Outcome:
    passed = cell["status"] == Status.PASS.value
    state = cell["status"]
    if cell["gap"] is not None and passed:
        state = "gap passes"
    elif cell["gap"] is not None and not cell["failed"] and state != Status.UNAVAILABLE.value:
        state = "gap"
    reason = cell["gap"] if state in ("gap", "gap passes") else "" if passed else cell["message"]
    return Outcome(cell["case"], cell["mode"], state, cell["exactness"], cell["ulp"], " ".join(reason.split()))


def compact(cells: Sequence[Outcome]) -> Record:
    """What is kept of a matrix.

    Args:
        cells: what became of every cell, in any order.

    Returns:
        How many cells and cases there are; how many cells came to each state in all, by mode, and by topic and mode;
        how many passes there are in each class of exactness, and how far they are off at most; each cell that did not
        pass, by case and mode; and the digests.
    """
    return {
        "cells": len(cells),
        "cases": len({cell.case for cell in cells}),
        "counts": _states(cells),
        "modes": {mode: _states(group) for mode, group in _grouped(cells, lambda cell: cell.mode).items()},
        "topics": {
            topic: {mode: _states(some) for mode, some in _grouped(group, lambda cell: cell.mode).items()}
            for topic, group in _grouped(cells, lambda cell: cell.topic).items()
        },
        "exactness": _exactness(cells),
        "not passed": _not_passed(cells),
        "digests": digests(cells),
    }


def _grouped(cells: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    """The cells by a key; keys in order."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    return {name: groups[name] for name in sorted(groups)}


def _states(cells: Iterable[Outcome]) -> dict[str, int]:
    return dict(sorted(Counter(cell.state for cell in cells).items()))


def _exactness(cells: Iterable[Outcome]) -> Record:
    judged = [cell for cell in cells if cell.state == Status.PASS.value and cell.exactness]
    return {
        name: {"cells": len(group), "largest distance in ulp": max(cell.ulp or 0.0 for cell in group)}
        for name, group in _grouped(judged, lambda cell: cell.exactness).items()
    }


def _not_passed(cells: Iterable[Outcome]) -> dict[str, dict[str, str]]:
    others = [cell for cell in cells if cell.state != Status.PASS.value]
    return {
        case: {cell.mode: _said(cell) for cell in sorted(group, key=lambda cell: cell.mode)}
        for case, group in _grouped(others, lambda cell: cell.case).items()
    }


def _said(cell: Outcome) -> str:
    return f"{cell.state}: {cell.reason}" if cell.reason else cell.state


def digests(cells: Sequence[Outcome]) -> dict[str, str]:
    """The digests of a matrix, by the names above; they do not depend on the order of the cells."""
    rows = [(cell.case, cell.mode, cell.state, cell.exactness) for cell in cells]
    distances = [f"{cell.ulp:g}" if cell.ulp else "" for cell in cells]
    return {
        "cases": _digest({(cell.case,) for cell in cells}),
        "cells": _digest(rows),
        "measured": _digest((*row, distance) for row, distance in zip(rows, distances, strict=True)),
    }


def _digest(rows: Iterable[tuple[str, ...]]) -> str:
    lines = sorted("\t".join(row) + "\n" for row in rows)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def text(kept: Record) -> str:
    """What is kept as JSON, a line per fact: objects that hold others, or are long, take a line for each member."""
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {_value(value)}" for name, value in kept.items()) + "\n}\n"


def _value(value: object) -> str:
    line = json.dumps(value, allow_nan=False)
    if not isinstance(value, dict) or (len(line) < _WIDTH and not any(isinstance(one, dict) for one in value.values())):
        return line
    members = [f" {json.dumps(name)}: {json.dumps(one, allow_nan=False)}" for name, one in value.items()]
    return "{\n" + ",\n".join(members) + "\n}" if members else line


_WIDTH: Final = 100


def differences(kept: Record, again: Record) -> list[str]:
    """In which digests, counts and cells two matrices differ, a line for each; nothing if they are the same."""
    lines: list[str] = []
    for part in ("digests", "counts", "modes", "topics", "exactness", "not passed"):
        before, now = kept.get(part, {}), again.get(part, {})
        changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        lines += [f"{part}, {name}: {_told(before, name)} before, {_told(now, name)} now" for name in changed]
    return lines


def _told(part: Record, name: str) -> str:
    return json.dumps(part[name]) if name in part else "nothing"
