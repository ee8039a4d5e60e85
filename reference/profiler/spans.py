"""Nested stretches of time: each is of a kind and a kernel, and its own share is what stretches inside it leave."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["KINDS", "Kind", "Span", "Spans"]

Kind = Literal["program", "python", "machine", "device", "compile"]
KINDS: Final[tuple[Kind, ...]] = ("python", "machine", "device", "compile")
"""What time is spent on, apart from the program itself: adstack in Python; calls that machine code served, with what
these wait for; launches that Python made, until the device has finished; compiling."""


@dataclass
class Span:
    """A stretch of time that is under way.

    Attributes:
        kind: what it counts as.
        name: of the kernel that it is spent on.
        start: when it began, in seconds.
        inside: seconds of the stretches inside it.
        reason: why Python serves the call, if it does; "" where that has not been asked.
    """

    kind: Kind
    name: str
    start: float
    inside: float = 0.0
    reason: str = ""


@dataclass
class Spans:
    """What a thread is doing, and what it has done.

    Attributes:
        seconds: by kernel and kind.
        counts: how many stretches there were, by kernel and kind.
        opened: those under way, the outermost first.
        clock: gives seconds.
    """

    seconds: dict[tuple[str, Kind], float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[tuple[str, Kind], int] = field(default_factory=lambda: defaultdict(int))
    opened: list[Span] = field(default_factory=list)
    clock: Callable[[], float] = time.perf_counter

    def enter(self, kind: Kind, name: str) -> Span:
        """Begin a stretch; with no name it is that of the one around it."""
        span = Span(kind, name or (self.opened[-1].name if self.opened else ""), self.clock())
        self.opened.append(span)
        return span

    def leave(self, span: Span) -> None:
        """End the innermost stretch."""
        elapsed = self.clock() - span.start
        self.opened.pop()
        self.seconds[span.name, span.kind] += elapsed - span.inside
        self.counts[span.name, span.kind] += 1
        if self.opened:
            self.opened[-1].inside += elapsed
