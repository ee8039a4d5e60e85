"""The matrix as one self-contained page: cases down, subjects across, details on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Final

from ..harness.cells import Result, Subject
from ..harness.text import printable
from .page import PAGE, SCRIPT, STYLE
from .summary import Report, explanation, label, record
from .terminal import STYLES

__all__ = ["html"]

_QUIET: Final = frozenset({"pass", "gap", "unavailable"})


def html(report: Report) -> str:
    """The page. It needs no network and no other file, and shows everything without its script too."""
    suite, machine = record(report)["suite"], report.machine
    return Template(PAGE).substitute(
        style=STYLE,
        script=SCRIPT,
        verdict="passed" if report.passed else "failed",
        version=escape(suite["version"]),
        machine=escape(f"{machine['cpu']} · {machine['cores']} cores · {machine['platform']}"),
        python=escape(machine["python"]),
        seed=report.seed,
        seconds=f"{report.seconds:.1f}",
        filters="".join(_filter(name, report.counts[name]) for name in STYLES if name in report.counts),
        subjects="".join(map(_subject, report.subjects)),
        stale="".join(_stale(subject.name, gap.covers) for subject, gap in report.stale_gaps),
        headings="".join(f"<th scope=col>{escape(subject.name)}</th>" for subject in report.subjects),
        body=_body(report),
    )


def _slug(name: str) -> str:
    return name.replace(" ", "-")


def _filter(name: str, count: int) -> str:
    return f'<button class="chip {_slug(name)}" data-filter="{_slug(name)}" aria-pressed=false>{count} {name}</button>'


def _subject(subject: Subject) -> str:
    rest = f"{subject.reason}; {subject.fix}" if subject.reason else f"{subject.device} · {subject.version}"
    return f"<li><b>{escape(subject.name)}</b> <i>{escape(subject.kind)}</i> {escape(rest)}</li>"


def _stale(subject: str, covers: str) -> str:
    return f"<p class=stale>{escape(subject)}: gap {escape(covers)} matches no case; remove it</p>"


def _body(report: Report) -> str:
    rows: dict[str, dict[tuple[str, str], dict[str, Result]]] = {}
    for result in report.results:
        cell = result.cell
        row = rows.setdefault(cell.entry.topic, {}).setdefault((cell.entry.id, cell.mode), {})
        row[cell.subject.name] = result
    return "".join(_topic(topic, cases, report.subjects) for topic, cases in rows.items())


def _topic(topic: str, cases: dict[tuple[str, str], dict[str, Result]], subjects: Sequence[Subject]) -> str:
    """A topic that needs nobody's attention can be folded by the script; its counts stay."""
    every = [result for results in cases.values() for result in results.values()]
    quiet = all(label(result) in _QUIET for result in every)
    heads = "".join(f"<td>{_counts([r for r in every if r.cell.subject is subject])}</td>" for subject in subjects)
    head = (
        f"<tbody data-quiet={str(quiet).lower()}><tr class=topic><th scope=rowgroup>"
        f"<button class=fold aria-expanded=true>{escape(topic)}</button></th>{heads}</tr>"
    )
    return head + "".join(_row(id_, mode, results) for (id_, mode), results in cases.items()) + "</tbody>"


def _counts(results: Sequence[Result]) -> str:
    counts = Counter(map(label, results))
    parts = (f'<span class="{_slug(name)}">{STYLES[name][0]} {counts[name]}</span>' for name in STYLES if counts[name])
    return f"{' '.join(parts)} <small>of {len(results)}</small>"


def _row(id_: str, mode: str, results: dict[str, Result]) -> str:
    states = " ".join(sorted({_slug(label(result)) for result in results.values()}))
    entry = next(iter(results.values())).cell.entry
    kind = "" if mode == "forward" else f" <small>{escape(mode)}</small>"
    name = f"<th scope=row title='{escape(entry.title, quote=True)}'>{escape(printable(id_))}{kind}</th>"
    return f'<tr data-states="{states}">{name}{"".join(map(_cell, results.values()))}</tr>'


def _cell(result: Result) -> str:
    name = label(result)
    symbol = STYLES[name][0]
    distance = f" <small>{result.ulp:g} ulp</small>" if name == "pass" and result.ulp else ""
    facts = [
        result.status.value if name != result.status.value else "",
        result.exactness,
        f"{result.ulp:g} ulp" if result.ulp is not None else "",
        f"{result.seconds:.2f} s",
    ]
    facts.append(f"seed {result.cell.seed}")
    rules = ", ".join(result.cell.entry.case.rules)
    text = "\n".join(part for part in (printable(explanation(result)), result.output) if part)
    return (
        f'<td class="{_slug(name)}"><details><summary><span aria-hidden=true>{symbol}</span> {name}{distance}</summary>'
        f"<p>{escape(' · '.join(fact for fact in facts if fact))}</p>"
        f"<p>{escape(rules)} · {escape(result.cell.entry.path)}</p>"
        f"{f'<pre>{escape(text)}</pre>' if text else ''}</details></td>"
    )
