"""What became of adstacks since the program started: counters, for tests and for people who wonder where time goes."""

from __future__ import annotations

import ctypes
from collections import Counter
from typing import Final

__all__ = ["COUNTED", "SIZINGS", "count", "stats"]

COUNTED: Final = {
    "size_evaluations": "launches that computed how deep their adstacks must be",
    "size_reductions": "parallel loops dispatched for that",
    "size_hits": "launches that used the depths of the launch before, since nothing that decides them had changed",
    "heap_growths": "times a heap of adstacks got more memory",
    "heap_refusals": "times a device had not so much memory",
    "heap_waves": "dispatches that ran fewer lanes at a time than they could, for want of memory",
    "checkpointed": "launches that ran trips again from snapshots, for want of memory",
    "graph_launches": "graphs whose calls a device repeated as one",
}
"""The counters, and what they count."""

SIZINGS: Final = (ctypes.c_int64 * 3)()
"""What machine code counts: hits, evaluations and reductions of sizes."""

_COUNTS: Final[Counter[str]] = Counter()


def count(name: str, number: int = 1) -> None:
    """Add a number to the counter of that name; KeyError if there is none."""
    if name not in COUNTED:
        raise KeyError(name)
    _COUNTS[name] += number


def stats() -> dict[str, int]:
    """All counters since the program started; differences between two calls tell what happened in between."""
    more = dict(zip(("size_hits", "size_evaluations", "size_reductions"), SIZINGS, strict=True))
    return {name: _COUNTS[name] + more.get(name, 0) for name in COUNTED}
