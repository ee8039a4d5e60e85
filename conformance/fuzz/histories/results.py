"""A file of what came of random histories: see `fuzz/results.py`. Of each backend it also has

    "seeds": [[first, end], ...], "differing": [seed, ...]

`end` is left out; seeds of histories that differ are listed if there are any.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from ..results import Results
from .many import Played
from .play import STEPS

__all__ = ["Histories", "joined", "without"]

_HEAD: Final = {
    "command": "python -m adstack.conformance.fuzz.histories ARCH --seed FIRST --count COUNT --json FILE",
    "steps": STEPS,
}
Seeds = list[list[int]]


class Histories:
    """What came of histories of one commit on one backend.

    Args:
        path: of the file, which need not be there yet.
        arch: the backend.
        commit: what is played.
    """

    def __init__(self, path: Path, arch: str, commit: str) -> None:
        self._results = Results(path, arch, commit, _HEAD)

    def missing(self, first: int, end: int) -> Seeds:
        """Which of some seeds the file does not have."""
        missing: Seeds = [[first, end]]
        for played in self._results.known().get("seeds", []):
            missing = [rest for one in missing for rest in without(one, played)]
        return missing

    def add(self, played: Played) -> None:
        """Write down what came of some."""
        earlier = self._results.known()
        counts = {"histories": played.end - played.first, "differ": len(played.differing), **played.counts}
        seeds: Seeds = [*earlier.get("seeds", []), [played.first, played.end]]
        others: dict[str, object] = {"seeds": joined(seeds)}
        if played.differing:
            others["differing"] = sorted([*earlier.get("differing", []), *played.differing])
        self._results.add(counts, others)


def without(one: list[int], other: list[int]) -> Seeds:
    """The seeds of one range that are not in another one."""
    rest = [one[0], min(one[1], other[0])], [max(one[0], other[1]), one[1]]
    return [[first, end] for first, end in rest if first < end]


def joined(several: Iterable[list[int]]) -> Seeds:
    """Ranges in order; those that touch are one."""
    ranges: Seeds = []
    for first, end in sorted(several):
        if ranges and first <= ranges[-1][1]:
            ranges[-1][1] = max(end, ranges[-1][1])
        else:
            ranges.append([first, end])
    return ranges
