"""Pages that are made of committed results: the matrix, and errors of the math library."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from adstack.conformance.harness.records import Record

from .pages import ROOT

__all__ = ["functions", "matrix", "table"]

_RESULTS: Final = ROOT / "conformance" / "results"


def table(head: Sequence[str], rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in lines)


def matrix(folder: Path = _RESULTS) -> str:
    """The page of the matrices that are committed: the newest of each device, and what did not pass."""
    runs = [
        json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*/*.json")) if path.parent.name in _ARCHES
    ]
    newest = {(run["subject"]["name"], run["subject"]["device"]): run for run in runs}
    parts = ["# The matrix", _MATRIX, table(_HEAD, [_matrix_row(run) for run in newest.values()])]
    parts += ["## By topic", _topics(list(newest.values()))]
    for run in newest.values():
        if run["not passed"]:
            parts += [f"## What did not pass: {run['subject']['device']}, {run['date']}", _failures(run)]
    return "\n\n".join(parts) + "\n"


_ARCHES: Final = ("cpu", "cuda", "vulkan")
_HEAD: Final = ("backend", "device", "kind", "date", "commit", "cases", "cells", "passed", "seconds")
_MATRIX: Final = """\
Every case of the conformance suite, forward, in reverse, in forward mode, and by the dot-product test: these are runs
on devices whose results are committed. `adstack conformance --html report.html` makes the whole matrix of the machine
at hand, with every cell's explanation."""


def _matrix_row(run: Record) -> list[object]:
    about: Record = run["subject"]
    counts: Counter[str] = Counter(run["counts"])
    return [
        *(about["name"], about["device"], about["kind"], run["date"], run["commit"][:12]),
        *(f"{run['cases']:,}", f"{run['cells']:,}", f"{counts['pass']:,}", f"{run['seconds']:.0f}"),
    ]


def _topics(runs: Sequence[Record]) -> str:
    names = sorted({topic for run in runs for topic in run["topics"]})
    head = ["topic", *(f"{run['subject']['name']}: {run['subject']['device']}" for run in runs)]
    return table(head, [[name, *(_topic(run["topics"].get(name, {})) for run in runs)] for name in names])


def _topic(modes: Mapping[str, Mapping[str, int]]) -> str:
    counts: Counter[str] = sum((Counter(states) for states in modes.values()), Counter())
    total = sum(counts.values())
    return f"{counts['pass']:,} of {total:,}" if total else "-"


def _failures(run: Record) -> str:
    rows = [(f"`{case}`", mode, why) for case, modes in run["not passed"].items() for mode, why in modes.items()]
    return table(("case", "mode", "what happened"), [[case, mode, _cell(why)] for case, mode, why in rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def functions(folder: Path = _RESULTS / "math") -> str:
    """The page of errors of the math library."""
    runs = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    head = ("function", "format", "largest error (ulp)", "at", "points", "every one", "ns per element", "numpy's")
    rows = [
        (
            *(f"`{run['function']}`", run["format"], f"{run['max_ulp']:.4f}", ", ".join(map(_hex, run["at"]))),
            *(f"{run['points']:,}", "yes" if run["exhaustive"] else "no", run.get("ns", "-"), run.get("numpy_ns", "-")),
        )
        for run in runs
    ]
    about = "Measured by `python -m adstack.tools.accuracy`; how each is computed is in [math](spec/math.md)."
    return f"# Errors of the math library\n\n{about}\n\n{table(head, rows)}\n"


def _hex(value: object) -> str:
    return f"`{value}`"
