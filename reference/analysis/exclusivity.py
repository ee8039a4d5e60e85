"""Exclusive access: atomic updates of a parallel loop whose elements no other iteration of it touches.

That is so where every access of the loop to a place has, on some axis for each index of the loop, one and the same
value that is different in every iteration: `x[i] += v`, however often, but not beside `x[i + 1]`. Places that the
caller hands in may overlap others that the loop writes to: whether they do is seen when the task runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir.ops import ATOMIC, SHAPE
from ..ir.scalar_ops import ADD, CAST, CONST, NEG, SUB
from ..ir.structure import Op, Place, Region, Value

__all__ = ["by_place", "exclusive_updates", "may_overlap"]


def exclusive_updates(loop: Op, header: Sequence[Op], touching: Mapping[str, list[Op]]) -> set[Op]:
    """The atomics of a `parallel_for` that need not be atomic, if their places overlap no other that it writes.

    Args:
        loop: the loop.
        header: the ops in front of it, whose results are the same in every iteration.
        touching: the accesses of its body, by the names of their places.
    """
    moves = _moves(loop, {v for op in header for v in op.results})
    exclusive: set[Op] = set()
    for ops in touching.values():
        updates = [op for op in ops if op.opdef is ATOMIC]
        if updates and _is_exclusive(ops, loop, moves):
            exclusive.update(updates)
    return exclusive


def by_place(body: Region) -> dict[str, list[Op]]:
    """Per place, the ops that touch its memory."""
    touching: dict[str, list[Op]] = {}
    for op in body.walk():
        place = op.attrs.get("place")
        if place is not None and op.opdef is not SHAPE:
            touching.setdefault(place.name, []).append(op)
    return touching


def may_overlap(a: Place, b: Place) -> bool:
    """Whether two places may share memory: the caller may pass any field's or ndarray's memory as an ndarray."""
    kinds = {a.kind, b.kind}
    return a != b and "ndarray" in kinds and kinds <= {"ndarray", "field"}


def _is_exclusive(ops: list[Op], loop: Op, moves: dict[Value, Value]) -> bool:
    """Whether each index of the loop decides an index of all accesses to a place."""
    rank = ops[0].attrs["place"].rank
    columns = [{op.operands[axis] for op in ops} for axis in range(rank)]
    decided = {moves.get(column.pop()) for column in columns if len(column) == 1}
    return decided.issuperset(loop.regions[0].args)


def _moves(loop: Op, fixed: set[Value]) -> dict[Value, Value]:
    """The values that are an injective function of one index of the loop -> that index."""
    moves = {arg: arg for arg in loop.regions[0].args}
    for op in loop.regions[0].walk():
        if op.opdef is CONST:
            fixed.add(op.result)
        moved = [v for v in op.operands if v not in fixed]
        if len(moved) == 1 and moved[0] in moves and _keeps_apart(op):
            moves[op.result] = moves[moved[0]]
    return moves


def _keeps_apart(op: Op) -> bool:
    """Whether different numbers give different results, around the end of the type as well."""
    if op.opdef is CAST:
        to, source = op.result.dtype, op.operands[0].dtype
        return to.kind in "iu" and source.kind in "iu" and to.bits >= source.bits
    return op.opdef in (ADD, SUB, NEG) and op.result.dtype.kind in "iu"
