"""What is measured of every implementation: data, gradients that numpy knows, and how time is taken."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

__all__ = [
    "TURNS",
    "Figures",
    "Gather",
    "N",
    "Rows",
    "Subject",
    "apart",
    "measured",
    "recurrence_gradient",
    "starts",
    "timed",
]

Array = npt.NDArray[Any]
Rows = dict[str, Callable[[], object]]
"""Row -> the work of one call."""
Figures = dict[str, Any]

N: Final = 1 << 20
TURNS: Final = 64
ROUNDS: Final = 15
CALLS: Final = {"dispatch": 2000, "recurrence": 20, "gather": 10}
"""How many calls are timed together."""
SCALES: Final = {"dispatch": 1e6, "recurrence": 1e3, "gather": 1e3}
"""Figures are in microseconds, or milliseconds."""


class Subject(Protocol):
    """An implementation: each method prepares the rows of a group; with gradients comes how far they are off."""

    def sync(self) -> object:
        """Wait for everything."""

    def dispatch(self) -> Rows:
        """Launches that do next to nothing: what a call costs."""

    def recurrence(self) -> tuple[Rows, Figures]:
        """A recurrence per thread and its gradient."""

    def gather(self) -> tuple[Rows, Figures]:
        """Loops of lengths from memory, with reads at indices from memory; the gradient adds to shared elements."""


def timed(call: Callable[[], object], sync: Callable[[], object], calls: int, rounds: int = ROUNDS) -> float:
    """Measure a call.

    Args:
        call: what is measured; it runs once before.
        sync: waits until everything has finished.
        calls: how many a round has.
        rounds: how many rounds; each ends with everything finished.

    Returns:
        Seconds per call: the median of the rounds.
    """
    call()
    sync()
    samples = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        sync()
        samples.append((time.perf_counter() - start) / calls)
    return statistics.median(samples)


def measured(subject: Subject, name: str, version: str, file: str) -> int:
    """Measure all groups of rows, and write the figures after each of them.

    Args:
        subject: makes what is measured.
        name: its module.
        version: its version.
        file: where the figures are written, as JSON; what a group can't do is told in its place.

    Returns:
        The exit code, 0.
    """
    figures: Figures = {"module": name, "version": version}
    for group in CALLS:
        try:
            prepared = getattr(subject, group)()
            rows, more = prepared if isinstance(prepared, tuple) else (prepared, {})
            scale, calls = SCALES[group], CALLS[group]
            figures[group] = {row: scale * timed(call, subject.sync, calls) for row, call in rows.items()} | more
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what came of this group
            figures[group] = {"error": f"{type(error).__name__}: {error}"}
        Path(file).write_text(json.dumps(figures, indent=1))
    print(json.dumps(figures))
    return 0


def starts() -> Array:
    """What the recurrence begins with."""
    values: Array = (np.arange(N, dtype=np.float32) % 1000) / np.float32(1000)
    return values


def recurrence_gradient() -> Array:
    """The derivative of v = sin(v) * 0.9 + 0.1, repeated, in double precision."""
    v = starts().astype(np.float64)
    gradient = np.ones_like(v)
    for _ in range(TURNS):
        gradient *= 0.9 * np.cos(v)
        v = np.sin(v) * 0.9 + 0.1
    return gradient


@dataclass
class Gather:
    """Rows of up to 16 products of gathered elements."""

    x: Array = field(init=False)
    w: Array = field(init=False)
    degree: Array = field(init=False)
    column: Array = field(init=False)

    def __post_init__(self) -> None:
        random = np.random.default_rng(0)
        self.x, self.w = random.random(N, np.float32), random.random(N, np.float32)
        self.degree = random.integers(0, 17, N, np.int32)
        self.column = random.integers(0, N, (N, 16), np.int32)

    def gradient(self) -> Array:
        """By x, in double precision: the sum of what was gathered."""
        wanted = np.arange(16)[None, :] < self.degree[:, None]
        total: Array = np.where(wanted, self.w.astype(np.float64)[self.column], 0).sum(axis=1)
        return total


def apart(computed: Array, wanted: Array) -> Figures:
    """How far a gradient is from what it should be, as a part of the greatest."""
    return {"gradient off by": float(np.abs(computed.astype(np.float64) - wanted).max() / np.abs(wanted).max())}
