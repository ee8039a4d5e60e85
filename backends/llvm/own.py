"""Atomic updates of elements that no other iteration touches: they load, combine and store like any other access.

That is so where every access of the loop to a place has, on some axis for each index of the loop, one and the same
value that is different in every iteration: `x[i] += v`, however often, but not beside `x[i + 1]`. Places that the
caller hands in may overlap others that the loop writes to: whether they do is seen when the task runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.ir.structure import Op, Place, Value

from .gathering import by_place, may_overlap
from .region import RegionEmitter

__all__ = ["prepare"]


def prepare(e: RegionEmitter, loop: Op, header: Sequence[Op]) -> dict[Op, str]:
    """The atomics of a `parallel_for` that need not be atomic -> an i1 that says whether so it is; "" if it always is.

    To be called between the header and the loop: the i1s are computed here.
    """
    touching = by_place(loop.regions[0])
    moves = _moves(loop, {v for op in header for v in op.results})
    found: dict[Op, str] = {}
    written = [ops[0].attrs["place"] for ops in touching.values() if any(op.name != "load" for op in ops)]
    for ops in touching.values():
        updates = [op for op in ops if op.name == "atomic"]
        if updates and _is_own(ops, loop, moves):
            place: Place = updates[0].attrs["place"]
            found.update(dict.fromkeys(updates, _alone(e, place, [p for p in written if may_overlap(place, p)])))
    return found


def _is_own(ops: list[Op], loop: Op, moves: dict[Value, Value]) -> bool:
    """Whether each index of the loop decides an index of all accesses to a place."""
    rank = ops[0].attrs["place"].rank
    columns = [{op.operands[axis] for op in ops} for axis in range(rank)]
    decided = {moves.get(column.pop()) for column in columns if len(column) == 1}
    return decided.issuperset(loop.regions[0].args)


def _moves(loop: Op, fixed: set[Value]) -> dict[Value, Value]:
    """The values that are an index of the loop, moved by what is fixed or made wider -> that index."""
    found = {arg: arg for arg in loop.regions[0].args}
    for op in loop.regions[0].walk():
        if op.name == "const":
            fixed.add(op.result)
        moved = [v for v in op.operands if v not in fixed]
        if len(moved) == 1 and moved[0] in found and _keeps_apart(op):
            found[op.result] = found[moved[0]]
    return found


def _keeps_apart(op: Op) -> bool:
    """Whether different numbers give different results, around the end of the type as well."""
    if op.name == "cast":
        to, source = op.result.dtype, op.operands[0].dtype
        return to.kind in "iu" and source.kind in "iu" and to.bits >= source.bits
    return op.name in ("add", "sub", "neg") and op.result.dtype.kind in "iu"


def _alone(e: RegionEmitter, place: Place, others: list[Place]) -> str:
    """Whether a place's memory lies apart from that of all others."""
    alone = ""
    start, end = _span(e, place) if others else ("", "")
    for other in others:
        first, last = _span(e, other)
        before, behind = e.w.let(f"icmp ule i64 {end}, {first}"), e.w.let(f"icmp uge i64 {start}, {last}")
        apart = e.w.let(f"or i1 {before}, {behind}")
        alone = e.w.let(f"and i1 {alone}, {apart}") if alone else apart
    return alone


def _span(e: RegionEmitter, place: Place) -> tuple[str, str]:
    """Where a place's memory begins and ends."""
    start = e.w.let(f"ptrtoint ptr {e.frame.pointers[place.name]} to i64")
    size = str(place.dtype.size)
    for axis in range(place.rank):
        size = e.w.let(f"mul i64 {size}, {e.extent(place, axis, 1)}")
    return start, e.w.let(f"add i64 {start}, {size}")
