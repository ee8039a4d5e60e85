"""Phases: what the threads of a block do between two waits, as loops over the threads.

Requires: the body of a parallel loop with `block.wait` in it, before mem2reg. Ensures: a loop over blocks without such
ops that does the same, the threads of a block one after another in each phase. What a thread keeps from one phase to
the next stands in arrays with an element for each thread, and loops and branches in which threads wait stand around
the loops over threads. There are no other ops than in any loop, so that every backend has it, and both modes of
differentiation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.ops import FOR, IF, WHILE, YIELD
from ...ir.scalar_ops import FLOORDIV, MAX, MIN, MOD
from ...ir.structure import Op, Region, Value
from ...ir.types import DType, i32, i64, u1
from . import cells
from .agreement import check_agreement
from .blocks import WAIT, Block
from .cells import Cell
from .common import Common
from .frames import Frames
from .segments import Segments

__all__ = ["loop_over_blocks"]

Bounds = Sequence[tuple[Value, Value]]


def loop_over_blocks(builder: Builder, block: Block, bounds: Bounds, body: Region) -> None:
    """Emit the parallel loop over blocks.

    Args:
        builder: where it goes.
        block: what its threads are.
        bounds: of the iterations, per axis.
        body: what a thread does; its arguments are the indices.

    Raises:
        AdstackSyntaxError: the threads of a block may not all come to where they wait.
    """
    extents = [_extent(builder, lo, hi) for lo, hi in bounds]
    size = extents[0]
    for extent in extents[1:]:
        size = builder.mul(size, extent)
    dim = builder.const(block.threads, i64)
    count = builder.emit(FLOORDIV, builder.add(size, builder.const(block.threads - 1, i64)), dim)
    _number(builder, block, bounds, extents, body)
    check_agreement(block, body)
    every = Region([block.number])
    with builder.into(every):
        left = builder.sub(size, builder.mul(block.number, builder.const(block.threads, i64)))
        threads = builder.cast(builder.emit(MIN, left, builder.const(block.threads, i64)), i32)
        _Phases(builder, block, body).emit(body)
        block.count.replace_all_uses_with(threads)
        builder.yield_()
    builder.parallel_for([(builder.const(0, i64), count)], every)


def _extent(builder: Builder, lo: Value, hi: Value) -> Value:
    length = builder.sub(builder.cast(hi, i64), builder.cast(lo, i64))
    return builder.emit(MAX, length, builder.const(0, i64))


def _number(builder: Builder, block: Block, bounds: Bounds, extents: Sequence[Value], body: Region) -> None:
    """Compute the indices of a thread's iteration at the start of its body, in place of the body's arguments."""
    start = Region()
    with builder.into(start):
        first = builder.mul(block.number, builder.const(block.threads, i64))
        rest = builder.add(first, builder.cast(block.thread, i64))
        steps: list[Value] = []
        for extent in reversed(extents[1:]):
            steps.append(builder.emit(MOD, rest, extent))
            rest = builder.emit(FLOORDIV, rest, extent)
        for arg, (lo, _), step in zip(body.args, bounds, (rest, *reversed(steps)), strict=True):
            index = builder.add(lo, builder.cast(step, lo.dtype))
            index.name = arg.name
            arg.replace_all_uses_with(index)
    body.args.clear()
    body.ops[:0] = start.ops


def _is_wait(op: Op) -> bool:
    return op.opdef is WAIT


def _name_threads(block: Block, body: Region) -> None:
    """Have variables that are the thread's number, and nothing else, be that number: no thread need keep them."""
    uses: dict[Cell, list[Op]] = {}
    for op in body.walk():
        if "cell" in op.attrs:
            uses.setdefault(op.attrs["cell"], []).append(op)
    gone: set[Op] = set()
    for first, *others in uses.values():
        is_number = first.opdef is cells.ALLOC and first.operands == (block.thread,)
        if is_number and all(op.opdef is cells.READ for op in others):
            gone.update((first, *others))
            for op in others:
                op.result.replace_all_uses_with(block.thread)
    _take_out(body, gone)


def _take_out(region: Region, gone: set[Op]) -> None:
    for op in region.ops:
        if op in gone:
            op.erase()
        for inner in op.regions:
            _take_out(inner, gone)
    region.ops = [op for op in region.ops if op not in gone]


class _Threads(Frames):
    """What each thread keeps; `depth` is the number of the present thread."""

    def __init__(self, builder: Builder, segments: Segments, block: Block, common: Common) -> None:
        super().__init__(builder, segments, block.threads)
        self.block, self.common = block, common

    def get(self, value: Value, user: Op) -> Value:
        """What an op is to use in place of an operand."""
        if value in self.common.values:
            return value
        return self.depth if value is self.block.thread else super().get(value, user)

    def stacked(self, name: str, dtype: DType, size: int) -> Cell:
        cell = super().stacked(name, dtype, size)
        cell.team = "shared"
        return cell

    def own(self, name: str, dtype: DType) -> Cell:
        """A new variable of each thread."""
        return self.stacked(name, dtype, 1)


