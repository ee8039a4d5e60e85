"""Names of the places by which derived kernels tell whoever launches them something."""

from __future__ import annotations

from typing import Final

__all__ = ["RECORD", "WANTED"]

RECORD: Final = "access.record"
"""The place in which a checked kernel (`access.py`) reports the first write of an element that was read before."""

WANTED: Final = "journal.wanted"
"""The place in which a journaled kernel (`journaled.py`) counts the room that its logs need: two u64 for each sheet.

Not every target has an atomic maximum of integers with 64 bits and a sign.
"""
