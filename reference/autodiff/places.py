"""Names of the places by which derived kernels tell whoever launches them something."""

from __future__ import annotations

from typing import Final

__all__ = ["RECORD", "WANTED"]

RECORD: Final = "access.record"
"""Of a checked kernel (`access.py`): the first write of an element that was read before."""

WANTED: Final = "journal.wanted"
"""Of a journaled kernel (`journaled.py`): how much room its logs would have needed, two words (u64) for each sheet.

Not every target has an atomic maximum of integers with 64 bits and a sign.
"""
