"""Whose depths of adstacks stand, and who launched a program last: words that machine code reads and writes, too."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Final

__all__ = ["BY_PYTHON", "Repeatable", "Standing"]

BY_PYTHON: Final = 1
"""The word of a program whose last launch came from Python, and to its end."""


@dataclass(kw_only=True)
class Standing:
    """A compiled program with depths of adstacks.

    Attributes:
        standing: the word that says whose depths stand: `BY_PYTHON` for those of Python's last launch, else see
            `hostcall.record`.
    """

    standing: ctypes.c_int64 = field(default_factory=ctypes.c_int64)

    @property
    def settled(self) -> bool:
        """Whether the last launch from Python has come to its end, so that the depths stand that it computed."""
        return self.standing.value == BY_PYTHON

    @settled.setter
    def settled(self, done: bool) -> None:
        self.standing.value = BY_PYTHON if done else 0


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
