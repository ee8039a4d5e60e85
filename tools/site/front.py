"""The first page: what adstack is, and how it compares, as plots."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import geometric_mean
from typing import Final

from ..plots.bars import NAMES, Ratio, bars
from .figures import CALLS, PROGRAMS, WORKS, by_hand, ratios
from .history import SHOWN, machines, series
from .pages import ROOT
from .plots import lines, picture

__all__ = ["front"]

_PARTS: Final = """
- [Guide](guide/index.md): begin here, then what gradients cost and what to do about it
- [Gallery](gallery/index.md): programs with gradients, and what they show
- [API](api.md): every public function and class
- [The specification](spec/index.md): what every operation and every gradient is, to the bit
- [The matrix](matrix.md): every case on every backend
- [Errors of the math library](functions.md), in ulp
- [What gradients keep](heap.md): reports on adstacks
- [Goals](goals.md): what is measured against whom, which goals are met, and why others are not
- [Over the history](history.md): what asv measured, commit by commit
- [How it is made](inside/index.md)
"""


def front(plots: Path) -> str:
    """Draw plots into a folder, and write the page."""
    parts = [_opening(), _PARTS.strip(), "## How fast it is"]
    for name, (heading, rows, titles) in _plotted().items():
        bars(plots / name, rows, titles)
        parts += [f"### {heading}", _means(rows), picture(name, heading), _sources(rows)]
    lines(plots / "history", series(tuple(SHOWN)))
    parts += ["## Over the history", picture("history", "benchmarks over commits"), _machines()]
    return "\n\n".join(parts) + "\n"


def _plotted() -> dict[str, tuple[str, list[Ratio], dict[str, str]]]:
    works = ratios("cpu", [WORKS])
    both = {one.row: one.row.removeprefix(WORKS).removesuffix("-both") for one in works}
    later = ratios("cpu", [PROGRAMS])
    return {
        "calls": ("Calls, gradients and compilation on a processor", ratios("cpu", list(CALLS)), CALLS),
        "programs": (
            "Later iterations of differentiable programs on a processor",
            later,
            {one.row: one.row.removeprefix(PROGRAMS) for one in later},
        ),
        "works": (
            "A run and its gradient, where iterations share what gradients add to",
            [one for one in works if one.row.endswith("-both")],
            both,
        ),
        "vulkan": ("Vulkan, by a driver that runs on the processor", ratios("vulkan", list(CALLS)), CALLS),
        "h200": ("CUDA on an NVIDIA H200", by_hand(), {}),
    }


def _opening() -> str:
    """What the README says up to its first commands."""
    text = (ROOT / "README.md").read_text("utf-8")
    return re.split(r"^Two commands|^## ", text, maxsplit=1, flags=re.MULTILINE)[0].strip()


def _means(rows: list[Ratio]) -> str:
    """How adstack compares on the whole, in words."""
    peers = dict.fromkeys(one.peer for one in rows)
    means = {peer: geometric_mean([one.times for one in rows if one.peer == peer]) for peer in peers}
    speeds = ", ".join(f"{mean:.3g} times as fast as {NAMES.get(peer, peer)}" for peer, mean in means.items())
    return f"By the geometric mean of these rows {speeds}."


def _sources(rows: list[Ratio]) -> str:
    files = ", ".join(f"`{name}`" for name in dict.fromkeys(one.source for one in rows))
    where = "`conformance/results/bench`; see [the tables](inside/asv_benchmarks.md)"
    return f"Who stands in one row was measured side by side, in one run: {files} in {where}."


def _machines() -> str:
    listed = "; ".join(
        f"{one['machine']}: {', '.join(filter(None, (one.get('gpu'), one['cpu'], one['os'])))}" for one in machines()
    )
    return f"Each point is a commit. Machines: {listed}."
