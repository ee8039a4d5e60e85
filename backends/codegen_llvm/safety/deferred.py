"""Guarded accesses by a thread of a device: their reports follow where straight-line code ends.

The access alone is in a branch, which assemblers make a predicate of: loads that stand beside each other are on their
way at the same time. With the report beside it, threads would part at each access. One more branch, which is hardly
ever taken, reports the first of several accesses that was outside. Those of the sides of an `if` are reported behind
it, and loads in them are without branches: assemblers make a predicate of its condition, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from adstack.ir.def_use import defined_in
from adstack.ir.ops import CALL, LOAD, SERIAL_LOOPS
from adstack.ir.structure import Op, Region, Value

from ..function.region import Pending, RegionEmitter
from ..text.writer import any_of
from .accesses import compared, indices_of, is_out
from .notes import report

__all__ = ["Deferred", "deferred", "lift"]

Access = Callable[[], str | None]
_MOST: Final = 32
"""Accesses with different indices that are reported together."""


def deferred(e: RegionEmitter, op: Op, access: Access) -> str | None:
    """An access, which gives 0 and does nothing where it is outside; that is reported later."""
    pending = _pending(e)
    if len(pending.outside) >= _MOST:
        e.settle()
        pending = _pending(e)
    bad = pending.is_outside(e, op)
    if pending.in_branch and op.opdef is LOAD and all(op.attrs["place"].shape):  # what a launch decides may be 0
        return _selected(e, op, bad, access)
    fine, after, before = e.label("inside"), e.label("guarded"), e.block
    e.split(bad, after, fine, unlikely=True)
    e.enter(fine)
    name, there = access(), e.block
    e.jump(after)
    e.enter(after)
    if name is None:
        return None
    return e.w.let(f"phi {e.form(op.result)} [ {name}, %{there} ], [ zeroinitializer, %{before} ]")


def _selected(e: RegionEmitter, op: Op, bad: str, access: Access) -> str:
    """A load that reads the first element instead where it is outside, and gives 0."""
    outer, e.aside = e.aside, (f"i1 {e.w.let(f'xor i1 {bad}, true')}", e.frame.pointers[op.attrs["place"].name])
    name, form = access(), e.form(op.result)
    e.aside = outer
    return e.w.let(f"select i1 {bad}, {form} zeroinitializer, {form} {name}")


def lift(e: RegionEmitter, sides: Sequence[tuple[Region, Pending | None, str]]) -> None:
    """Leave what the sides of an `if` have to report to the code behind it; the next instruction may be a phi.

    Args:
        e: writes the code behind the `if`.
        sides: the region of each, what it has to report, and the block that it ends in.
    """
    lifted = list[tuple[Op, str]]()
    for (region, pending, block), (*_, other) in zip(sides, reversed(sides), strict=True):
        if not isinstance(pending, Deferred):
            continue
        own = defined_in(region)
        for op, bad in pending.outside.values():
            lifted.append((op, e.w.let(f"phi i1 [ {bad}, %{block} ], [ false, %{other} ]")))
        indices = dict.fromkeys(index for op, _ in pending.outside.values() for index in indices_of(op))
        for index in indices:
            if index in own and not e.is_constant(index):
                form = e.form(index)
                e.bind(index, e.w.let(f"phi {form} [ {e.scalar(index)}, %{block} ], [ poison, %{other} ]"))
    if lifted:
        outside = _pending(e).outside
        outside.update({compared(e, op): (op, bad) for op, bad in lifted})


def _pending(e: RegionEmitter) -> Deferred:
    """The accesses that the next one is reported with."""
    if not isinstance(e.pending, Deferred):
        e.settle()
        e.pending = Deferred()
    return e.pending


class Deferred:
    """Accesses of straight-line code whose reports are still to be written.

    Args:
        in_branch: whether the code is a side of an `if`.

    Attributes:
        outside: the first access with the same indices and extents, and whether it is outside (i1).
    """

    def __init__(self, *, in_branch: bool = False) -> None:
        self.in_branch = in_branch
        self.outside: dict[tuple[tuple[Value, str], ...], tuple[Op, str]] = {}

    def is_outside(self, e: RegionEmitter, op: Op) -> str:
        """Whether an access is outside; one with the indices of an earlier one is where that was, which is told."""
        pairs = compared(e, op)
        if pairs not in self.outside:
            self.outside[pairs] = op, is_out(e, pairs, 1)
        return self.outside[pairs][1]

    def waits_for(self, op: Op) -> bool:
        """See `Pending.waits_for`: not for loops, nor where what is guarded inside of regions can't wait."""
        inner = [one for region in op.regions for one in region.walk()]
        guarded = sum("guarded" in one.attrs for one in inner)
        if op.opdef in (CALL, *SERIAL_LOOPS) or any(one.opdef in SERIAL_LOOPS for one in inner):
            return False
        return not guarded or (len(self.outside) + guarded <= _MOST and not any(map(_reports_at_once, inner)))

    def settle(self, e: RegionEmitter) -> None:
        """Report the first one that was outside."""
        if not self.outside:
            return
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


def _reports_at_once(op: Op) -> bool:
    """Whether what comes before an op is reported in front of it."""
    return op.opdef is CALL or op.attrs.get("sums") == "subgroup"