class _Phases:
    """One loop's body."""

    def __init__(self, builder: Builder, block: Block, body: Region) -> None:
        self.b = builder
        self.block = block
        for cell in block.shared:
            cells.alloc(builder, cell, [])
        if block.debug:
            cells.alloc(builder, block.phase, [builder.const(1, i64)])
        _name_threads(block, body)
        self.common = Common(body, block.thread, Segments(_is_wait, body).spans)
        self.segments = Segments(_is_wait, body)
        for value in [value for value in self.segments.kept if value in self.common.values]:
            del self.segments.kept[value]
        for cell in [cell for cell in self.segments.crossing if cell in self.common.cells]:
            del self.segments.crossing[cell]
        self.frames = _Threads(builder, self.segments, block, self.common)
        loops = [op for op in self.segments.spans if isinstance(op, Op) and op.opdef is WHILE]
        loops = [op for op in loops if op.regions[0].terminator.operands[0] not in self.common.values]
        self.goes_on = {op: self.frames.own("goes_on", u1) for op in loops}
        self.cut: Final[dict[OpDef, Callable[[Op], None]]] = {
            WAIT: self._wait,
            IF: self._if,
            FOR: self._for,
            WHILE: self._while,
        }

    def emit(self, body: Region) -> None:
        """What a block does."""
        self._region(body)

    def _region(self, region: Region, last: Callable[[], None] | None = None) -> None:
        """The phases of a region; in the last one each thread does `last` as well."""
        phase: list[Op] = []
        for op in region.ops:
            if self.segments.is_cut(op):
                self._phase(phase)
                phase = []
                with self.b.at(op.loc):
                    self.cut[op.opdef](op)
                op.drop_uses()
            elif op in self.common.ops:
                self.b.region.ops.append(op)
            elif op.opdef is not YIELD:
                phase.append(op)
        self._phase(phase, last)

    @contextmanager
    def _each_thread(self) -> Iterator[None]:
        thread = Value(i32, "thread")
        body = Region([thread])
        with self.b.into(body):
            self.frames.depth = thread
            yield
            self.b.yield_()
        self.b.for_(self.b.const(0, i32), self.block.count, [], body, self.block.threads)

    def _phase(self, ops: list[Op], last: Callable[[], None] | None = None) -> None:
        if ops or last is not None:
            with self._each_thread():
                self.frames.emit(ops)
                if last is not None:
                    last()

    def _agreed(self, op: Op, position: int) -> Value:
        """An operand on which all threads agree: that of the first one."""
        self.frames.depth = self.b.const(0, i32)
        return self.frames.get(op.operands[position], op)

    def _wait(self, op: Op) -> None:
        phase = self.block.phase
        if self.block.debug and op.attrs["ends_phase"]:
            cells.write(self.b, phase, self.b.add(cells.read(self.b, phase), self.b.const(1, i64)))

    def _yields(self, region: Region, to: Callable[[int, Value], None]) -> Callable[[], None]:
        """What hands over the values that a region yields, in each thread."""
        terminator = region.terminator

        def hand_over() -> None:
            for k, value in enumerate(terminator.operands):
                to(k, self.frames.get(value, terminator))
            terminator.drop_uses()

        return hand_over

    def _if(self, op: Op) -> None:
        condition = self._agreed(op, 0)
        then, orelse = Region(), Region()
        for old, new in zip(op.regions, (then, orelse), strict=True):
            with self.b.into(new):
                self._region(old, self._yields(old, lambda k, v: self.frames.keep(op.results[k], v)))
                self.b.yield_()
        self.b.if_(condition, then, orelse)

    def _for(self, op: Op) -> None:
        lo, hi = self._agreed(op, 0), self._agreed(op, 1)
        (old,) = op.regions
        new = Region(old.args)
        with self.b.into(new):
            self._region(old)
            self.b.yield_()
        old.terminator.drop_uses()
        self.b.for_(lo, hi, [], new)

    def _while(self, op: Op) -> None:
        old_test, old_body = op.regions
        test, body = Region(), Region()
        with self.b.into(test):
            self.b.yield_(self._goes_on(op, old_test))
        with self.b.into(body):
            self._region(old_body)
            self.b.yield_()
        old_body.terminator.drop_uses()
        self.b.while_([], test, body)

    def _goes_on(self, op: Op, test: Region) -> Value:
        """Emit the test of a `while`, and whether it holds."""
        (condition,) = test.terminator.operands
        if condition in self.common.values:
            self._region(test)
            test.terminator.drop_uses()
            return condition
        goes_on = self.goes_on[op]

        def hand_over(_: int, value: Value) -> None:
            cells.write(self.b, goes_on, value, self.frames.depth)

        self._region(test, self._yields(test, hand_over))
        return cells.read(self.b, goes_on, self.b.const(0, i32))
