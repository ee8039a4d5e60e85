"""`adstack conformance`: run the suite on backends and other subjects, and report."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from adstack import inspection
from adstack.conformance.case import MODES
from adstack.conformance.cluster.run import run_on
from adstack.conformance.harness.cells import Cell, Result, Subject
from adstack.conformance.harness.loading import Entry, collect
from adstack.conformance.harness.plan import Selection, cells_of, select, stale_gaps
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.records import Record
from adstack.conformance.harness.station import Settings
from adstack.conformance.report.html import html
from adstack.conformance.report.junit import junit
from adstack.conformance.report.log import Log
from adstack.conformance.report.summary import Report, record
from adstack.conformance.report.terminal import show
from adstack.conformance.subjects.backends import NAMES, backend_subject, backend_subjects
from adstack.conformance.subjects.peers import PEERS

from .other_run import read_run
from .scheduler import connected
from .subjects import Choice, chosen_subjects, deterministic
from .terminal.console import console
from .terminal.extras import needs
from .terminal.progress import progress
from .terminal.pythons import python_option

if TYPE_CHECKING:
    pass

__all__ = ["conformance"]

EPILOG: Final = """\b
Examples:
  adstack conformance
  adstack conformance --backend reference --case 'arith/*'
  adstack conformance --deterministic --case 'parallel/*'
  adstack conformance --subject quadrants==1.3.3@cpu,vulkan --subject taichi==1.7.4
  adstack conformance --subject quadrants --python quadrants=~/peers/bin/python
  adstack conformance --rule arith.floordiv --json report.json --html report.html -j 4
  adstack conformance --html report.html --against yesterday.json
  adstack conformance --scheduler tcp://10.0.0.1:8786

Exit status: 0 if nothing failed; 1 if something did, or nothing could run; 2 if the command line is wrong;
130 if the run was interrupted: what had come by then is reported, and written to the files.
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
    type=click.Choice(NAMES),
    help="A backend of adstack; repeatable. Default: all that are available here.",
)
@click.option(
    "--subject",
    "-s",
    "peers",
    multiple=True,
    metavar="NAME[==VERSION][@ARCH,...]",
    help=f"Another implementation: {', '.join(PEERS)}, or one that has an entry point; with a version, "
    "in an environment of its own. Repeatable.",
)
@python_option(PEERS)
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
@click.option(
    "--html",
    "html_file",
    type=FILE,
    callback=needs("jinja2", "conformance"),
    help="Write the report as a page that explains every cell.",
)
@click.option(
    "--against",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    callback=read_run,
    help="Compare with another run on the page: a report that --json wrote.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    callback=needs("distributed", "distributed"),
    help="Run cells on the workers (adstack worker) of this Dask scheduler. Default subjects: all that they have.",
)
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
@click.option(
    "--every-variant",
    is_flag=True,
    help="Give emulated backends that are not asked for by name all variants of each case, not one.",
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
    out = console()  # before anything has been run
    client = context.with_resource(connected(rest["scheduler"])) if rest["scheduler"] else None
    choice = Choice(backends, peers, pythons, rest["every_variant"], rest["deterministic"])
    subjects = chosen_subjects(choice, client)
    left_out = [] if backends or peers or client else [one for one in backend_subjects() if not one.is_available]
    cells = cells_of(chosen, subjects, modes, rest["seed"])
    if not cells:
        raise click.UsageError(f"none of the {len(chosen)} cases has mode {' or '.join(modes)}")
    report = _run(cells, subjects, entries, {**rest, "client": client})
    report = replace(report, left_out=left_out, selection=Selection(patterns, rules, modes))
    _write(report, rest)
    show(report, out, verbose=verbose)
    context.exit(0 if report.passed else 130 if report.interrupted else 1)


def _list(entries: Sequence[Entry]) -> None:
    for entry in entries:
        modes = ", ".join(entry.case.modes)
        click.echo(f"{entry.id}  [{modes}]  {' '.join(entry.case.rules)}")


def _run(cells: list[Cell], subjects: list[Subject], entries: list[Entry], rest: Record) -> Report:
    start = time.perf_counter()
    log = _log(rest["log_file"])
    results = log.complete(cells, lambda missing: _results(missing, rest, log)) if log else _results(cells, rest)
    seconds = time.perf_counter() - start
    missing = len(cells) - len(results)
    known = {(entry.id, mode) for entry in entries for mode in entry.case.modes}
    gaps = stale_gaps(entries, subjects)
    return Report(results, subjects, gaps, rest["seed"], seconds, interrupted=missing, known=known)


def _log(path: Path | None) -> Log | None:
    try:
        return None if path is None else Log(path, lambda text: click.echo(text, err=True))
    except OSError as error:
        raise click.FileError(str(path), error.strerror or str(error)) from error


def _results(cells: list[Cell], rest: Record, log: Log | None = None) -> list[Result]:
    """The results of the cells; of those that had ended, if the run is interrupted."""
    oracle, alike = backend_subject("reference"), rest["deterministic"]
    if alike:
        oracle = deterministic(oracle)
    results: dict[int, Result] = {}
    with progress("conformance", len(cells), console(stderr=True)) as advance, suppress(KeyboardInterrupt):

        def done(result: Result) -> None:
            results[id(result.cell)] = result
            advance(result.cell.entry.topic)
            if log is not None:
                log.add(result)

        jobs = rest["jobs"] or os.cpu_count() or 1
        explain = rest["html_file"] is not None
        settings = Settings(inspection.budget, rest["timeout"], oracle=oracle, alike=alike, explain=explain)
        if rest["client"] is not None:
            return run_on(rest["client"], cells, settings, done, _tell_waiting)
        return run_cells(cells, settings, jobs=jobs, on_result=done)
    return [results[id(cell)] for cell in cells if id(cell) in results]


def _tell_waiting(subjects: list[str]) -> None:
    names = ", ".join(subjects)
    click.echo(f"waiting: no worker has {names} any more; adstack worker ADDRESS starts one", err=True)


def _write(report: Report, rest: Record) -> None:
    texts: dict[str, Callable[[], str]] = {
        "json_file": lambda: json.dumps(record(report), indent=1, allow_nan=False) + "\n",
        "junit_file": lambda: junit(report),
        "html_file": lambda: html(report, rest["against"]),
    }
    for option, text in texts.items():
        path: Path | None = rest[option]
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text(), "utf-8")
