"""Places of derived kernels that whoever launches them has to know."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..ir.structure import Place

__all__ = ["RECORD", "WANTED", "in_lane"]

RECORD: Final = "access.record"
"""The place in which a checked kernel (`access.py`) reports the first write of an element that was read before."""

WANTED: Final = "journal.wanted"
"""The place in which a journaled kernel (`journaled.py`) counts the room that its logs need: two u64 for each sheet.

Not every target has an atomic maximum of integers with 64 bits and a sign.
"""


def in_lane(dual: Place, lane: int) -> Place:
    """The place of a lane's tangents: lane 0 has those of the place `dual`, the others are like it."""
    return replace(dual, name=f"{dual.name}.{lane}") if lane else dual
