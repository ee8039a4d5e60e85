"""Loop versioning: a fast version of a loop in front of the full one, which runs what the fast one leaves.

The fast version runs several iterations at once, and what is left of them one by one, without the cold paths of math
functions, without comparing adstacks with their capacity, and without guards (see `unguarded`): in how many iterations
slots, and indices that change by the same number each time, are in bounds is computed in front of it. Where a cold path
should have been taken, or another index was out of bounds, it ends with the values from before these iterations, and
the full loop goes on from there. Threads of a device that run together then have no branches in these iterations, and
constants and addresses stay in registers, which calls of the cold paths would have cost. Nor do they part: around the
atomic operations that report an adstack without room, which only the full loop has, NVIDIA's assembler lets threads of
a warp go on without each other, and they do not meet again. Which loops have a fast version is decided in
`adstack.analysis.loop_versioning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adstack.analysis.loop_versioning import FastLoop, fast_loop
from adstack.ir.structure import Op, Region, Value

from ..adstacks.counted import COUNTED_OPS, slot_of
from ..function.phis import Phis
from ..function.region import FastPath, RegionEmitter
from ..text.writer import any_of
from .induction import Induction
from .unguarded import NARROWEST, Unguarded, unguarded

__all__ = ["run_fast_version"]

_UNLIMITED = str(2**63 - 1)
"""Iterations, where no stack limits them."""


def run_fast_version(e: RegionEmitter, op: Op, start: Sequence[str]) -> list[str]:
    """Run as many iterations of a `for` as possible in a fast version; gives what the full loop is to start with.

    The block that is open afterwards is the one in front of the full loop.

    Args:
        e: writes the code around the loop.
        op: the loop.
        start: its first index, and what it carries.
    """
    if e.task is None or e.task.debug or e.task.seldom or not e.target.loop_versions or e.lanes > 1:
        return list(start)
    guards = unguarded(e, op)
    version = fast_loop(op, e.counted, unguarded=bool(guards.in_bounds), clamped=guards.clamped)
    if version is None:
        return list(start)
    induction = Induction(e, op, start[0])
    slots = dict.fromkeys((o.operands[0], o.operands[1]) for o in op.regions[0].walk() if o.opdef in COUNTED_OPS)
    if any(induction.step(index) is None for _, index in slots):
        return list(start)
    names = _FastVersion(e, op, version, induction, list(slots), guards).loop(start)
    if version.unroll == 1:
        return names
    one = replace(version, unroll=1)
    return _FastVersion(e, op, one, Induction(e, op, names[0]), list(slots), guards).loop(names)


class _FastVersion:
    """Writes the fast version of one loop.

    Args:
        e: writes the code around it.
        op: the loop.
        plan: how many iterations it runs at once, and where it checks for misses.
        induction: the induction values of the loop.
        slots: the adstacks that it touches, and at which indices: all of these are induction values.
        guards: what it does without.
    """

    def __init__(
        self,
        e: RegionEmitter,
        op: Op,
        plan: FastLoop,
        induction: Induction,
        slots: Sequence[tuple[Value, Value]],
        guards: Unguarded,
    ) -> None:
        self.e, self.plan, self.induction, self.slots = e, plan, induction, slots
        self.guards, self.op = guards, op
        self.body: Region = op.regions[0]
        self.hi = op.operands[1]
        self.rest = e.label("rest")
        self.sources: list[tuple[Sequence[str], str]] = []

    def loop(self, start: Sequence[str]) -> list[str]:
        """Write it; gives what the full loop is to start with."""
        e, args, index = self.e, self.body.args, self.body.args[0]
        ty, inside, trips = e.form(index), e.label("fast"), self._trip_count()
        count = trips if index.dtype.bits == 64 else e.w.let(f"trunc i64 {trips} to {ty}")
        stop = e.w.let(f"add {ty} {start[0]}, {count}")
        first = [slot_of(e, e.counted[stack], self.induction.first(at)) for stack, at in self.slots]
        self.sources.append((start, e.block))
        phis = Phis(e, [*args, *("ptr" for _ in first)], [*start, *first])
        e.split(e.w.let(f"icmp ne i64 {trips}, 0"), inside, self.rest)
        phis.enter(inside)
        names, fast_path = phis.names, FastPath(in_bounds=self.guards.in_bounds, clamped=self.plan.clamped)
        for k in range(self.plan.unroll):
            names = self._iteration(fast_path, names, phis.names if k == self.plan.unroll - 1 else None)
        self.sources.append((names[: len(args)], e.block))
        phis.close(names)
        e.split(e.w.let(f"icmp ne {ty} {names[0]}, {stop}"), inside, self.rest)
        e.enter(self.rest)
        return [self._joined(arg, k) for k, arg in enumerate(args)]

    def _joined(self, arg: Value, k: int) -> str:
        pairs = ", ".join(f"[ {names[k]}, %{block} ]" for names, block in self.sources)
        return self.e.w.let(f"phi {self.e.form(arg)} {pairs}")

    def _iteration(self, fast_path: FastPath, names: Sequence[str], before: Sequence[str] | None) -> list[str]:
        """One iteration of the original loop; gives the names that the next one starts with.

        `before`: in the last of the iterations that run at once, the names from before them, with which the full loop
        goes on if there was a miss; None in the others.
        """
        e, body = self.e, self.body
        carried = len(body.args)
        for arg, name in zip(body.args, names[:carried], strict=True):
            e.bind(arg, name)
        fast_path.slots = dict(zip(self.slots, names[carried:], strict=True))
        e.fast_path = fast_path
        outer, e.current = e.current, body
        for k, op in enumerate(body.ops):
            if before is not None and k == self.plan.check:
                self._check(fast_path, before[:carried])
            if op is not body.terminator:
                e.op(op)
        e.settle()
        e.fast_path, e.current = None, outer
        index = body.args[0]
        step = e.w.let(f"add {e.form(index)} {names[0]}, {e.w.constant(1, index.dtype, 1)}")
        following = [self._following(*slot, name) for slot, name in zip(self.slots, names[carried:], strict=True)]
        return [step, *(e.scalar(v) for v in body.terminator.operands), *following]

    def _check(self, fast_path: FastPath, before: Sequence[str]) -> None:
        e, fine = self.e, self.e.label("fine")
        missed = any_of(e.w, fast_path.misses)
        self.sources.append((before, e.block))
        e.split(missed, self.rest, fine, unlikely=True)
        e.enter(fine)

    def _following(self, stack: Value, index: Value, pointer: str) -> str:
        """A pointer to the slot that the next iteration touches."""
        e, slope = self.e, self.induction.step(index)
        stride = e.counted[stack].stride
        if slope == 0:
            return pointer
        if slope == -1:
            stride = f"-{stride}" if stride.isdigit() else e.w.let(f"sub i64 0, {stride}")
        return e.w.let(f"getelementptr i8, ptr {pointer}, i64 {stride}")

    def _trip_count(self) -> str:
        """How many iterations the fast version runs, a multiple of those at once: in all, slots are in bounds."""
        e, room = self.e, self.induction.trip_count(self.hi)
        for capacity, index in dict.fromkeys((e.counted[stack].group.capacity, index) for stack, index in self.slots):
            room = self._within(room, self.induction, capacity, index)
        narrow = Induction(e, self.op, self.induction.start, NARROWEST)
        for index, limit in self.guards.below(e):
            room = self._within(room, narrow, limit, index)
        for extent in self.guards.extents(e) if self.plan.clamped else ():
            room = e.w.let(f"select i1 {e.w.let(f'icmp eq i64 {extent}, 0')}, i64 0, i64 {room}")
        return room if self.plan.unroll == 1 else e.w.let(f"and i64 {room}, {-self.plan.unroll}")

    def _within(self, room: str, induction: Induction, limit: str, index: Value) -> str:
        """The lesser of a number of iterations and of how many come first in which an induction value is at least 0,
        and below a limit.
        """
        e, first, step = self.e, induction.first(index), induction.step(index)
        if step == 1:
            fits = e.w.intrinsic("llvm.usub.sat.i64", "i64", [("i64", limit), ("i64", first)])
        else:
            inside = e.w.let(f"icmp ult i64 {first}, {limit}")
            most = e.w.let(f"add i64 {first}, 1") if step == -1 else _UNLIMITED
            fits = e.w.let(f"select i1 {inside}, i64 {most}, i64 0")
        return e.w.intrinsic("llvm.umin.i64", "i64", [("i64", room), ("i64", fits)])
