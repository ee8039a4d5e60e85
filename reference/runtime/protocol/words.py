"""The words of a buffer's record, which machine code reads and writes without Python."""

from __future__ import annotations

import ctypes
from typing import Final, Protocol

__all__ = [
    "ADDRESS",
    "BESIDE",
    "BY_MACHINE_CODE",
    "CHANGED",
    "EXTENTS",
    "MARK",
    "TAG",
    "UNCHANGED",
    "UNWATCHED",
    "VERSION",
    "Recorded",
    "Words",
]

Words = ctypes.Array[ctypes.c_int64]

TAG: Final = 0
ADDRESS: Final = 1
VERSION: Final = 2
BESIDE: Final = 3
MARK: Final = 4
CHANGED: Final = 5
EXTENTS: Final = 6
"""Words of a buffer's record: what its owner marks it with, where it is (0 once dropped), its version, which whoever
writes it raises, the record of its gradient's buffer (0 if none was told), where its backend has launches note that
they use it (0 if nowhere), how many launches there had been when it was last changed after one whose reverse mode may
need it, and its extents."""

BY_MACHINE_CODE: Final = (1 << 32) - 1
"""The bits of a version that count the writes of machine code; Python's are counted, for all buffers together, in those
above."""

UNWATCHED: Final = -2
UNCHANGED: Final = -1
"""Stands at `CHANGED` where there is no such number: the buffer has no watch, or was not written since it has one."""


class Recorded(Protocol):
    """Memory with such a record: see `buffers.Buffer`."""

    def record(self) -> Words:
        """Its words, made when they are first asked for; they stay where they are."""
