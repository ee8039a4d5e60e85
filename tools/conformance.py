"""`adstack conformance`: run the suite on backends and other subjects, and report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from adstack import inspection
from adstack.conformance.case import MODES
from adstack.conformance.harness.cells import Cell, Result, Subject
from adstack.conformance.harness.loading import Entry, collect
from adstack.conformance.harness.plan import cells_of, select, stale_gaps
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.records import Record
from adstack.conformance.report.html import html
from adstack.conformance.report.junit import junit
from adstack.conformance.report.log import Log
from adstack.conformance.report.summary import Report, record
from adstack.conformance.report.terminal import show
from adstack.conformance.subjects.backends import backend_subject, backend_subjects
from adstack.conformance.subjects.peers import PEERS, peer_subject

from .terminal.console import console
from .terminal.pythons import pythons_of

__all__ = ["conformance"]

EPILOG: Final = """\b
Examples:
  adstack conformance
  adstack conformance --backend reference --case 'arith/*'
  adstack conformance --deterministic --case 'parallel/*'
  adstack conformance --subject quadrants --python quadrants=~/peers/bin/python
  adstack conformance --rule arith.floordiv --json report.json --html report.html -j 4

Exit status: 0 if nothing failed; 1 if something did, or nothing could run; 2 if the command line is wrong.
"""
FILE: Final = click.Path(dir_okay=False, path_type=Path)


def _complete_rule(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in sorted(_rules(collect())) if name.startswith(incomplete)]


def _complete_case(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [entry.id for entry in collect() if entry.id.startswith(incomplete)]


def _rules(entries: Sequence[Entry]) -> set[str]:
    return {rule for entry in entries for rule in entry.case.rules}


@click.command(epilog=EPILOG)
@click.option(
    "--backend",
    "-b",
    "backends",
    multiple=True,
    type=click.Choice(inspection.ARCHES),
    help="A backend of adstack; repeatable. Default: all that are available here.",
)
@click.option(
    "--subject",
    "-s",
    "peers",
    multiple=True,
    metavar="NAME",
    help=f"Another implementation: {', '.join(PEERS)}, or NAME:ARCH; repeatable.",
)
@click.option(
    "--python",
    "pythons",
    multiple=True,
    metavar="NAME=PATH",
    callback=pythons_of(PEERS),
    help="The interpreter for which NAME is installed; repeatable.",
)
@click.option(
    "--case",
    "-k",
    "patterns",
    multiple=True,
    metavar="PATTERN",
    shell_complete=_complete_case,
    help="Only cases whose id matches, as 'arith/*' does; repeatable.",
)
@click.option(
    "--rule",
    "-r",
    "rules",
    multiple=True,
    metavar="RULE",
    shell_complete=_complete_rule,
    help="Only cases that are evidence for a rule, or for 'arith.*'; repeatable.",
)
@click.option("--mode", "-m", "modes", multiple=True, type=click.Choice(MODES), help="Only this mode; repeatable.")
@click.option("--json", "json_file", type=FILE, help="Write the report as JSON.")
@click.option("--junit", "junit_file", type=FILE, help="Write the report as JUnit XML.")
@click.option("--log", "log_file", type=FILE, help="Append each result as it comes; what FILE has is not run again.")
@click.option("--html", "html_file", type=FILE, help="Write the report as a page.")
@click.option("--jobs", "-j", type=click.IntRange(min=1), help="Cells run at a time. Default: one per core.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a cell may take.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of everything random.")
@click.option(
    "--deterministic",
    is_flag=True,
    help="Have backends run with deterministic=True; every bit must be that of the reference.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show a row per case, not per topic.")
@click.option("--list", "only_list", is_flag=True, help="List the cases that would run, and run none.")
@click.pass_context
def conformance(
    context: click.Context,
    /,
    backends: tuple[str, ...],
    peers: tuple[str, ...],
    pythons: dict[str, str],
    patterns: tuple[str, ...],
    rules: tuple[str, ...],
    modes: tuple[str, ...],
    only_list: bool,
    verbose: bool,
    **rest: Any,
) -> None:
    """Run the conformance suite: every case on every subject, each in isolation.

    A cell of the matrix is pass, wrong value, wrong gradient, refused, crashed, timed out or unavailable. What a
    subject is known not to do is a gap; a gap that passes is a failure too.
    """
    entries = collect()
    chosen = select(entries, patterns, rules)
    if not chosen:
        raise click.UsageError(f"no case matches; there are {len(entries)} (see adstack conformance --list)")
    if only_list:
        _list(chosen)
        return
    subjects = _subjects(backends, peers, pythons)
    if rest["deterministic"]:
        if peers:
            raise click.UsageError("--deterministic is about the backends of adstack; leave --subject away")
        subjects = [_deterministic(subject) for subject in subjects]
    cells = cells_of(chosen, subjects, modes, rest["seed"])
    if not cells:
        raise click.UsageError(f"none of the {len(chosen)} cases has mode {' or '.join(modes)}")
    report = _run(cells, subjects, entries, rest)
    _write(report, rest)
    show(report, console(), verbose=verbose)
    context.exit(0 if report.passed else 1)


def _list(entries: Sequence[Entry]) -> None:
    for entry in entries:
        modes = ", ".join(entry.case.modes)
        click.echo(f"{entry.id}  [{modes}]  {' '.join(entry.case.rules)}")


def _subjects(backends: Sequence[str], peers: Sequence[str], pythons: dict[str, str]) -> list[Subject]:
    if not backends and not peers:
        return [subject for subject in backend_subjects() if subject.is_available]
    unknown = [name for name in peers if name.partition(":")[0] not in PEERS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r}; there are {', '.join(PEERS)}", param_hint="--subject")
    mine = [backend_subject(arch) for arch in dict.fromkeys(backends)]
    return mine + [peer_subject(name, pythons) for name in dict.fromkeys(peers)]


def _run(cells: list[Cell], subjects: list[Subject], entries: list[Entry], rest: Record) -> Report:
    start = time.perf_counter()
    log = _log(rest["log_file"])
    results = log.complete(cells, lambda missing: _results(missing, rest, log)) if log else _results(cells, rest)
    seconds = time.perf_counter() - start
    return Report(results, subjects, stale_gaps(entries, subjects), rest["seed"], seconds)


def _log(path: Path | None) -> Log | None:
    try:
        return None if path is None else Log(path, lambda text: click.echo(text, err=True))
    except OSError as error:
        raise click.FileError(str(path), error.strerror or str(error)) from error


def _results(cells: list[Cell], rest: Record, log: Log | None = None) -> list[Result]:
    jobs = rest["jobs"] or os.cpu_count() or 1
    with _progress(console(stderr=True)) as progress:
        task = progress.add_task("conformance", total=len(cells))

        def done(result: Result) -> None:
            progress.update(task, advance=1, description=result.cell.entry.topic)
            if log is not None:
                log.add(result)

        oracle, alike = backend_subject("reference"), rest["deterministic"]
        if alike:
            oracle = _deterministic(oracle)
        budgets, timeout = inspection.budget, rest["timeout"]
        return run_cells(cells, budgets=budgets, jobs=jobs, timeout=timeout, on_result=done, oracle=oracle, alike=alike)


def _deterministic(subject: Subject) -> Subject:
    """The same subject, with results that depend on nothing but the program."""
    return replace(subject, options=(*subject.options, ("deterministic", True)))


def _progress(shown_on: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=shown_on, transient=True, disable=not shown_on.is_terminal)


def _write(report: Report, rest: Record) -> None:
    texts: dict[str, Callable[[], str]] = {
        "json_file": lambda: json.dumps(record(report), indent=1, allow_nan=False) + "\n",
        "junit_file": lambda: junit(report),
        "html_file": lambda: html(report),
    }
    for option, text in texts.items():
        path: Path | None = rest[option]
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(), "utf-8")
