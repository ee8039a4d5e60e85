"""The matrix as one self-contained page: cases down, subjects across, details of a cell on demand.

page.html is its template, of Jinja; page.css and page.js are put into it, and so are the data of the cells, compressed.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ..harness.cells import Result, Subject
from ..harness.records import Record
from ..harness.text import printable
from .cell_data import cell_data
from .comparison import Before, before_of, changes
from .summary import Report, explanation, label, record
from .terminal import STYLES

__all__ = ["html", "page_text"]

_HERE: Final = Path(__file__).resolve().parent
_QUIET: Final = frozenset({"pass", "gap", "unavailable", "missing"})


def html(report: Report, against: Record | None = None) -> str:
    """The page. It needs no network and no other file; without its script it has counts and what failed.

    Args:
        report: the run that is shown.
        against: another run, as `summary.record` writes it to JSON, with which this one is compared.
    """
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["slug"] = lambda name: name.replace(" ", "-")
    template = environment.from_string(page_text("page.html"))
    before = None if against is None else before_of(against)
    return template.render(
        **_about(report, against, before),
        style=Markup(page_text("page.css")),
        script=Markup(page_text("page.js")),
        data=packed(cell_data(report, before)),
    )


def page_text(name: str) -> str:
    """One of the files that the page is made of."""
    return (_HERE / name).read_text("utf-8")


def packed(data: Record) -> str:
    """Data as the page's script unpacks them: JSON, by gzip, in base64."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _about(report: Report, against: Record | None, before: Before | None) -> Record:
    """What the template shows of a run."""
    fields = record(report)
    return {
        "verdict": "passed" if report.passed else "failed",
        "suite": fields["suite"],
        "machine": fields["machine"],
        "subjects": fields["subjects"],
        "stale": fields["stale_gaps"],
        "headings": [_title(subject) for subject in report.subjects],
        "counts": {name: report.counts[name] for name in STYLES if name in report.counts},
        "modes": list(dict.fromkeys(result.cell.mode for result in report.results)),
        "topics": _topics(report),
        "failures": [_failure(result) for result in report.failures],
        "before": against,
        "changes": [] if before is None else changes(report, before),
    }


def _title(subject: Subject) -> str:
    name, kind = subject.title
    return f"{name} ({kind})" if subject.kind == "emulated" else name


def _failure(result: Result) -> Record:
    cell = result.cell
    text = "\n".join(part for part in (printable(explanation(result)), result.output) if part)
    where = {"case": printable(cell.entry.id), "mode": cell.mode, "subject": cell.subject.name}
    return {**where, "state": label(result), "text": text}


def _topics(report: Report) -> list[Record]:
    """Each topic, and in each column how many cells came to what. Quiet is what needs nobody's attention."""
    grouped: dict[str, dict[str, list[str]]] = {}
    for result in report.results:
        columns = grouped.setdefault(result.cell.entry.topic, {})
        columns.setdefault(result.cell.subject.name, []).append(label(result))
    return [
        {
            "name": topic,
            "quiet": all(state in _QUIET for states in columns.values() for state in states),
            "columns": [_column(subject.name, columns) for subject in report.subjects],
        }
        for topic, columns in grouped.items()
    ]


def _column(name: str, columns: Mapping[str, Sequence[str]]) -> Record:
    counts = Counter(columns.get(name, ()))
    parts = [
        {"state": state, "symbol": STYLES[state][0], "count": counts[state]} for state in STYLES if state in counts
    ]
    return {"subject": name, "parts": parts, "total": sum(counts.values())}
