"""Tiled tasks: blocks of rows of the outermost index, the even ones, then the odd ones.

Two blocks that touch the same elements do not run at the same time, so that updates are loads and stores. Where the
blocks are depends on the loop alone, not on how many threads there are, and so do the sums, to the bit.
"""

from __future__ import annotations

from typing import Final

from adstack.analysis.accumulation import rows_between
from adstack.analysis.loop_nests import contains_loop

from .sharing import APART, EVERY, PHASE, STEP, TOTAL, Share, updates_of

__all__ = ["Tiles"]

_TILES: Final = 32
"""Blocks of a loop, at least, if there are rows enough."""
_ENOUGH: Final = 16
"""Blocks from which on threads are busy."""
_LONG: Final = 1 << 20
"""Iterations of a block, at most: signals are looked at between blocks."""


class Tiles(Share):
    """A task in blocks of rows."""

    def functions(self) -> list[str]:
        """See `Share.functions`."""
        self._blocks()
        return super().functions()

    def _blocks(self) -> None:
        """`taskN.blocks(ctx, begin, end, seat)` runs blocks of a phase."""
        w = self.w
        step, total, every, phase = (self.take("%ctx", word) for word in (STEP, TOTAL, EVERY, PHASE))
        w.do("br label %head")
        w.label("head")
        w.do("%block = phi i64 [ %begin, %entry ], [ %next, %run ]")
        self.split(w.let("icmp slt i64 %block, %end"), "run", "done")
        w.label("run")
        number = self.i64("add", self.i64("mul", "%block", every), phase)
        first = self.i64("mul", number, step)
        last = self.most("smin", self.i64("add", first, step), total)
        w.do(f"call void @{self.symbol}(ptr %ctx, i64 {first}, i64 {last}, i64 %seat)")
        w.do("%next = add i64 %block, 1")
        w.do("br label %head")
        w.label("done")
        w.do("ret void")
        self.define(f'define internal void @"{self.symbol}.blocks"(ptr %ctx, i64 %begin, i64 %end, i64 %seat) #0')

    def share(self, own: str) -> None:
        """See `Share.share`."""
        w, span = self.w, rows_between(self.task, self.analyses)
        self.put(own, APART, "1")
        apart = self.apart([op.attrs["place"] for op in updates_of(self.task, "tiled")])
        self.split(apart, "size", "shared")
        w.label("size")
        row = self.most("smax", w.let(f'call i64 @"{self.symbol}.row"(ptr %ctx)'), "1")
        rows = w.let(f"udiv i64 {self.most('smax', '%total', '0')}, {row}")
        even = self._quotient(rows, _TILES)
        few = self.most("smax", w.let(f"udiv i64 {_LONG}, {row}"), "1")
        block = self.most("smax", self.most("smin", even, few), str(max(span, 1)))
        step = w.let(f"mul i64 {block}, {row}")
        blocks = self._quotient(rows, block)
        self._few(own)
        self.split(w.let(f"icmp sge i64 {blocks}, {_ENOUGH}"), "tile", "coarse")
        w.label("coarse")
        self.split(w.let(f"icmp eq i64 {self.workers()}, 0"), "alone", "shared")
        w.label("tile")
        every = 2 if span else 1
        for word, value in ((STEP, step), (TOTAL, "%total"), (EVERY, str(every))):
            self.put(own, word, value)
        least = "-1" if self.grain < 0 else w.let(f"udiv i64 {self.grain}, {step}")
        for phase in range(every):
            self._phase(own, phase, self._quotient(self.i64("sub", blocks, phase), every), least)
        w.do("ret i32 0")
        self._otherwise(own)

    def _few(self, own: str) -> None:
        """A short loop runs here, as it is."""
        if self.grain < 0:
            return
        w = self.w
        self.split(w.let(f"icmp sle i64 %total, {self.grain}"), "few", "many")
        w.label("few")
        w.do(f"ret i32 {self.call(self.symbol, own, '%total', '%total', '1')}")
        w.label("many")

    def _phase(self, own: str, phase: int, count: str, least: str) -> None:
        self.put(own, PHASE, str(phase))
        status = self.call(f"{self.symbol}.blocks", own, count, least, "%seats")
        self.split(self.w.let(f"icmp eq i32 {status}, 0"), f"ran{phase}", f"stopped{phase}")
        self.w.label(f"stopped{phase}")
        self.w.do(f"ret i32 {status}")
        self.w.label(f"ran{phase}")

    def _otherwise(self, own: str) -> None:
        """Arrays overlap, or there are too few rows: atomics, where there are any, or one thread."""
        w = self.w
        w.label("shared")
        if self.analyses.get(contains_loop, self.body):
            self.put(own, APART, "0")
            w.do(f"ret i32 {self.call(self.symbol, own, '%total', str(self.grain), '%seats')}")
        else:
            w.do("br label %alone")
        w.label("alone")
        w.do(f"ret i32 {self.call(self.symbol, own, '%total', str(self.grain), '1')}")

    def _quotient(self, a: str, by: str | int) -> str:
        """a divided by `by`, rounded up."""
        return self.i64("udiv", self.i64("add", a, self.i64("sub", by, 1)), by)
