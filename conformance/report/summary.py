"""What a finished run is: its results, what they ran on, and whether it passed."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from ..harness.cells import Gap, Result, Status, Subject
from ..harness.identity import SUITE, identity, sources
from ..harness.plan import Selection
from ..harness.records import Record

__all__ = ["Report", "cell_record", "explanation", "label", "machine", "record", "suite_sources"]


def machine() -> Record:
    """What this run ran on."""
    return {
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
    }


def _cpu() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@dataclass(frozen=True)
class Report:
    """A run of the suite.

    Attributes:
        results: one per cell.
        subjects: those that the run was asked for.
        stale_gaps: gaps that match no case.
        seed: the run's seed; each cell's follows from it.
        seconds: wall time of the run.
        left_out: backends that can't run here, which nobody asked for by name.
        interrupted: how many cells were left when the run was interrupted; their results are missing.
        selection: what the run was asked for.
        known: (case, mode) of all that the suite has, asked for or not.
    """

    results: Sequence[Result]
    subjects: Sequence[Subject]
    stale_gaps: Sequence[tuple[Subject, Gap]] = ()
    seed: int = 0
    seconds: float = 0.0
    left_out: Sequence[Subject] = ()
    interrupted: int = 0
    selection: Selection = field(default_factory=Selection)
    known: Collection[tuple[str, str]] = ()
    machine: Record = field(default_factory=machine)

    @property
    def failures(self) -> list[Result]:
        """The results that make the run fail."""
        return [result for result in self.results if result.is_failure]

    @property
    def ran(self) -> int:
        """How many cells were run at all."""
        return sum(result.status is not Status.UNAVAILABLE for result in self.results)

    @property
    def passed(self) -> bool:
        """Nothing failed, no gap is out of date, and something was run, to the end."""
        return not self.failures and not self.stale_gaps and self.ran > 0 and not self.interrupted

    @property
    def gaps(self) -> dict[tuple[str, str], int]:
        """How many cells are known gaps, by the name of the subject and the reason."""
        gaps = ((result, result.gap) for result in self.results if label(result) == "gap")
        return dict(Counter((result.cell.subject.name, gap.reason) for result, gap in gaps if gap is not None))

    @property
    def counts(self) -> dict[str, int]:
        """How many cells ended in each state; known gaps apart."""
        return dict(Counter(label(result) for result in self.results))


def label(result: Result) -> str:
    """The state in words; a failure that is a known gap is called "gap", a gap that passes "gap passes"."""
    if result.unexpected_pass:
        return "gap passes"
    if result.gap is not None and result.status.is_failure and not result.is_failure:
        return "gap"
    return result.status.value


def explanation(result: Result) -> str:
    """The message of a result, with what is known of its gap."""
    gap, cell_gap = result.gap, result.cell.gap
    if result.unexpected_pass and cell_gap is not None:
        return f"this gap passes; remove it: {cell_gap.covers!r} ({cell_gap.reason})"
    excuse = f"known gap: {gap.reason}" if label(result) == "gap" and gap is not None else ""
    return "\n".join(part for part in (excuse, result.message) if part)


def record(report: Report) -> Record:
    """The run as plain data, for JSON."""
    return {
        "suite": {
            "name": "adstack conformance",
            "version": metadata.version("adstack"),
            "sources": suite_sources(),
            "seed": report.seed,
            "seconds": round(report.seconds, 3),
            "passed": report.passed,
            "counts": report.counts,
            "interrupted": report.interrupted,
            "selection": {name: list(wanted) for name, wanted in vars(report.selection).items()},
        },
        "machine": report.machine,
        "subjects": [_subject(subject) for subject in report.subjects],
        "left_out": [_subject(subject) for subject in report.left_out],
        "cells": [cell_record(result) for result in report.results],
        "stale_gaps": [{"subject": s.name, "covers": g.covers, "reason": g.reason} for s, g in report.stale_gaps],
    }


def suite_sources() -> Record:
    """Digests of the suite's sources, all of them and the cases alone: with the same ones, the same was asked."""
    return {"suite": sources(SUITE), "cases": sources(f"{SUITE}.cases")}


def _subject(subject: Subject) -> Record:
    names = ("name", "kind", "device", "version", "reason", "fix", "part")
    parts = {name: getattr(subject, name) for name in names}
    details, init = dict(subject.details), dict(subject.options)
    return {**parts, "details": details, "init": init, "identity": identity(subject)}


def cell_record(result: Result) -> Record:
    """One result as plain data."""
    cell = result.cell
    return {
        "case": cell.entry.id,
        "title": cell.entry.title,
        "rules": list(cell.entry.case.rules),
        "file": cell.entry.path,
        "subject": cell.subject.name,
        "mode": cell.mode,
        "status": result.status.value,
        "failed": result.is_failure,
        "gap": result.gap.reason if result.gap is not None else None,
        "exactness": result.exactness,
        "ulp": result.ulp,
        "message": result.message,
        "output": result.output,
        "seconds": round(result.seconds, 6),
        "seed": cell.seed,
    }
