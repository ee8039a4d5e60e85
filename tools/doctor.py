"""`adstack doctor`: what can run on this machine, what can't and why, and whether what can really does."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Final

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from adstack import inspection
from adstack.conformance.harness.cells import Result, Status, Subject
from adstack.conformance.harness.loading import collect
from adstack.conformance.harness.plan import cells_of, select
from adstack.conformance.harness.pool import run_cells
from adstack.conformance.harness.records import Record
from adstack.conformance.harness.station import Settings
from adstack.conformance.report.summary import machine
from adstack.conformance.subjects.backends import NAMES, backend_subject

from .terminal.console import console

__all__ = ["doctor"]

EPILOG: Final = """\b
Examples:
  adstack doctor
  adstack doctor --backend cuda
  adstack doctor --json

Exit status: 0 if a kernel ran on every backend that says it is available, 1 if not.
"""
SMOKE: Final = "arith/floor-division-of-negatives"
STYLES: Final = {"native": "green", "software": "yellow", "emulated": "yellow", "unavailable": "dim"}


@click.command(epilog=EPILOG)
@click.option("--backend", "-b", "backends", multiple=True, type=click.Choice(NAMES), help="Only this one.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=60.0, metavar="SECONDS", help="For a kernel."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(context: click.Context, /, backends: tuple[str, ...], timeout: float, as_json: bool) -> None:
    """Examine every backend: is it available, on which device and driver, and does a kernel run on it?

    native: the hardware that the backend is for. software: a driver that runs on the cpu. emulated: an emulator.
    unavailable: not here; the reason and the fix are shown.
    """
    findings = _examine(list(dict.fromkeys(backends or NAMES)), timeout)
    if as_json:
        click.echo(json.dumps({"machine": machine(), "backends": findings}, indent=1))
    else:
        _show(findings, console())
    context.exit(1 if any(finding["smoke"] not in ("pass", "") for finding in findings) else 0)


def _examine(arches: Sequence[str], timeout: float) -> list[Record]:
    subjects = [backend_subject(arch) for arch in arches]
    smoke = _smoke([one for one in subjects if one.kind != "unavailable"], timeout)
    return [_finding(arch, subject, smoke.get(arch)) for arch, subject in zip(arches, subjects, strict=True)]


def _finding(arch: str, subject: Subject, result: Result | None) -> Record:
    """What is known of a backend, given what came of a kernel on it, if it is available."""
    probed = inspection.probe(arch)
    finding: Record = {
        "name": arch,
        "state": subject.kind,
        "device": subject.device,
        "devices": inspection.device_names(arch),
        "smoke": "",
        "message": "",
    }
    if isinstance(probed, inspection.Unavailable):
        return {**finding, "reason": probed.reason, "fix": probed.fix}
    assert result is not None
    features = {"dtypes": " ".join(dtype.name for dtype in probed.dtypes), **probed.details}
    return {**finding, "features": features, "smoke": result.status.value, "message": _told(result)}


def _smoke(subjects: Sequence[Subject], timeout: float) -> dict[str, Result]:
    """What comes of one kernel on each of them, in processes of their own: a driver that crashes is a finding."""
    cells = cells_of(select(collect(), [SMOKE]), subjects)
    results = run_cells(cells, Settings(inspection.budget, timeout), jobs=os.cpu_count() or 1)
    return {cell.subject.name: result for cell, result in zip(cells, results, strict=True)}


def _told(result: Result) -> str:
    if result.status is Status.PASS:
        return f"a kernel ran and was right, {result.seconds:.2f} s"
    return "\n".join(part for part in (result.message, result.output) if part)


def _show(findings: Sequence[Record], out: Console) -> None:
    about = machine()
    out.print(f"{about['cpu']}, {about['cores']} cores, {about['platform']}, Python {about['python']}", markup=False)
    table = Table(header_style="bold")
    for heading in ("backend", "state", "device", "kernel"):
        table.add_column(heading, overflow="fold")
    for finding in findings:
        state, smoke = finding["state"], finding["smoke"]
        ran = {"pass": "[green]✓ runs[/]", "": "-"}.get(smoke, f"[bold red]✗ {smoke}[/]")
        table.add_row(finding["name"], f"[{STYLES.get(state, 'red')}]{state}[/]", escape(finding["device"]) or "-", ran)
    out.print(table)
    for finding in findings:
        _details(finding, out)


def _details(finding: Record, out: Console) -> None:
    out.print(f"[bold]{finding['name']}[/]")
    lines = {"reason": finding.get("reason"), "do": finding.get("fix"), **finding.get("features", {})}
    if finding["devices"]:
        lines["devices"] = ", ".join(f"{number}: {name}" for number, name in enumerate(finding["devices"]))
    lines["kernel"] = finding["message"]
    for name, text in lines.items():
        if text:
            out.print(f"  {name}: {text}", markup=False)
