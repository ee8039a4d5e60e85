"""The words of a buffer's record, which machine code reads and writes without Python."""

from __future__ import annotations

import ctypes
from typing import Final, Protocol

__all__ = [
    "ADDRESS",
    "BESIDE",
    "CHANGED",
    "EXTENTS",
    "GENERATION",
    "HISTORY",
    "MARK",
    "TAG",
    "UNCHANGED",
    "UNWATCHED",
    "WRITTEN",
    "Recorded",
    "Words",
]

Words = ctypes.Array[ctypes.c_int64]

TAG: Final = 0
ADDRESS: Final = 1
WRITTEN: Final = 2
GENERATION: Final = 3
BESIDE: Final = 4
MARK: Final = 5
HISTORY: Final = 6
EXTENTS: Final = 7
"""Words of a buffer's record: what its owner marks it with, where it is (0 once dropped), how often machine code wrote
it, its generation as far as Python knows, the record of its gradient's buffer (0 if none was told), where its backend
has launches note that they use it (0 if nowhere), whether its past is kept, and its extents."""

UNWATCHED: Final = 0
UNCHANGED: Final = 1
CHANGED: Final = 2
"""The states at `HISTORY`: its history is not watched; it is unchanged since it was watched; it has changed."""


class Recorded(Protocol):
    """Memory with such a record: see `buffers.Buffer`."""

    def record(self) -> Words:
        """Its words, made when they are first asked for; they stay where they are."""
