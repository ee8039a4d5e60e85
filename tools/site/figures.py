"""Ratios out of committed results: how adstack compares, row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ..plots.bars import Ratio
from .pages import ROOT

__all__ = ["CALLS", "PROGRAMS", "WORKS", "by_hand", "ratios"]

RESULTS: Final = ROOT / "conformance" / "results" / "bench"
CALLS: Final = {
    "nop": "a call",
    "args": "a call with an array",
    "nop-reverse": "a gradient",
    "tape": "a tape of 100 calls",
    "recurrence": "65,536 recurrences of 64 sines",
    "recurrence-reverse": "their gradient",
    "first": "first call",
    "first-gradient": "first gradient",
    "gradient-many-64": "first gradient, 64 variables",
    "gradient-many-256": "first gradient, 256 variables",
}
PROGRAMS: Final = "program-"
WORKS: Final = "adjoint-"


def ratios(arch: str, rows: Sequence[str], folder: Path = RESULTS) -> list[Ratio]:
    """The newest ratio of each row and peer that some run has, in the order of the rows.

    Args:
        arch: whose runs are read.
        rows: names; one that ends with "-" stands for all rows that begin so.
        folder: of results.
    """
    newest: dict[tuple[str, str], Ratio] = {}
    for path in sorted(folder.glob("*.json")):
        newest.update({(one.row, one.peer): one for one in _of(path, arch)})
    names = list(dict.fromkeys(name for row in rows for name in _matching(row, [key[0] for key in newest])))
    return [one for name in names for key, one in newest.items() if key[0] == name]


def _matching(row: str, names: Sequence[str]) -> list[str]:
    return [name for name in names if name == row or (row.endswith("-") and name.startswith(row))]


def _of(path: Path, arch: str) -> Iterator[Ratio]:
    runs = json.loads(path.read_text("utf-8"))
    for run in runs if isinstance(runs, list) else []:
        for row in run["rows"] if run["arch"] == arch else []:
            for peer, result in row["results"].items():
                if "ratio" in result:
                    yield Ratio(row["name"], peer, 1 / result["ratio"]["median"], path.name)


def by_hand(path: Path = RESULTS / "2026-11-20-h200.json") -> list[Ratio]:
    """The same of kernels on a GPU, the least of some runs, beside kernels written by hand among others."""
    (runs,) = (value["peers"] for name, value in json.loads(path.read_text("utf-8")).items() if "device.peers" in name)
    return [
        Ratio(row, peer, run["least"][row] / mine, path.name)
        for row, mine in runs["adstack"]["least"].items()
        for peer, run in runs.items()
        if peer != "adstack" and row in run["least"]
    ]
