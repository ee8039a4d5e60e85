"""Guarded accesses by a thread of a device: their reports follow where straight-line code ends.

The access alone is in a branch, which assemblers make a predicate of: loads that stand beside each other are on their
way at the same time. With the report beside it, threads would part at each access. One more branch, which is hardly
ever taken, reports the first of several accesses that was outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adstack.ir.ops import CALL, LOAD, SERIAL_LOOPS
from adstack.ir.structure import Op, Value

from ..function.region import RegionEmitter
from ..text.writer import any_of
from .accesses import compared, elsewhere, is_out
from .notes import report

__all__ = ["deferred"]

Access = Callable[[], str | None]
_MOST: Final = 32
"""Accesses with different indices that are reported together."""


def deferred(e: RegionEmitter, op: Op, access: Access) -> str | None:
    """An access, which gives 0 and does nothing where it is outside; that is reported later."""
    if not isinstance(e.pending, _Deferred) or len(e.pending.outside) == _MOST:
        e.settle()
        e.pending = _Deferred()
    bad = e.pending.is_outside(e, op)
    if op.opdef is LOAD and None not in op.attrs["place"].shape:
        return _first_instead(e, op, bad, access)
    fine, after, before = e.label("inside"), e.label("guarded"), e.block
    e.split(bad, after, fine, unlikely=True)
    e.enter(fine)
    name, there = access(), e.block
    e.jump(after)
    e.enter(after)
    if name is None:
        return None
    return e.w.let(f"phi {e.form(op.result)} [ {name}, %{there} ], [ zeroinitializer, %{before} ]")


def _first_instead(e: RegionEmitter, op: Op, bad: str, access: Access) -> str:
    """A load, of the first element of its place where it is outside, and 0 instead of that."""
    inside = e.w.let(f"xor i1 {bad}, true")
    name, form = elsewhere(e, f"i1 {inside}", e.frame.pointers[op.attrs["place"].name], access), e.form(op.result)
    return e.w.let(f"select i1 {inside}, {form} {name}, {form} zeroinitializer")


class _Deferred:
    """Accesses of straight-line code whose reports are still to be written.

    Attributes:
        outside: the first access with the same indices and extents, and whether it is outside (i1).
    """

    def __init__(self) -> None:
        self.outside: dict[tuple[tuple[Value, str], ...], tuple[Op, str]] = {}

    def is_outside(self, e: RegionEmitter, op: Op) -> str:
        """Whether an access is outside; one with the indices of an earlier one is where that was, which is told."""
        pairs = compared(e, op)
        if pairs not in self.outside:
            self.outside[pairs] = op, is_out(e, pairs, 1)
        return self.outside[pairs][1]

    def waits_for(self, op: Op) -> bool:
        """See `Pending.waits_for`: not for loops, nor for what is guarded inside of regions."""
        inner = (one for region in op.regions for one in (op, *region.walk()))
        return op.opdef is not CALL and not any(one.opdef in SERIAL_LOOPS or "guarded" in one.attrs for one in inner)

    def settle(self, e: RegionEmitter) -> None:
        """Report the first one that was outside."""
        fail, after = e.label("outside"), e.label("reported")
        e.split(any_of(e.w, [bad for _, bad in self.outside.values()]), fail, after, unlikely=True)
        e.enter(fail)
        *others, (last, _) = self.outside.values()
        for op, bad in others:
            this, following = e.label("report"), e.label("later")
            e.split(bad, this, following)
            e.enter(this)
            report(e, op)
            e.jump(after)
            e.enter(following)
        report(e, last)
        e.jump(after)
        e.enter(after)
