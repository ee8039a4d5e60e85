"""The matrix for people at a terminal, or for the log that reads a pipe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..harness.cells import Result, Status, Subject
from .summary import Report, explanation, label

__all__ = ["show"]

STYLES: Final = {
    "pass": ("✓", "green"),
    "gap": ("·", "yellow"),
    "unavailable": ("-", "dim"),
    "missing": ("o", "dim"),
    "gap passes": ("!", "bold red"),
    "wrong value": ("≠", "bold red"),
    "wrong gradient": ("∇", "bold red"),
    "refused": ("r", "red"),
    "crashed": ("✗", "bold red"),
    "timed out": ("t", "bold red"),
    "broken": ("?", "bold magenta"),
}


def show(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the matrix (by topic; by case if verbose), what was not run and why, and a line that sums up.

    Between these stand the reasons of gaps, and the failures with their messages.
    """
    console.print(_by_case(report) if verbose else _by_topic(report))
    _show_missing(report, console)
    _show_parts(report, console)
    for (name, reason), count in report.gaps.items():
        console.print(f"[yellow]{escape(name)}: {count} {'gap' if count == 1 else 'gaps'}:[/] {escape(reason)}")
    for result in report.failures:
        console.print(_failure(result))
    for subject, gap in report.stale_gaps:
        console.print(f"[red]{escape(subject.name)}: gap {escape(repr(gap.covers))} matches no case; remove it[/]")
    console.print(_last_line(report))


def _show_missing(report: Report, console: Console) -> None:
    """Print which subjects were not run, why, and what would help."""
    asked = [(subject, "is unavailable") for subject in report.subjects if not subject.is_available]
    for subject, state in asked + [(subject, "was not run") for subject in report.left_out]:
        console.print(
            f"[yellow]{escape(subject.name)} {state}:[/] {escape(subject.reason)}\n  do: {escape(subject.fix)}"
        )


def _show_parts(report: Report, console: Console) -> None:
    """Print which subjects were given a part of the cases."""
    for subject in report.subjects:
        if subject.part:
            console.print(f"[yellow]{escape(subject.name)}:[/] {escape(subject.part)}")


def _table(title: str, subjects: Sequence[Subject]) -> Table:
    table = Table(title=title, title_style="bold", header_style="bold", expand=False)
    table.add_column("", overflow="fold")
    for subject in subjects:
        name, kind = subject.title
        heading = Text.assemble(name, "\n", (f"({kind})", "dim"))
        table.add_column(heading, justify="left", overflow="fold")
    return table


def _by_topic(report: Report) -> RenderableType:
    table = _table("conformance", report.subjects)
    for topic in dict.fromkeys(result.cell.entry.topic for result in report.results):
        mine = [result for result in report.results if result.cell.entry.topic == topic]
        table.add_row(topic, *(_counts(_of(mine, subject)) for subject in report.subjects))
    return table


def _by_case(report: Report) -> RenderableType:
    table = _table("conformance", report.subjects)
    rows: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        rows.setdefault((result.cell.entry.id, result.cell.mode), []).append(result)
    for (id_, mode), results in rows.items():
        name = id_ if mode == "forward" else f"{id_} ({mode})"
        cells = (Group(*map(_cell, _of(results, subject))) for subject in report.subjects)
        table.add_row(Text(name), *cells)
    return table


def _of(results: Iterable[Result], subject: Subject) -> list[Result]:
    return [result for result in results if result.cell.subject is subject]


def _counts(results: list[Result]) -> Text:
    counts = Counter(label(result) for result in results)
    total = sum(counts.values())
    text = Text()
    for name in (name for name in STYLES if counts[name]):
        symbol, style = STYLES[name]
        what = f"{counts[name]}/{total}" if name == "pass" else f"{counts[name]} {name}"
        text.append(f"{symbol} {what}  ", style=style)
    return text


def _cell(result: Result) -> Text:
    name = label(result)
    symbol, style = STYLES[name]
    distance = f" {result.ulp:g} ulp" if result.status is Status.PASS and result.ulp else ""
    return Text(f"{symbol} {name}{distance}", style=style)


def _failure(result: Result) -> RenderableType:
    cell = result.cell
    mode = "" if cell.mode == "forward" else f" {cell.mode}"
    head = Text.assemble((label(result), STYLES[label(result)][1]), f"  {cell.entry.id}{mode} on {cell.subject.name}")
    lines = explanation(result).splitlines()
    if result.status in (Status.CRASHED, Status.TIMED_OUT):
        lines += _last_words(result.output)
    return Group(head, *(Text(f"    {line}") for line in lines))


def _last_words(output: str) -> list[str]:
    """The end of the output, without the frames of interpreters and libraries: the other reports have them."""
    frames = ("  File ", "Extension modules:", "---")
    return [line for line in output.splitlines() if line.strip() and not line.startswith(frames)][-6:]


def _last_line(report: Report) -> Text:
    parts = [f"{count} {name}" for name in STYLES if (count := report.counts.get(name, 0))]
    if report.interrupted:
        parts.append(f"{report.interrupted} left when it was interrupted")
    verdict = "passed" if report.passed else ("failed" if report.ran or not report.results else "failed: nothing ran")
    style = "bold green" if report.passed else "bold red"
    return Text.assemble((verdict, style), f": {', '.join(parts) or 'no cells'} in {report.seconds:.1f} s")
