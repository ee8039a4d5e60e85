"""Whose depths of adstacks stand, and who launched a program last: words that machine code reads and writes, too."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

__all__ = ["Repeatable", "Standing"]


@dataclass(kw_only=True)
class Standing:
    """A compiled program with depths of adstacks.

    Attributes:
        standing: the word that says whose depths stand: 1 for Python's last launch, else see `hostcall.record`.
    """

    standing: ctypes.c_int64 = field(default_factory=ctypes.c_int64)

    @property
    def settled(self) -> bool:
        """Whether the last launch from Python has come to its end, so that the depths stand that it computed."""
        return self.standing.value == 1

    @settled.setter
    def settled(self, done: bool) -> None:
        self.standing.value = int(done)


@dataclass(kw_only=True)
class Repeatable(Standing):
    """The same where graphs launch programs without Python.

    Attributes:
        by_graph: a word that is 1 if it was a graph that launched it last, else 0.
    """

    by_graph: ctypes.c_int64 = field(default_factory=ctypes.c_int64)

    @property
    def repeated(self) -> bool:
        """Whether it was a graph that launched it last."""
        return bool(self.by_graph.value)

    @repeated.setter
    def repeated(self, by_graph: bool) -> None:
        self.by_graph.value = int(by_graph)
