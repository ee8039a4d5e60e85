"""`adstack profile`: where the time of a program goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.table import Table

import adstack as qd
from adstack.conformance.harness import programs
from adstack.profiler import KINDS, Profile, Report

from .bench.report import quantity
from .loading.programs import Program
from .terminal.console import console

__all__ = ["profile"]

EPILOG: Final = """\b
Examples:
  adstack profile program.py
  adstack profile program.py -- --steps 100
  adstack profile mass-spring --iterations 20
  adstack profile mpm --first --arch vulkan --json profile.json
"""
WARM: Final = 2
"""Iterations of a program of the suite before those that are measured."""


@click.command(epilog=EPILOG)
@click.argument("program")
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENTS]")
@click.option("--arch", default="cpu", show_default=True, help="Of a program of the suite; a file says its own.")
@click.option("--size", type=click.Choice(["reduced", "full"]), default="full", show_default=True)
@click.option("--iterations", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--first", is_flag=True, help="Measure the first iteration of a program of the suite, which compiles.")
@click.option("--waits/--no-waits", default=True, help="Wait for the device after every call.", show_default=True)
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write all as JSON.")
def profile(
    program: str,
    arguments: tuple[str, ...],
    arch: str,
    size: str,
    iterations: int,
    first: bool,
    waits: bool,
    json_file: Path | None,
) -> None:
    """Say where the time of a program goes: its own Python, adstack's, machine code of calls, the device, compiling.

    PROGRAM is a file, or the name of one of the suite's programs, of which later iterations are measured. Which calls
    Python served, and not machine code, is told with the reason.
    """
    if program in programs.NAMES:
        report = _of_suite(program, arch, size, 0 if first else WARM, 1 if first else iterations, waits)
    else:
        report = _of_file(Path(program), arguments, waits)
    show(report, console())
    if json_file is not None:
        json_file.parent.mkdir(parents=True, exist_ok=True)
        json_file.write_text(json.dumps(report.record(), indent=1) + "\n", "utf-8")


def _of_suite(name: str, arch: str, size: str, warm: int, iterations: int, waits: bool) -> Report:
    qd.init(arch=arch)
    program = programs.make(name, qd, size)

    def iterate(count: int) -> None:
        for _ in range(count):
            program.differentiate()
            program.update()

    iterate(warm)
    with Profile(waits) as measured:
        iterate(iterations)
    return measured.report()


def _of_file(path: Path, arguments: tuple[str, ...], waits: bool) -> Report:
    with Profile(waits) as measured:
        Program.run(path, arguments)
    return measured.report()


def show(report: Report, out: Console) -> None:
    """Print a table by kernel and gradient, and one of the calls that Python served."""
    took = f"{quantity(report.seconds)}, about {quantity(report.overhead)} of it the profile's own"
    table = Table(header_style="bold", title=took, caption="launches: those that Python made")
    for title in ("kernel", "calls", "by machine", "launches", *KINDS, "in all"):
        table.add_column(title, justify="left" if title == "kernel" else "right")
    for row in report.rows:
        counts = [str(number) for number in (row.calls, row.by_machine, row.launches)]
        table.add_row(row.name, *counts, *(_time(getattr(row, kind)) for kind in KINDS), _time(row.seconds))
    table.add_section()
    totals = [report.total(kind) for kind in KINDS]
    table.add_row("all", "", "", "", *map(_time, totals), _time(sum(totals)))
    table.add_row("the program", *[""] * 7, _time(report.program))
    out.print(table)
    if report.fallbacks:
        why = Table("kernel", "calls", "why Python served them, and not machine code", header_style="bold")
        for one in report.fallbacks:
            why.add_row(one.name, str(one.calls), one.reason)
        out.print(why)


def _time(seconds: float) -> str:
    return quantity(seconds) if seconds > 0 else "-"
