"""The data of the HTML page's script: each text once, and everything else by number."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Final

from ..harness.cells import Result
from ..harness.loading import Entry
from ..harness.records import Record
from .comparison import Before, change_of
from .rules import rule_texts
from .summary import Report, explanation, label
from .terminal import STYLES

__all__ = ["cell_data"]

_STATES: Final = list(STYLES)


class _Texts:
    """Texts by number; the first is the empty one."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __call__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def all(self) -> list[str]:
        return list(self._numbers)


def cell_data(report: Report, before: Before | None = None) -> Record:
    """What the script shows of a run.

    Args:
        report: the run.
        before: the cells of the run that it is compared with, if it is.

    Returns:
        {"texts", "states", "symbols", "subjects", "rules", "cases", "rows"}. A row is a case, a mode, its programs and
        its cells; programs are [name, [[stage, text], ...]]; a cell is what `_cell` gives. Names and texts that may
        come often are numbers of "texts".
    """
    texts, subjects = _Texts(), [subject.name for subject in report.subjects]
    cases: dict[str, tuple[int, Record]] = {}
    rows: dict[tuple[str, str], tuple[int, str, list[object], list[object]]] = {}
    for result in report.results:
        entry, mode = result.cell.entry, result.cell.mode
        number, _ = cases.setdefault(entry.id, (len(cases), _case(entry, texts)))
        _, _, programs, cells = rows.setdefault((entry.id, mode), (number, mode, [], []))
        programs += [_program(program, texts) for program in result.details.get("programs", ())]
        cells.append(_cell(result, subjects.index(result.cell.subject.name), texts, before))
    cited = {rule for result in report.results for rule in result.cell.entry.case.rules}
    return {
        "subjects": subjects,
        "states": _STATES,
        "symbols": [STYLES[state][0] for state in _STATES],
        "rules": {name: text for name, text in rule_texts().items() if name in cited},
        "cases": [case for _, case in cases.values()],
        "rows": list(rows.values()),
        "texts": texts.all,
    }


def _case(entry: Entry, texts: _Texts) -> Record:
    rules = list(entry.case.rules)
    about = {"id": entry.id, "title": entry.title, "topic": entry.topic, "rules": rules, "file": entry.path}
    return {**about, "source": texts(_source(entry))}


def _source(entry: Entry) -> str:
    """The function of a case, with its kernels."""
    code = entry.case.function.__code__
    path = Path(code.co_filename)
    if not path.is_file():
        return ""
    return "".join(inspect.getblock(list(_lines(path)[code.co_firstlineno - 1 :])))


@cache
def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text("utf-8").splitlines(keepends=True))


def _program(program: Record, texts: _Texts) -> list[object]:
    stages = [[texts(stage), texts(text)] for stage, text in program["stages"].items()]
    return [texts(program["name"]), stages]


def _cell(result: Result, subject: int, texts: _Texts, before: Before | None) -> list[object]:
    """Numbers and texts of a cell, in the order in which the script names them."""
    details, name = result.details, (result.cell.subject.name, result.cell.entry.id, result.cell.mode)
    past = None if before is None else before.cells.get(name)
    values = [
        [texts(one["what"]), texts(one["dtype"]), _short(one["ulp"]), texts(one["values"]), texts(one["worst"])]
        for one in details.get("values", ())
    ]
    return [
        subject,
        _STATES.index(label(result)),
        texts(result.exactness),
        _short(result.ulp),
        round(result.seconds, 3),
        result.cell.seed,
        texts(explanation(result)),
        texts(result.output),
        texts("\n".join(details.get("departures", ()))),
        values,
        "" if before is None else change_of(result, before),
        None if past is None else [_STATES.index(past.state), texts(past.exactness), _short(past.ulp)],
    ]


def _short(ulp: float | None) -> float | None:
    return None if ulp is None else float(f"{ulp:.6g}")
