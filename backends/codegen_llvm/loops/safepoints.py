"""Long loops ask now and then whether to go on: a launch can be interrupted in the middle of a task.

A loop that counts its trips runs in spans, and asks after each: a trip costs nothing. Others count down. Spans of inner
loops are longer than those of outer ones, so that short inner loops don't make for long silence.
"""

from __future__ import annotations

from typing import Final

from adstack.analysis.loop_nests import loop_depth
from adstack.ir.structure import Op

from ..function.region import RegionEmitter

__all__ = ["ask", "countdown", "span_of", "tick"]

_SPANS: Final = (4096, 1024, 64, 8)
"""Trips between questions: of innermost loops, of those around them, and so on."""


def span_of(e: RegionEmitter, op: Op) -> int | None:
    """How many trips a loop runs before it asks; None if it need not."""
    if e.task is None or e.frame.poll is None:
        return None
    span = _SPANS[min(loop_depth(op), len(_SPANS) - 1)]
    if op.name == "for":
        lo, hi = (e.known(v) for v in op.operands[:2])
        if op.operands[0].dtype.bits < 32 or (lo is not None and hi is not None and hi - lo <= span):
            return None
    return span


def ask(e: RegionEmitter, on: str) -> None:
    """Ask; go on at a label, or leave the task."""
    at = e.w.let(f"getelementptr i64, ptr %ctx, i64 {e.frame.poll}")
    function = e.w.let(f"load ptr, ptr {at}, align 8")
    stop = e.w.let(f"call i1 {function}(i64 {e.frame.seat})")
    e.split(stop, "finish", on, rare=True)


def countdown(e: RegionEmitter, op: Op) -> str | None:
    """Before a loop whose trips nobody counts: the slot of its counter, if it is to ask."""
    span = span_of(e, op)
    if span is None:
        return None
    slot = e.frame.slot("i32", 4)
    e.w.do(f"store i32 {span}, ptr {slot}, align 4")
    return slot


def tick(e: RegionEmitter, op: Op, slot: str | None) -> None:
    """At the end of such a loop's body."""
    if slot is None:
        return
    less = e.w.let(f"sub i32 {e.w.let(f'load i32, ptr {slot}, align 4')}, 1")
    e.w.do(f"store i32 {less}, ptr {slot}, align 4")
    asking, on, over = e.label("asking"), e.label("on"), e.label("over")
    e.split(e.w.let(f"icmp eq i32 {less}, 0"), asking, on, rare=True)
    e.enter(asking)
    e.w.do(f"store i32 {span_of(e, op)}, ptr {slot}, align 4")
    ask(e, over)
    e.enter(over)
    e.jump(on)
    e.enter(on)
