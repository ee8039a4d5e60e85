"""Atomic updates of elements that no other thread accesses meanwhile: they load, combine and store.

Which these are the plan says (`adstack.analysis.accumulation`), by the attribute `sums` of the update; whether places
that the caller hands in overlap is seen here, when the task runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.exclusivity import by_place, may_overlap
from adstack.analysis.loop_nests import contains_loop
from adstack.analysis.manager import Analyses
from adstack.ir.ops import LOAD
from adstack.ir.structure import Op, Place, Region

from ..function.region import RegionEmitter

__all__ = ["exclusive_atomics", "needs_atomics"]


def exclusive_atomics(e: RegionEmitter, body: Region, analyses: Analyses) -> dict[Op, str]:
    """The atomics of a `parallel_for` that may be plain updates -> the i1 under which they are; "" for always.

    Called between the header and the loop, where the i1s are computed.
    """
    touching = analyses.get(by_place, body)
    written = [ops[0].attrs["place"] for ops in touching.values() if any(op.opdef is not LOAD for op in ops)]
    # one thread runs all iterations
    exclusive: dict[Op, str] = dict.fromkeys((op for op in body.walk() if op.attrs.get("sums") == "ordered"), "")
    for ops in touching.values():
        updates = [op for op in ops if op.attrs.get("sums") == "own"]
        if updates:
            place: Place = updates[0].attrs["place"]
            alone = _alone(e, place, [other for other in written if may_overlap(place, other)])
            exclusive.update(dict.fromkeys(updates, alone))
    if e.target.shares and not e.frame.debug:
        shared = [op for op in body.walk() if op.attrs.get("sums") in ("tiled", "private")]
        exclusive.update((op, "%apart" if needs_atomics(op, body, analyses) else "") for op in shared)
    return exclusive


def needs_atomics(op: Op, body: Region, analyses: Analyses) -> bool:
    """Whether there must be an atomic version of a tiled or private update, beside the plain one.

    Where arrays overlap, or there are few rows, a tiled loop runs on one thread, unless its iterations may be long.
    """
    return op.attrs["sums"] == "private" or analyses.get(contains_loop, body)


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
