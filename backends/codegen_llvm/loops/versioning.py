"""Loops in two: a quick one for as long as all goes as usual, and the whole one for what is left.

The quick loop runs several turns at once, without the rare sides of math functions and without looking whether adstacks
are full: how many turns these have room for is computed before. Where something rare comes, it ends with what it had
before the turns that it is in, and the whole loop goes on from there. Threads of a device that go together then have no
branch in their turns, and constants and addresses stay in registers, which a call would have cost.
"""

from __future__ import annotations

from collections.abc import Sequence

from adstack.analysis.evenly import Evenly
from adstack.analysis.loop_versioning import FastLoop, fast_loop
from adstack.ir.structure import Op, Region, Value
from adstack.ir.types import DType, i64

from ..adstacks.counted import KEPT, slot_of
from ..function.phis import Phis
from ..function.region import Hurry, RegionEmitter
from ..text.scalar_ops import emit
from ..text.writer import any_of, type_text

__all__ = ["skim"]

_MOST = str(2**63 - 1)
"""Turns that no stack limits."""


def skim(e: RegionEmitter, op: Op, start: Sequence[str]) -> list[str]:
    """Run what can be run quickly of a `for`; gives what is to start with then, in the block that is open then.

    Args:
        e: writes the code around the loop.
        op: the loop.
        start: its first index, and what it carries.
    """
    if e.task is None or e.task.debug or not e.target.quick or e.lanes > 1:
        return list(start)
    version = fast_loop(op, e.kept)
    if version is None:
        return list(start)
    line = _Line(e, op)
    slots = dict.fromkeys((o.operands[0], o.operands[1]) for o in op.regions[0].walk() if o.name in KEPT)
    if any(line.slope(index) is None for _, index in slots):
        return list(start)
    return _Quick(e, op, version, line, list(slots)).loop(start)


class _Quick:
    """Writes one quick loop.

    Args:
        e: writes the code around it.
        op: the loop.
        how: it runs.
        line: knows which integers grow evenly.
        slots: the adstacks that it touches, and at which indices.
    """

    def __init__(
        self, e: RegionEmitter, op: Op, how: FastLoop, line: _Line, slots: Sequence[tuple[Value, Value]]
    ) -> None:
        self.e, self.how, self.line, self.slots = e, how, line, slots
        self.body: Region = op.regions[0]
        self.hi = op.operands[1]
        self.rest = e.label("rest")
        self.sources: list[tuple[Sequence[str], str]] = []

    def loop(self, start: Sequence[str]) -> list[str]:
        """Write it; gives what the whole loop is to start with."""
        e, args, index = self.e, self.body.args, self.body.args[0]
        ty, inside, turns = e.form(index), e.label("quick"), self._turns()
        count = turns if index.dtype.bits == 64 else e.w.let(f"trunc i64 {turns} to {ty}")
        stop = e.w.let(f"add {ty} {start[0]}, {count}")
        first = [slot_of(e, e.kept[stack], self.line.first(at)) for stack, at in self.slots]
        self.sources.append((start, e.block))
        phis = Phis(e, [*args, *("ptr" for _ in first)], [*start, *first])
        e.split(e.w.let(f"icmp ne i64 {turns}, 0"), inside, self.rest)
        phis.enter(inside)
        names, hurry = phis.names, Hurry()
        for turn in range(self.how.unroll):
            names = self._turn(hurry, names, phis.names if turn == self.how.unroll - 1 else None)
        self.sources.append((names[: len(args)], e.block))
        phis.close(names)
        e.split(e.w.let(f"icmp ne {ty} {names[0]}, {stop}"), inside, self.rest)
        e.enter(self.rest)
        return [self._joined(arg, k) for k, arg in enumerate(args)]

    def _joined(self, arg: Value, k: int) -> str:
        pairs = ", ".join(f"[ {given[k]}, %{block} ]" for given, block in self.sources)
        return self.e.w.let(f"phi {self.e.form(arg)} {pairs}")

    def _turn(self, hurry: Hurry, names: Sequence[str], before: Sequence[str] | None) -> list[str]:
        """One turn; gives what the next one has. In the last of those at once it looks whether there was a doubt: then
        all is as it was `before` them.
        """
        e, body = self.e, self.body
        carried = len(body.args)
        for arg, name in zip(body.args, names[:carried], strict=True):
            e.bind(arg, name)
        hurry.slots = dict(zip(self.slots, names[carried:], strict=True))
        e.hurry = hurry
        for k, op in enumerate(body.ops):
            if before is not None and k == self.how.check:
                self._look(hurry, before[:carried])
            if op is not body.terminator:
                e.op(op)
        e.hurry = None
        index = body.args[0]
        step = e.w.let(f"add {e.form(index)} {names[0]}, {e.w.constant(1, index.dtype, 1)}")
        following = [self._following(*slot, name) for slot, name in zip(self.slots, names[carried:], strict=True)]
        return [step, *(e.scalar(v) for v in body.terminator.operands), *following]

    def _look(self, hurry: Hurry, before: Sequence[str]) -> None:
        e, fine = self.e, self.e.label("fine")
        doubt = any_of(e.w, hurry.doubts)
        self.sources.append((before, e.block))
        e.split(doubt, self.rest, fine, rare=True)
        e.enter(fine)

    def _following(self, stack: Value, index: Value, pointer: str) -> str:
        """The slot of the next turn."""
        e, slope = self.e, self.line.slope(index)
        stride = e.kept[stack].stride
        if slope == 0:
            return pointer
        if slope == -1:
            stride = f"-{stride}" if stride.isdigit() else e.w.let(f"sub i64 0, {stride}")
        return e.w.let(f"getelementptr i8, ptr {pointer}, i64 {stride}")

    def _turns(self) -> str:
        """How many turns there are, a multiple of those at once, in which every slot that is touched is there."""
        e, room = self.e, self.line.turns(self.hi)
        for capacity, index in dict.fromkeys((e.kept[stack].group.capacity, index) for stack, index in self.slots):
            first = self.line.first(index)
            if self.line.slope(index) == 1:
                fits = e.w.intrinsic("llvm.usub.sat.i64", "i64", [("i64", capacity), ("i64", first)])
            else:
                inside = e.w.let(f"icmp ult i64 {first}, {capacity}")
                most = e.w.let(f"add i64 {first}, 1") if self.line.slope(index) == -1 else _MOST
                fits = e.w.let(f"select i1 {inside}, i64 {most}, i64 0")
            room = e.w.intrinsic("llvm.umin.i64", "i64", [("i64", room), ("i64", fits)])
        return room if self.how.unroll == 1 else e.w.let(f"and i64 {room}, {-self.how.unroll}")


