"""What many noisy samples say: medians, how far samples are from them, and ratios of samples taken side by side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

__all__ = ["Figure", "figure", "geometric_mean", "ratio"]


_TICK = 1e-12
"""Seconds: below what a clock tells apart from nothing."""


@dataclass(frozen=True)
class Figure:
    """A summary of samples.

    Attributes:
        median: the middle one.
        spread: median of the absolute deviations from it.
        least: the smallest one: what the machine does when nothing else runs on it.
        count: how many there were.
    """

    median: float
    spread: float
    least: float
    count: int

    def record(self) -> dict[str, float]:
        """As plain data."""
        return asdict(self)


def figure(samples: Sequence[float]) -> Figure:
    """The summary of at least one sample."""
    median = statistics.median(samples)
    return Figure(median, statistics.median(abs(s - median) for s in samples), min(samples), len(samples))


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean of at least one positive number."""
    return statistics.geometric_mean(ratios)


def ratio(mine: Sequence[float], theirs: Sequence[float]) -> Figure:
    """Ours over theirs, of samples taken in the same round: what slows a round down slows down both.

    `least` is the ratio of the two least samples, not the least of the ratios.
    """
    paired = figure([a / max(b, _TICK) for a, b in zip(mine, theirs, strict=True)])
    return Figure(paired.median, paired.spread, min(mine) / max(min(theirs), _TICK), paired.count)
