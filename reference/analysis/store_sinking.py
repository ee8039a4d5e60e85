"""Store sinking: stores that may move to the end of an iteration.

A thread of a device that stores, and then loads, holds up its loads. Reverse mode makes such iterations: they set the
gradient of an overwritten element to zero, and then run a loop.
"""

from __future__ import annotations

from ..ir.ops import SERIAL_LOOPS, SHAPE, STORE
from ..ir.structure import Op, Place, Region
from .exclusivity import may_overlap

__all__ = ["sinkable_stores"]


def sinkable_stores(body: Region) -> set[Op]:
    """The stores at the top level of a body that a loop follows, and whose memory no later op may touch."""
    stores: set[Op] = set()
    touched: list[Place] = []
    loop_follows = False
    for op in reversed(body.ops):
        if op.opdef is STORE and loop_follows and not _touches(op.attrs["place"], touched):
            stores.add(op)
        inner = [op, *(o for region in op.regions for o in region.walk())]
        loop_follows |= any(o.opdef in SERIAL_LOOPS for o in inner)
        touched += [o.attrs["place"] for o in inner if "place" in o.attrs and o.opdef is not SHAPE]
    return stores


def _touches(place: Place, others: list[Place]) -> bool:
    return any(other == place or may_overlap(place, other) for other in others)