class _Line(Evenly):
    """What integers that grow evenly are in the first turn, and how many turns there are."""

    def __init__(self, e: RegionEmitter, op: Op) -> None:
        (body,) = op.regions
        super().__init__(body)
        self.e, self.lo = e, op.operands[0]
        self._first: dict[Value, str] = {}

    def first(self, value: Value) -> str:
        """What it is in the first turn, as an i64."""
        return self._widened(value.dtype, self._at_start(value))

    def turns(self, hi: Value) -> str:
        """How many there are, if there is one; else 0."""
        e, dtype = self.e, hi.dtype
        ty = type_text(dtype, 1)
        some = e.w.let(f"icmp {'slt' if dtype.is_signed else 'ult'} {ty} {e.scalar(self.lo)}, {e.scalar(hi)}")
        count = e.w.let(f"sub {ty} {e.scalar(hi)}, {e.scalar(self.lo)}")
        wide = count if dtype.bits == 64 else e.w.let(f"zext {ty} {count} to i64")
        return e.w.let(f"select i1 {some}, i64 {wide}, i64 0")

    def _at_start(self, value: Value) -> str:
        e = self.e
        if value is self.index:
            return e.scalar(self.lo)
        op = self.made.get(value)
        if op is None or e.is_constant(value):
            return e.scalar(value)
        if op.name == "const":
            return e.w.constant(op.attrs["value"], value.dtype, 1)
        if value not in self._first:
            types = tuple(v.dtype for v in op.operands)
            args = tuple(self._at_start(v) for v in op.operands)
            self._first[value] = emit(e.w, 1, op.name, value.dtype, types, args)
        return self._first[value]

    def _widened(self, dtype: DType, name: str) -> str:
        if dtype.bits == 64:
            return name
        word = "sext" if dtype.is_signed else "zext"
        return self.e.w.let(f"{word} {type_text(dtype, 1)} {name} to {type_text(i64, 1)}")
