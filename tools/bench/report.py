"""A finished run as a table and as plain data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.table import Table

from adstack.conformance.harness.records import Record
from adstack.conformance.report.summary import machine

from .asv.commits import described
from .figures import Figure, figure, geometric_mean, ratio
from .measure import Samples
from .rows import Row
from .subjects import Subject

__all__ = ["Run", "quantity"]

_ITERATIONS: Final = {"steady": "later iterations", "cold": "first iterations"}


@dataclass(frozen=True)
class Run:
    """All samples of one arch.

    Attributes:
        arch: what it ran on.
        subjects: adstack first.
        load: the machine's load average before and after: what else ran.
    """

    arch: str
    rows: Sequence[Row]
    subjects: Sequence[Subject]
    samples: dict[tuple[str, Subject], Samples]
    load: tuple[float, float] = (0.0, 0.0)
    machine: Record = field(default_factory=machine)

    def record(self) -> Record:
        """As plain data, for JSON."""
        return {
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": described(),
            "arch": self.arch,
            "machine": self.machine,
            "load": list(self.load),
            "subjects": [subject.record() for subject in self.subjects],
            "rows": [self._row(row) for row in self.rows],
            "programs": self.means(),
        }

    def _row(self, row: Row) -> Record:
        return {
            "name": row.name,
            "title": row.title,
            "kind": row.kind,
            **({"size": row.size} if row.size else {}),
            **({"target": row.target} if row.target else {}),
            "results": {s.name: self._result(row, s) for s in self.subjects},
        }

    def _result(self, row: Row, subject: Subject) -> Record:
        samples = self.samples[row.name, subject]
        if samples.problem:
            return {"problem": samples.problem}
        result: Record = {
            "wall": figure(samples.wall).record(),
            "samples": [float(f"{s:.4g}") for s in samples.wall],
        }
        if samples.outcome:
            result["outcome"] = samples.outcome
        ratio, of_cpu = self.ratio(row, subject), self.ratio(row, subject, cpu=True)
        if ratio is not None:
            result["ratio"] = ratio.record()
        if row.kind == "steady":
            return result  # too short: the time of a thread that never pauses is not counted until it does
        result["cpu"] = figure(samples.cpu).record()
        return result if of_cpu is None else {**result, "cpu_ratio": of_cpu.record()}

    def ratio(self, row: Row, other: Subject, *, cpu: bool = False) -> Figure | None:
        """adstack's time over another's, if both have one: of the wall clock, or of the processor."""
        mine, theirs = self.samples[row.name, self.subjects[0]], self.samples[row.name, other]
        if other is self.subjects[0] or mine.problem or theirs.problem:
            return None
        return ratio(mine.cpu, theirs.cpu) if cpu else ratio(mine.wall, theirs.wall)

    def means(self) -> Record:
        """The geometric mean of the programs' ratios, and how many there are, by kind of row and peer."""
        means: Record = {}
        for kind in dict.fromkeys(row.kind for row in self.rows if row.size):
            for other in self.subjects[1:]:
                figures = [self.ratio(row, other) for row in self.rows if row.size and row.kind == kind]
                ratios = [one.median for one in figures if one is not None]
                if ratios:
                    mean = {"ratio": float(f"{geometric_mean(ratios):.4g}"), "count": len(ratios)}
                    means.setdefault(kind, {})[other.name] = mean
        return means

    @property
    def failed(self) -> bool:
        """Whether adstack lacks a figure."""
        return any(self.samples[row.name, self.subjects[0]].problem for row in self.rows)

    def show(self, out: Console) -> None:
        """Print a table, then what is missing and why."""
        about = self.machine
        out.print(f"{self.arch}: {about['cpu']}, {about['cores']} cores, {about['platform']}", markup=False)
        out.print(f"load average {self.load[0]:.1f} before, {self.load[1]:.1f} after", markup=False)
        table = Table(header_style="bold", caption="median ± median absolute deviation; in brackets the least")
        table.add_column("row")
        for subject in self.subjects:
            table.add_column(f"{subject.name} {subject.version}".strip(), justify="right")
        for subject in self.subjects[1:]:
            table.add_column(f"ours / {subject.name}", justify="right")
        for row in self.rows:
            table.add_row(row.name, *(self._time(row, s) for s in self.subjects), *self._ratios(row))
        out.print(table)
        for kind, peers in self.means().items():
            for name, mean in peers.items():
                words = f"programs, {_ITERATIONS[kind]}: ours / {name}, geometric mean of {mean['count']}"
                out.print(f"{words}: {mean['ratio']:.3f}", markup=False)
        for text in [*self._kept(), *self._problems()]:
            out.print(text, markup=False)

    def _time(self, row: Row, subject: Subject) -> str:
        samples = self.samples[row.name, subject]
        if samples.problem:
            return "-"
        time = figure(samples.wall)
        return f"{quantity(time.median)} ± {quantity(time.spread)} ({quantity(time.least)})"

    def _ratios(self, row: Row) -> list[str]:
        ratios = [self.ratio(row, subject) for subject in self.subjects[1:]]
        return ["-" if f is None else f"{f.median:.3f} ± {f.spread:.3f} ({f.least:.3f})" for f in ratios]

    def _kept(self) -> list[str]:
        """What the gradients of users' kernels keep."""
        kept = {row.name: self.samples[row.name, self.subjects[0]].outcome for row in self.rows if row.target}
        return [", ".join(f"{what}: {count:,}" for what, count in facts.items()) for facts in kept.values() if facts]

    def _problems(self) -> list[str]:
        missing = [f"{s.name}: {s.reason}\n  do: {s.fix}" for s in self.subjects if not s.is_available]
        failed = [
            f"{s.name}, {row.name}: {self.samples[row.name, s].problem}"
            for s in self.subjects
            if s.is_available
            for row in self.rows
            if self.samples[row.name, s].problem
        ]
        return missing + failed


def quantity(seconds: float) -> str:
    """A time with three digits and the unit that suits it."""
    if seconds <= 0:
        return "0"
    scale = max(-9, min(0, 3 * math.floor(math.log10(seconds) / 3)))
    unit = {0: "s", -3: "ms", -6: "us", -9: "ns"}[scale]
    return f"{seconds / 10**scale:.3g} {unit}"
