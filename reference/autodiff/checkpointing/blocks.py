"""Sequential loops reversed with little memory: blocks of iterations, and snapshots of the state between them.

A loop's iterations are cut into blocks of `Checkpoints.block`, the first one shorter if need be, so that the last
iteration ends a block. The sweep only runs the blocks, taking snapshots of the state at the start of some (schedule.py
says which); the last block saves what its reversal needs. The reversal reverses a block, goes to the last snapshot,
runs from there to the block before, taking snapshots on the way, and lets that block save. So the adstacks of saved
values are as deep as one block needs, and the others hold `Checkpoints.snapshots` states, whatever the trip count.

Loops inside are checkpointed in the same way, down to `Checkpoints.levels`: a loop around such ones has blocks of one
iteration, and what that iteration saves of them is their snapshots and their last blocks. So a nest runs again at most
as often as the numbers of repetitions of its levels, multiplied, say.

Which loops are checkpointed, and what their states are, has been decided before: loops.py. A loop that can't run again
(refusals.py) saves everything, as without checkpoints.

Ensures: every adjoint comes of the same operations on the same numbers in the same order as without.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...ir.builder import Builder
from ...ir.ops import FOR, IF, WHILE
from ...ir.scalar_ops import FLOORDIV, MAX
from ...ir.structure import Op, Region, Value
from ...ir.types import ArrayType, i64
from ..emission.backward import Backward, Flow
from ..emission.journal import JournalRow
from ..emission.state import Counters, Names, Stacks, counter, scoped
from ..emission.sweep import Sweep, on_copies
from ..emission.trips import trip_count, trips_before
from ..saving.plan import SavePlan, Sides
from .loops import CheckpointedLoop, run_iteration
from .schedule import emit_stride
from .snapshots import Course, Site, Snapshots, mapped

__all__ = ["Blocks"]


class Blocks:
    """Emits what a reverse kernel does for checkpointed loops.

    Args:
        b: emits ops.
        saves: what the reverse pass saves.
        replayed: names of places whose stores sweeps repeat.
        lost: see `Sweep`.

    Attributes:
        sites: the loops that the sweep has reached.
        stacks: the adstacks of saved values, shared with all that emit the kernel's parts.
    """

    def __init__(self, b: Builder, saves: SavePlan, replayed: Collection[str], lost: dict[Value, Op]) -> None:
        self.b, self.saves, self.replayed, self.lost = b, saves, replayed, lost
        self.snapshots = Snapshots(b)
        self.sites: dict[Op, Site] = {}
        self.stacks: Stacks = {}

    def __contains__(self, op: Op) -> bool:
        return op in self.sites

    # ---- before the sweep

    def enter(self, loops: Iterable[CheckpointedLoop], row: JournalRow | None) -> None:
        """Reach the checkpointed loops of an op outside loops."""
        self.sites.update((one.op, Site(one, row)) for loop in loops for one in loop.all())

    def capacities(
        self, op: Op, loops: Sequence[CheckpointedLoop], names: Names, counters: Counters, row: JournalRow | None
    ) -> Counters:
        """How deep the stacks of each loop in an op outside loops, with these checkpointed loops, have to be."""
        counts = dict(counters)
        if any(loop.counted or loop.op.opdef is WHILE for loop in loops) or op.opdef is IF:
            sweep = self._sweep(row, None, self, replays=False)
            sweep.op(op, on_copies(self.b, op, names), counts, None)
        for loop in loops:
            if loop.op.opdef is WHILE:
                self.sites[loop.op].trips = counts[loop.op]
        # a branch is taken in each iteration of a block at most
        for one in (one for loop in loops for one in loop.all()):
            counts[one.op] = block = counter(self.b, one.block)
            counts.update((side, block) for side in one.sides)
        return counts

    def count(self, sweep: Sweep, op: Op, names: Names, counters: Counters) -> None:
        """Count a loop's iterations, and for the loops inside the most that one block runs."""
        loop = self.sites[op].plan
        if op.opdef is WHILE:
            counts = dict(counters)
            sweep.while_(op, on_copies(self.b, op, names) if loop.counted else names, counts)
            counters[op] = counts[op]
            if not loop.counted:
                counters.update((one, counts[one]) for one in loop.entries if one in counts)
        if loop.counted:
            self._count_blocks(sweep, self.sites[op], names, counters)
        elif op.opdef is FOR:
            sweep.for_(op, names, counters)

    def _count_blocks(self, sweep: Sweep, site: Site, names: Names, counters: Counters) -> None:
        loop = site.plan
        course = self._course(site, names, counters[loop.op] if loop.op.opdef is WHILE else None)
        args = [Value(dtype) for dtype in loop.state]
        most = [Value(i64) for _ in loop.inner]
        body = Region([Value(i64), *args, *most])
        with self.b.into(body):
            block = body.args[0]
            results = self._run(sweep, course, (block, self.b.add(block, counter(self.b, 1))), args)
            deeper = [self.b.emit(MAX, a, b) for a, b in zip(most, results[len(args) :], strict=True)]
            self.b.yield_(*results[: len(args)], *deeper)
        initial = [*self._initial(loop, names, counters), *(counter(self.b) for _ in most)]
        results = self.b.for_(counter(self.b), course.blocks, initial, body)
        names.update(zip(loop.op.results, results, strict=False))
        self._count_on(loop, counters, results)

    def _initial(self, loop: CheckpointedLoop, names: Names, counters: Counters) -> list[Value]:
        """The state of a loop before its first iteration."""
        carried = [mapped(names, v) for v in loop.initial]
        return [*carried, *(counters[one] if one in counters else counter(self.b) for one in loop.entries)]

    @staticmethod
    def _count_on(loop: CheckpointedLoop, counters: Counters, results: Sequence[Value]) -> None:
        """Enter the counts that come behind the carried values of a loop that has run."""
        counters.update(zip(loop.inner, results[len(loop.state) :], strict=True))
        entries = zip(loop.entries, results[len(loop.args) : len(loop.state)], strict=True)
        counters.update((one, count) for one, count in entries if one in counters)

    def open(self, loops: Iterable[CheckpointedLoop], stacks: Stacks) -> None:
        """Make the stacks of the snapshots of the loops in an op; `stacks` are those of what the loops save."""
        self.stacks = stacks
        for outermost in loops:
            for loop in outermost.all():
                self._open(self.sites[loop.op])

    def _open(self, site: Site) -> None:
        loop = site.plan
        slots, sides = counter(self.b, loop.snapshots), loop.around
        site.starts = self.b.stack(i64, slots, sides)
        for cell in loop.cells:
            site.cells[cell] = self.b.stack(cell.place.dtype, counter(self.b, loop.snapshots * cell.size), sides)
        site.carried = {k: self.b.stack(loop.state[k], slots, sides) for k in loop.carried}
        for array in loop.used_arrays():
            if array in loop.arrays:
                site.arrays[array] = self._array_stack(array, loop.snapshots, sides)
            elif array in loop.frozen:
                site.frozen[array] = self._array_stack(array, 1, sides)

    def _array_stack(self, array: Value, copies: int, sides: Sides) -> Value:
        assert isinstance(array.type, ArrayType)
        return self.b.stack(array.type.dtype, counter(self.b, copies * array.type.length), sides)

    # ---- the sweep

    def forward(self, op: Op, names: Names, counters: Counters) -> None:
        """Sweep a loop up to its last block, which saves. The loop's own counter becomes that of its snapshots."""
        site = self.sites[op]
        loop = site.plan
        inside_another = op.opdef is WHILE and site.trips is None
        course = self._course(site, names, self._trips_ahead(op, names, counters) if inside_another else site.trips)
        zero, one = counter(self.b), counter(self.b, 1)
        values = self._initial(loop, names, counters)
        self.snapshots.copy_arrays(site.frozen, names, zero, restore=False)
        self.snapshots.save(course, zero, zero, values)
        counters[op], values = self._advance(course, (zero, course.blocks), one, values)
        results = self._save(course, course.blocks, values)
        self._finish(course, names, results)
        self._count_on(loop, counters, results)

    def _trips_ahead(self, op: Op, names: Names, counters: Counters) -> Value:
        """The trip count of a `while`, counted before it runs."""
        site = self.sites[op]
        counts: Counters = {loop: counter(self.b) for loop in (op, *site.plan.inner)}
        counts.update((one, counters[one]) for one in site.plan.entries if one in counters)
        self._sweep(site.row, None, replays=False).while_(op, on_copies(self.b, op, names), counts)
        return counts[op]

    def _finish(self, course: Course, names: Names, results: Sequence[Value]) -> None:
        """Name a loop's results, and its trip count."""
        op = course.site.plan.op
        names.update(zip(op.results, results, strict=False))
        planned = self.saves.trips.get(op)
        if planned is not None:
            names[planned] = course.trips

    # ---- the reversal

    def backward(
        self, back: Backward, op: Op, flow: Flow, adjoints: Sequence[Value], names: Names, counters: Counters
    ) -> list[Value]:
        """Reverse all blocks, the last one first; gives the adjoints that come out."""
        site = self.sites[op]
        inner = site.plan.inner
        names = scoped(names)
        course = self._course(site, names, names[self.saves.trips[op]])
        for array in (*site.arrays, *site.frozen):
            if array not in names:
                assert isinstance(array.type, ArrayType)
                names[array] = self.b.array(array.type.dtype, array.type.length)
        self.snapshots.copy_arrays(site.frozen, names, counter(self.b), restore=True)
        initial = [course.blocks, counters[op], *(counters[loop] for loop in inner), *adjoints]
        condition = Region([Value(v.type) for v in initial])
        with self.b.into(condition):
            self.b.yield_(self.b.gt(condition.args[0], counter(self.b)), *condition.args)
        body = Region([Value(v.type) for v in initial])
        with self.b.into(body):
            self._reverse_block(back, course, flow, body.args, counters)
        left = self.b.while_(initial, condition, body)
        counters.update((loop, counter(self.b)) for loop in (op, *inner))
        return left[2 + len(inner) :]

    def _reverse_block(
        self, back: Backward, course: Course, flow: Flow, args: Sequence[Value], counters: Counters
    ) -> None:
        """Reverse the block before `end`, then prepare the one before that."""
        loop = course.site.plan
        end, stored, *rest = args
        counts, adjoints = rest[: len(loop.inner)], rest[len(loop.inner) :]
        state: Counters = {**counters, loop.op: counter(self.b)}
        state.update(zip(loop.inner, counts, strict=True))
        done = self.b.sub(end, counter(self.b, 1))
        base = self._first_of(course, done)
        span = base, self.b.sub(self._first_of(course, end), base)
        adjoints = back.iterations(loop.op, flow, span, adjoints, course.names, state)
        stored = self._without(course, done, stored)
        last = self.b.emit(MAX, self.b.sub(stored, counter(self.b, 1)), counter(self.b))
        at, values = self.snapshots.restore(course, last)
        stored, values = self._advance(course, (at, done), stored, values)
        results = self._save(course, done, values)
        self.b.yield_(done, stored, *results[len(values) :], *adjoints)

    def _without(self, course: Course, done: Value, stored: Value) -> Value:
        """The number of snapshots without that of a block just reversed, if there is one."""
        top = self._top(course, stored)
        gone = self.b.select(self.b.eq(top, done), counter(self.b, 1), counter(self.b))
        return self.b.sub(stored, gone)

    def _top(self, course: Course, stored: Value) -> Value:
        """At which block the last snapshot was taken."""
        assert course.site.starts is not None
        return self.b.get(course.site.starts, self.b.sub(stored, counter(self.b, 1)))

    # ---- running blocks

    def _sweep(
        self, row: JournalRow | None, stacks: Stacks | None, blocks: Blocks | None = None, *, replays: bool = True
    ) -> Sweep:
        """What runs iterations again, their stores included where they are repeated, or only counts."""
        replayed = self.replayed if replays else ()
        return Sweep(self.b, self.saves, stacks, replayed=replayed, lost=self.lost, blocks=blocks, row=row)

    def _course(self, site: Site, names: Names, trips: Value | None) -> Course:
        """Where the blocks of a loop are."""
        op, size = site.plan.op, site.plan.block
        first = mapped(names, op.operands[0]) if op.opdef is FOR else counter(self.b)
        if trips is None:
            trips = trip_count(self.b, first, mapped(names, op.operands[1]))
        blocks = self.b.emit(FLOORDIV, self.b.add(trips, counter(self.b, size - 1)), counter(self.b, size))
        return Course(site, names, trips, blocks, first)

    def _first_of(self, course: Course, block: Value) -> Value:
        """The number of the first iteration of a block: the last iteration of all ends a block."""
        left = self.b.mul(self.b.sub(course.blocks, block), counter(self.b, course.site.plan.block))
        return self.b.emit(MAX, self.b.sub(course.trips, left), counter(self.b))

    def _run(self, sweep: Sweep, course: Course, span: tuple[Value, Value], values: Sequence[Value]) -> list[Value]:
        """Sweep blocks from one up to another; gives the state, then how often the loops inside ran."""
        b, loop = self.b, course.site.plan
        lo, hi = (b.add(course.first, b.cast(self._first_of(course, k), course.first.dtype)) for k in span)
        index = Value(lo.type)
        args = [Value(dtype) for dtype in loop.state]
        counts = [Value(i64) for _ in loop.inner]
        body = Region([index, *args, *counts])
        local: Names = scoped(course.names)
        for value, arg in zip(loop.args, args, strict=False):
            local[value], arg.name = arg, value.name
        if loop.op.opdef is FOR:
            index.name = loop.source.args[0].name
            local[loop.source.args[0]] = index
        with b.into(body):
            done, iteration = trips_before(b, lo, index), trips_before(b, course.first, index)
            run_iteration(sweep, loop, local, args, counts, done, iteration)
        return b.for_(lo, hi, [*values, *(counter(b) for _ in counts)], body)

    def _save(self, course: Course, end: Value, values: Sequence[Value]) -> list[Value]:
        """The block before `end` runs, and saves; gives what `_run` gives."""
        blocks = self if course.site.plan.nested else None
        sweep = self._sweep(course.site.row, self.stacks, blocks)
        return self._run(sweep, course, (self.b.sub(end, counter(self.b, 1)), end), values)

    def _advance(
        self, course: Course, span: tuple[Value, Value], stored: Value, values: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        """Run from a snapshot to the last block before an end, taking snapshots; gives their number, and the state."""
        b = self.b
        start, end = span
        last = b.sub(end, counter(b, 1))
        types = [start.type, stored.type, *(v.type for v in values)]
        condition = Region([Value(t) for t in types])
        with b.into(condition):
            b.yield_(b.lt(condition.args[0], last), *condition.args)
        body = Region([Value(t) for t in types])
        with b.into(body):
            at, count, *state = body.args
            free = b.sub(counter(b, course.site.plan.snapshots), count)
            to = b.add(at, emit_stride(b, b.sub(end, at), b.add(free, counter(b, 1))))
            sweep = self._sweep(course.site.row, None)
            state = self._run(sweep, course, (at, to), state)[: len(state)]
            taken = b.and_(b.gt(free, counter(b)), b.lt(to, last))
            self.snapshots.save_if(taken, course, count, to, state)
            b.yield_(to, b.add(count, b.cast(taken, i64)), *state)
        _, stored, *new = b.while_([start, stored, *values], condition, body)
        return stored, new
