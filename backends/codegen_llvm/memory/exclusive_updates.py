"""Atomic updates of elements that no other iteration touches: they load, combine and store like any other access.

Which these are is an analysis of the IR (`adstack.analysis.exclusivity`); whether places that the caller hands in
overlap is seen here, when the task runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.exclusivity import exclusive_updates
from adstack.ir.structure import Op, Place

from ..function.region import RegionEmitter

__all__ = ["exclusive_atomics"]


def exclusive_atomics(e: RegionEmitter, loop: Op, header: Sequence[Op]) -> dict[Op, str]:
    """The atomics of a `parallel_for` that may be plain updates -> the i1 under which they are; "" for always.

    Called between the header and the loop, where the i1s are computed.
    """
    updates = exclusive_updates(loop, header)
    alone = {
        key: _alone(e, *key) for key in dict.fromkeys((op.attrs["place"], others) for op, others in updates.items())
    }
    return {op: alone[op.attrs["place"], others] for op, others in updates.items()}


def _alone(e: RegionEmitter, place: Place, others: Sequence[Place]) -> str:
    """Whether the memory of a place overlaps that of none of the others (an i1); "" if there are no others."""
    alone = ""
    start, end = _span(e, place) if others else ("", "")
    for other in others:
        first, last = _span(e, other)
        before, behind = e.w.let(f"icmp ule i64 {end}, {first}"), e.w.let(f"icmp uge i64 {start}, {last}")
        apart = e.w.let(f"or i1 {before}, {behind}")
        alone = e.w.let(f"and i1 {alone}, {apart}") if alone else apart
    return alone


def _span(e: RegionEmitter, place: Place) -> tuple[str, str]:
    """The addresses (i64) where the memory of a place begins and ends."""
    start = e.w.let(f"ptrtoint ptr {e.frame.pointers[place.name]} to i64")
    size = str(place.dtype.size)
    for axis in range(place.rank):
        size = e.w.let(f"mul i64 {size}, {e.extent(place, axis, 1)}")
    return start, e.w.let(f"add i64 {start}, {size}")
