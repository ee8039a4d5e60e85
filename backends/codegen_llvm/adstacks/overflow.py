"""The record of adstacks that overflow."""

from __future__ import annotations

from ..function.values import FunctionWriter

__all__ = ["record_overflow"]


def record_overflow(e: FunctionWriter, scope: str, site: int, capacity: str, wanted: str) -> None:
    """Record that a stack was asked for more than its capacity.

    The first stack to overflow owns the record {site + 1, capacity, depth}, which keeps the largest depth.

    Args:
        e: writes the function.
        scope: of the target's atomic operations.
        site: the number of the stack.
        capacity: of the stack (i64).
        wanted: the depth that was asked for (i64).
    """
    first = e.w.let(f"cmpxchg ptr %overflow, i64 0, i64 {site + 1}{scope} monotonic monotonic")
    owner = e.w.let(f"extractvalue {{ i64, i1 }} {first}, 0")
    fresh = e.w.let(f"icmp eq i64 {owner}, 0")
    mine = e.w.let(f"or i1 {fresh}, {e.w.let(f'icmp eq i64 {owner}, {site + 1}')}")
    keep, after = e.label("keep"), e.label("kept")
    e.split(mine, keep, after)
    e.enter(keep)
    for k, number in ((1, capacity), (2, wanted)):
        at = e.w.let(f"getelementptr i64, ptr %overflow, i64 {k}")
        e.w.let(f"atomicrmw max ptr {at}, i64 {number}{scope} monotonic, align 8")
    e.jump(after)
    e.enter(after)
