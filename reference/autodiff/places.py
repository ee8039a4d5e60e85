"""Places of derived kernels that whoever launches them has to know."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..ir.structure import Place

__all__ = ["RECORD", "WANTED", "in_lane", "lane_name"]

RECORD: Final = "access.record"
"""The place in which a checked kernel (`access.py`) reports the first write of an element that was read before."""

WANTED: Final = "journal.wanted"
"""The place in which a journaled kernel (`journaled.py`) counts the room that its logs need: two u64 for each sheet.

Not every target has an atomic maximum of integers with 64 bits and a sign.
"""


def in_lane(place: Place, lane: int) -> Place:
    """The place of a lane: lane 0 has `place` itself, the others have places like it."""
    return replace(place, name=lane_name(place.name, lane)) if lane else place


def lane_name(name: str, lane: int) -> str:
    """What a place is called in a lane, which is called `name` in lane 0."""
    return f"{name}.{lane}" if lane else name
