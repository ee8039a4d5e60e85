"""asv's files: what a machine is, and the figures of one commit on it.

The format is that of asv 0.6 (`asv.results.Results`, version 2 of its interface, and `asv.machine.Machine`, version 1).
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from adstack.conformance.harness.records import Record

from .catalogue import Benchmark, Setting

__all__ = ["Commit", "Figures", "Machine", "Point", "memory", "write"]

_COLUMNS: Final = (
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25"),
    *("stats_q_75", "stats_number", "stats_repeat", "samples", "profile"),
)
_VERSION: Final = 2
_SKIPPED: Final = float("nan")
"""Stands for a setting without a figure: None would mean to asv that it had failed."""


@dataclass(frozen=True)
class Point:
    """A figure: in the benchmark's unit, with the samples that it is the median of, if there are any."""

    value: float
    samples: tuple[float, ...] = ()


Figures = Mapping[str, Mapping[Setting, Point]]
"""Names of benchmarks -> settings -> figures."""


@dataclass(frozen=True)
class Commit:
    """What was measured.

    Attributes:
        hash: all 40 digits: asv looks it up in the repository.
        date: when it was committed.
    """

    hash: str
    date: datetime.datetime

    @property
    def milliseconds(self) -> int:
        """Since 1970, as asv has dates."""
        return round(1000 * self.date.timestamp())


@dataclass(frozen=True)
class Machine:
    """The identity of a machine: asv draws no lines between results of different ones.

    Attributes:
        name: of the folder, and in asv's pages.
        gpu: the device that kernels run on; empty where that is the processor.
        python: its version, two numbers.
    """

    name: str
    cpu: str
    cores: int
    system: str
    gpu: str = ""
    arch: str = "x86_64"
    ram: str = ""
    python: str = field(default_factory=lambda: ".".join(platform.python_version_tuple()[:2]))

    @staticmethod
    def of(about: Record, gpu: str = "", name: str = "", ram: str = "") -> Machine:
        """The machine by what a run notes of it (`adstack.conformance.report.summary.machine`).

        Args:
            about: platform, cpu, cores and python; what it lacks stays empty.
            gpu: the device, if there is one.
            name: of the machine; the GPU's, or the processor's with its number of cores, if there is none.
            ram: its memory, in asv's words; records do not tell.
        """
        cores, where = about.get("cores", 0), str(about.get("platform", ""))
        kind = re.search(r"x86_64|aarch64|arm64", where)
        python = ".".join(str(about.get("python", "")).split(".")[:2])
        cpu = str(about.get("cpu", ""))
        system = re.match(r"([A-Za-z]+)-(\d+\.\d+)", where)
        return Machine(
            name or _slug(gpu or f"{cpu} {cores} cores"),
            *(cpu, cores, " ".join(system.groups()) if system else "", gpu),
            *(kind[0] if kind else "", ram, python),
        )

    def record(self) -> Record:
        """As asv has it; a GPU is a key more than asv's own, by which its pages tell results apart."""
        own = {"arch": self.arch, "cpu": self.cpu, "machine": self.name, "num_cpu": str(self.cores)}
        return {**own, "os": self.system, "ram": self.ram, **({"gpu": self.gpu} if self.gpu else {})}


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", re.sub(r"\((?:r|tm)\)", "", text.lower())))


def memory() -> str:
    """This machine's, in GB; empty where the system does not tell."""
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return ""
    return f"{round(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30)}GB"


def write(
    folder: Path,
    machine: Machine,
    commit: Commit,
    benchmarks: Mapping[str, Benchmark],
    figures: Figures,
    variables: Mapping[str, str] | None = None,
) -> Path:
    """Write figures of a commit on a machine, beside those that the folder has of them already.

    Args:
        folder: of asv's results.
        machine: whose folder in that one they come to.
        commit: what was measured.
        benchmarks: the benchmarks' parameters and versions, by name.
        figures: an unknown name, or a setting that a benchmark does not have, is a KeyError.
        variables: of the environment, with which all was measured: asv draws lines of their own for them.

    Returns:
        The file of the figures.
    """
    place = folder / machine.name
    place.mkdir(parents=True, exist_ok=True)
    _store(place / "machine.json", {**machine.record(), "version": 1})
    settings = variables or {}
    python = f"py{machine.python}" if machine.python else ""
    environment = "-".join(
        filter(None, ["adstack-bench", python, *(name + settings[name] for name in sorted(settings))])
    )
    path = place / f"{commit.hash[:8]}-{environment}.json"
    there = path.exists()
    run = json.loads(path.read_text("utf-8")) if there else _empty(machine, commit, environment, settings)
    for name, points in figures.items():
        if not points:
            continue
        run["results"][name] = _columns(benchmarks[name], run["results"].get(name), points)
    _store(path, run)
    return path


def _store(path: Path, record: Record) -> None:
    path.write_text(json.dumps(record) + "\n", "utf-8")


def _empty(machine: Machine, commit: Commit, environment: str, variables: Mapping[str, str]) -> Record:
    return {
        "commit_hash": commit.hash,
        "env_name": environment,
        "date": commit.milliseconds,
        "params": {**machine.record(), "python": machine.python},
        "python": machine.python,
        "requirements": {},
        "env_vars": dict(variables),
        "result_columns": list(_COLUMNS),
        "results": {},
        "durations": {},
        "version": _VERSION,
    }


def _columns(benchmark: Benchmark, before: list[Any] | None, points: Mapping[Setting, Point]) -> list[object]:
    """A benchmark's row: figures and samples of all settings, those of an earlier run where this one has none."""
    settings = list(benchmark.settings())
    strange = set(points) - set(settings)
    if strange:
        raise KeyError(f"{benchmark.name}{min(strange)}")
    row = dict(zip(_COLUMNS, before or (), strict=False))
    if row.get("version") != benchmark.version or row.get("params") != [list(values) for values in benchmark.params]:
        row = {}
    values = list(row.get("result") or [_SKIPPED] * len(settings))
    samples = list(row.get("samples") or [None] * len(settings))
    for place, setting in enumerate(settings):
        if setting in points:
            values[place], samples[place] = points[setting].value, list(points[setting].samples) or None
    row = {"result": values, "params": [list(column) for column in benchmark.params], "version": benchmark.version}
    if any(samples):
        row["samples"] = samples
    last = max(_COLUMNS.index(column) for column in row)
    return [row.get(column) for column in _COLUMNS[: last + 1]]
