"""What asv measured over the history: its result files, read as series."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record

from .pages import ROOT

__all__ = ["SHOWN", "Point", "machines", "series"]

RESULTS: Final = ROOT / "asv_benchmarks" / "results"
HISTORY: Final = "xeon-2-vcpus"
"""The machine on which asv went over the history."""
SHOWN: Final = {
    "compile_time.ManyGradient.timeraw_gradient('cpu', 64)": "first gradient of 64 variables (s)",
    "dispatch.Call.time_thousand_calls('cpu', 'gradient')": "a thousand gradients of small kernels (s)",
    "dispatch.Recorded.time_call('cpu', 'tape of 100')": "a tape of 100 calls (s)",
    "dispatch.Recorded.track_python_calls('cpu', 'tape of 100')": "Python functions of such a tape",
    "code_size.GradientCode.track_ir_ops('cpu', 'many')": "operations of a gradient",
}
"""What the first page draws: the title of each benchmark with its parameters."""


@dataclass(frozen=True)
class Point:
    """A benchmark at a commit: its date in milliseconds, its hash, and the figure."""

    date: int
    commit: str
    value: float


def series(names: Sequence[str] | None = None, folder: Path = RESULTS) -> dict[str, list[Point]]:
    """The points of benchmarks with their parameters, in the order of time; commits without a figure are left out.

    Names of benchmarks on other machines than that of the history end with " on " and the machine's.

    Args:
        names: of these benchmarks; of all if there are none.
        folder: of asv's results.
    """
    points: dict[str, list[Point]] = {name: [] for name in names or ()}
    for path in sorted(folder.glob("*/*-*.json")):
        run = json.loads(path.read_text("utf-8"))
        where = "" if path.parent.name == HISTORY else f" on {path.parent.name}"
        for name, value in _values(run) if not run["env_vars"] else ():
            name += where
            if names is None or name in points:
                points.setdefault(name, []).append(Point(run["date"], run["commit_hash"], value))
    return {name: sorted(series, key=lambda point: point.date) for name, series in sorted(points.items())}


def _values(run: Record) -> Iterator[tuple[str, float]]:
    """The figures of one commit; the order of parameters is asv's."""
    for name, columns in run["results"].items():
        row = dict(zip(run["result_columns"], columns, strict=False))
        settings = itertools.product(*row["params"]) if row["params"] else [()]
        for parameters, value in zip(settings, row["result"] or (), strict=False):
            if value is not None and not math.isnan(value):
                yield f"{name}({', '.join(parameters)})" if parameters else name, float(value)


def machines(folder: Path = RESULTS) -> list[Record]:
    """The identities of the machines that results are of."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*/machine.json"))]
