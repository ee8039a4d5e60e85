"""What became of adstacks since the program started: counters, for tests and for people who wonder where time goes.

Launches that machine code serves are not among those of depths.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["COUNTED", "count", "stats"]

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

_COUNTS: Final[Counter[str]] = Counter()


def count(name: str, number: int = 1) -> None:
    """Add to a counter."""
    if name not in COUNTED:
        raise KeyError(name)
    _COUNTS[name] += number


def stats() -> dict[str, int]:
    """All counters since the program started; differences between two calls tell what happened in between."""
    return {name: _COUNTS[name] for name in COUNTED}
