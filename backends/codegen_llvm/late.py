"""Stores that can wait until the end of an iteration, so that nothing behind them waits for them.

A thread of a device that stores, and then loads, holds up its loads. So it is with an iteration that sets an element to
zero and then goes through a loop, as reverse mode does with the gradient of what was overwritten.
"""

from __future__ import annotations

from adstack.analysis.exclusivity import may_overlap
from adstack.ir.structure import Op, Place, Region

__all__ = ["late_stores"]

_LOOPS = ("for", "while")


def late_stores(body: Region) -> set[Op]:
    """The stores of a body, not inside anything, behind which a loop comes and nothing touches their memory."""
    found: set[Op] = set()
    touched: list[Place] = []
    loops = False
    for op in reversed(body.ops):
        if op.name == "store" and loops and not _touches(op.attrs["place"], touched):
            found.add(op)
        inner = [op, *(o for region in op.regions for o in region.walk())]
        loops |= any(o.name in _LOOPS for o in inner)
        touched += [o.attrs["place"] for o in inner if "place" in o.attrs and o.name != "shape"]
    return found


def _touches(place: Place, others: list[Place]) -> bool:
    return any(other == place or may_overlap(place, other) for other in others)
