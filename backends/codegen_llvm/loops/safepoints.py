"""Safepoints: long loops poll now and then whether to go on, so that a launch can be interrupted within a task.

A loop with an index runs in spans of iterations and polls after each span, so the iterations themselves pay nothing.
Other loops count down. The spans of outer loops are shorter than those of the loops in them, so that a nest of short
loops does not go without a poll for long.
"""

from __future__ import annotations

from typing import Final

from adstack.analysis.loop_nests import loop_depth
from adstack.ir.ops import FOR
from adstack.ir.structure import Op

from ..function.region import RegionEmitter

__all__ = ["count_down", "poll", "polling_interval", "start_countdown"]

_INTERVALS: Final = (4096, 1024, 64, 8)
"""Iterations between polls: of innermost loops, of those around them, and so on."""


def polling_interval(e: RegionEmitter, loop: Op) -> int | None:
    """How many iterations a loop runs between polls; None if it need not poll."""
    if e.task is None or e.frame.poll is None:
        return None
    interval = _INTERVALS[min(loop_depth(loop), len(_INTERVALS) - 1)]
    if loop.opdef is FOR:
        lo, hi = (e.known(v) for v in loop.operands[:2])
        if loop.operands[0].dtype.bits < 32 or (lo is not None and hi is not None and hi - lo <= interval):
            return None
    return interval


def poll(e: RegionEmitter, go_on: str) -> None:
    """Ask the runtime whether to go on: jump to a label if so, or leave the task."""
    at = e.w.let(f"getelementptr i64, ptr %ctx, i64 {e.frame.poll}")
    function = e.w.let(f"load ptr, ptr {at}, align 8")
    stop = e.w.let(f"call i1 {function}(i64 {e.frame.seat})")
    e.split(stop, "finish", go_on, unlikely=True)


def start_countdown(e: RegionEmitter, loop: Op) -> str | None:
    """Set the counter of a loop without an index, in front of it; gives its slot, or None if the loop need not poll."""
    interval = polling_interval(e, loop)
    if interval is None:
        return None
    slot = e.frame.slot("i32", 4)
    e.w.do(f"store i32 {interval}, ptr {slot}, align 4")
    return slot


def count_down(e: RegionEmitter, loop: Op, slot: str | None) -> None:
    """Count an iteration at the end of a loop's body, and poll when the counter is at zero."""
    if slot is None:
        return
    less = e.w.let(f"sub i32 {e.w.let(f'load i32, ptr {slot}, align 4')}, 1")
    e.w.do(f"store i32 {less}, ptr {slot}, align 4")
    asking, go_on, polled = e.label("asking"), e.label("on"), e.label("over")
    e.split(e.w.let(f"icmp eq i32 {less}, 0"), asking, go_on, unlikely=True)
    e.enter(asking)
    e.w.do(f"store i32 {polling_interval(e, loop)}, ptr {slot}, align 4")
    poll(e, polled)
    e.enter(polled)
    e.jump(go_on)
    e.enter(go_on)
