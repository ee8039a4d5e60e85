"""Sequential loops reversed with little memory: blocks of trips, and snapshots of the state between them.

A loop's trips are cut into blocks of `Checkpoints.block`, the first one shorter if need be, so that the last trip ends
a block. The sweep only runs the blocks, taking snapshots of the state at the start of some (schedule.py says
which); the last block keeps what its reversal needs. The reversal turns back a block, goes to the last snapshot, runs
from there to the next block to turn back, taking snapshots on the way, and lets that block keep. So the keeping stacks
are as deep as one block needs, and the others hold `Checkpoints.snapshots` states, whatever the trip count.

Loops inside are checkpointed in the same way, down to `Checkpoints.levels`: a loop around such ones has blocks of one
trip, and what that trip keeps of them is their snapshots and their last blocks. So a nest runs again at most as often
as the numbers of repetitions of its levels, multiplied, say.

The state of a loop is what decides what its later trips keep: carried values, and local arrays that it writes.

A loop that can't run again (`refuse_unrepeatable`, `refuse_logged`) keeps everything, as without checkpoints.

Ensures: every adjoint comes of the same operations on the same numbers in the same order as without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...analysis.manager import Analyses
from ...errors import AdstackDataAccessError
from ...ir.builder import Builder
from ...ir.structure import Kernel, Op, Region, Value
from ...ir.types import ArrayType, i64
from ..emission.backward import Backward, Flow
from ..emission.journal import Journal
from ..emission.state import Counters, Kept, Names, Sides, Stacks, counter, scoped
from ..emission.sweep import Sweep, on_copies
from ..emission.trips import trip_count, trips_before
from ..saving.plan import Counted, Planner
from .cells import cells_of
from .schedule import Checkpoints, emit_stride
from .site import (
    Site,
    bring,
    living,
    mapped,
    outermost_loops,
    refuse_logged,
    refuse_unrepeatable,
    stored_later,
)
from .snapshots import Course, Snapshots

__all__ = ["Blocks"]


class Blocks:
    """Emits what a reverse kernel does for checkpointed loops.

    Attributes:
        sites: the loops that the sweep has met.
        refused: why others keep everything.
        stacks: the adstacks of kept values, shared with all who emit the kernel's parts.
    """

    def __init__(
        self,
        b: Builder,
        planner: Planner,
        source: Kernel,
        options: Checkpoints,
        replayed: Collection[str],
        lost: dict[Value, Op],
        journal: Journal | None,
        analyses: Analyses,
    ) -> None:
        self.b, self.planner, self.source, self.options, self.analyses = b, planner, source, options, analyses
        self.replayed, self.lost, self.journal = replayed, lost, journal
        self.snapshots = Snapshots(b)
        self.sites: dict[Op, Site] = {}
        self.refused: list[AdstackDataAccessError] = []
        self.stacks: Stacks = {}
        constants = (op for op in source.body.walk() if op.name == "const" and op.result.dtype.is_integer)
        self._numbers: dict[Value, int] = {op.result: op.attrs["value"] for op in constants}

    def __contains__(self, op: Op) -> bool:
        return op in self.sites

    # ---- before the sweep

    def enter(self, op: Op, kept: Mapping[Counted, Sequence[Kept]], *, serial: bool) -> None:
        """Meet an op outside loops, in which some loops keep something in some branches."""
        for loop, around in outermost_loops(op):
            site = self._site(loop, kept, self.options.levels)
            if site is not None and self._can_run_again(site, serial=serial):
                bring(self.planner, loop, around)
                self.sites.update((one.op, one) for one in site.all())

    def _site(self, loop: Op, kept: Mapping[Counted, Sequence[Kept]], levels: int) -> Site | None:
        """A loop to checkpoint, with those inside it of so many levels less one; None if it may keep everything."""
        site = Site(loop, self._trips_of(loop), self.planner.counters_in(loop))
        site.sides = self.planner.sides_in(site.source)
        site.kept = {one: kept[one] for one in (loop, *site.inner) if one in kept}
        if levels > 1:
            inside = [inner for op in site.source.ops for inner, _ in outermost_loops(op)]
            site.nested = [one for inner in inside if (one := self._site(inner, kept, levels - 1)) is not None]
        site.set_up(self.options)
        short = site.constant is not None and site.constant <= site.block and not site.nested
        return None if short or not site.kept else site

    def _can_run_again(self, site: Site, *, serial: bool) -> bool:
        try:
            if serial:
                refuse_unrepeatable(self.source, site.op)
            for one in site.all():
                one.cells = dict.fromkeys(cells_of(self.source.body, one.op, self.replayed, self.analyses))
            if self.journal is not None:
                refuse_logged(site.op, self.journal.logs)
                site.row = self.journal.row
        except AdstackDataAccessError as reason:
            self.refused.append(reason)
            return False
        return True

    def _trips_of(self, loop: Op) -> int | None:
        """How often a `for` from a number to a number runs."""
        if loop.name == "while":
            return None
        lo, hi = (self._numbers.get(v) for v in loop.operands[:2])
        return None if lo is None or hi is None else max(0, hi - lo)

    def takes(self, op: Op) -> bool:
        """Whether there is a checkpointed loop in an op outside loops."""
        return bool(self._met(op))

    def _met(self, op: Op) -> list[Site]:
        return [self.sites[loop] for loop, _ in outermost_loops(op) if loop in self.sites]

    def capacities(self, op: Op, names: Names, counters: Counters) -> Counters:
        """How deep the stacks of each loop in an op have to be."""
        counts, sites = dict(counters), self._met(op)
        if any(site.counted or site.op.name == "while" for site in sites) or op.name == "if":
            sweep = self._sweep(None, self, replays=False)
            sweep.op(op, on_copies(self.b, op, names), counts, None)
        for site in sites:
            if site.op.name == "while":
                site.trips = counts[site.op]
        # a branch is taken in each trip of a block at most
        for one in (one for site in sites for one in site.all()):
            counts[one.op] = block = counter(self.b, one.block)
            counts.update((side, block) for side in one.sides)
        return counts

    def count(self, sweep: Sweep, op: Op, names: Names, counters: Counters) -> None:
        """Count a loop's trips, and for the loops inside the most that one block runs."""
        site = self.sites[op]
        if op.name == "while":
            ahead = dict(counters)
            sweep.while_(op, on_copies(self.b, op, names) if site.counted else names, ahead)
            counters[op] = ahead[op]
        if site.counted:
            self._count_blocks(sweep, site, names, counters)
        elif op.name == "for":
            sweep.for_(op, names, counters)

    def _count_blocks(self, sweep: Sweep, site: Site, names: Names, counters: Counters) -> None:
        course = self._course(site, names, counters[site.op] if site.op.name == "while" else None)
        args = [Value(v.type) for v in site.args]
        most = [Value(i64) for _ in site.inner]
        body = Region([Value(i64), *args, *most])
        with self.b.into(body):
            block = body.args[0]
            results = self._run(sweep, course, (block, self.b.add(block, counter(self.b, 1))), args)
            deeper = [self.b.emit("max", a, b) for a, b in zip(most, results[len(args) :], strict=True)]
            self.b.yield_(*results[: len(args)], *deeper)
        initial = [*(mapped(names, v) for v in site.initial), *(counter(self.b) for _ in most)]
        results = self.b.for_(counter(self.b), course.blocks, initial, body)
        names.update(zip(site.op.results, results, strict=False))
        counters.update(zip(site.inner, results[len(args) :], strict=True))

    def open(self, op: Op, names: Names, stacks: Stacks, around: Mapping[Counted, Sides]) -> None:
        """Find out the states of the loops in an op, and make the stacks of their snapshots.

        `stacks` are those of what the loops keep, `around` says in which branches they are.
        """
        self.stacks = stacks
        for outermost in self._met(op):
            for site in outermost.all():
                self._open(site, names, around[site.op])

    def _open(self, site: Site, names: Names, sides: Sides) -> None:
        scratch = Region()
        with self.b.into(scratch):
            none = counter(self.b)
            course = Course(site, names, none, none, self._first(site, names))
            sweep = self._sweep(self.stacks)
            self._run(sweep, course, (none, none), [mapped(names, v) for v in site.initial])
        needed, read, written = living(scratch, scratch.ops[-1])
        scratch.erase()
        slots, whole, site.around = counter(self.b, site.snapshots), site.snapshots, sides
        site.starts = self.b.stack(i64, slots, sides)
        site.cells = {cell: self.b.stack(cell.place.dtype, slots, sides) for cell in site.cells}
        site.carried = {k: self.b.stack(a.dtype, slots, sides) for k, a in enumerate(site.args) if needed[k]}
        for array in site.used_arrays():
            handle = mapped(names, array)
            if handle in read and handle in written:
                site.arrays[array] = self._array_stack(array, whole, sides)
            elif handle in read and (array not in names or stored_later(self.source, site.op, array)):
                site.frozen[array] = self._array_stack(array, 1, sides)

    def _array_stack(self, array: Value, copies: int, sides: Sides) -> Value:
        assert isinstance(array.type, ArrayType)
        return self.b.stack(array.type.dtype, counter(self.b, copies * array.type.length), sides)

    # ---- the sweep

    def forward(self, op: Op, names: Names, counters: Counters) -> None:
        """Sweep a loop up to its last block, which keeps. The loop's own counter becomes that of its snapshots."""
        site = self.sites[op]
        inside_another = op.name == "while" and site.trips is None
        course = self._course(site, names, self._ahead(op, names) if inside_another else site.trips)
        zero, one = counter(self.b), counter(self.b, 1)
        values = [mapped(names, v) for v in site.initial]
        self.snapshots.copy_arrays(site.frozen, names, zero, restore=False)
        self.snapshots.save(course, zero, zero, values)
        counters[op], values = self._advance(course, (zero, course.blocks), one, values)
        kept = self._keep(course, course.blocks, values)
        self._hand_on(site, course, names, kept)
        counters.update(zip(site.inner, kept[len(values) :], strict=True))

    def _ahead(self, op: Op, names: Names) -> Value:
        """How often a `while` is going to run."""
        counts: Counters = {loop: counter(self.b) for loop in (op, *self.sites[op].inner)}
        self._sweep(None, replays=False).while_(op, on_copies(self.b, op, names), counts)
        return counts[op]

    def _hand_on(self, site: Site, course: Course, names: Names, made: Sequence[Value]) -> None:
        """A loop's results, and its trip count."""
        names.update(zip(site.op.results, made, strict=False))
        planned = self.planner.trips.get(site.op)
        if planned is not None:
            names[planned] = course.trips

    # ---- the reversal

    def backward(
        self, back: Backward, op: Op, flow: Flow, adjoints: Sequence[Value], names: Names, counters: Counters
    ) -> list[Value]:
        """Turn back all blocks, the last one first; gives the adjoints that come out."""
        site = self.sites[op]
        if self.journal is not None:
            self.journal.row = site.row
        names = scoped(names)
        course = self._course(site, names, names[self.planner.trips[op]])
        for array in (*site.arrays, *site.frozen):
            if array not in names:
                assert isinstance(array.type, ArrayType)
                names[array] = self.b.array(array.type.dtype, array.type.length)
        self.snapshots.copy_arrays(site.frozen, names, counter(self.b), restore=True)
        initial = [course.blocks, counters[op], *(counters[loop] for loop in site.inner), *adjoints]
        condition = Region([Value(v.type) for v in initial])
        with self.b.into(condition):
            self.b.yield_(self.b.gt(condition.args[0], counter(self.b)), *condition.args)
        body = Region([Value(v.type) for v in initial])
        with self.b.into(body):
            self._turn_block(back, course, flow, body.args, counters)
        left = self.b.while_(initial, condition, body)
        counters.update((loop, counter(self.b)) for loop in (op, *site.inner))
        return left[2 + len(site.inner) :]

    def _turn_block(
        self, back: Backward, course: Course, flow: Flow, args: Sequence[Value], counters: Counters
    ) -> None:
        """Reverse the block before `end`, then prepare the one before that."""
        site = course.site
        end, held, *rest = args
        counts, adjoints = rest[: len(site.inner)], rest[len(site.inner) :]
        state = {**counters, site.op: counter(self.b), **dict(zip(site.inner, counts, strict=True))}
        done = self.b.sub(end, counter(self.b, 1))
        base = self._trip(course, done)
        adjoints = back.turns(
            site.op, flow, (base, self.b.sub(self._trip(course, end), base)), adjoints, course.names, state
        )
        held = self._without(course, done, held)
        last = self.b.emit("max", self.b.sub(held, counter(self.b, 1)), counter(self.b))
        at, values = self.snapshots.restore(course, last)
        held, values = self._advance(course, (at, done), held, values)
        kept = self._keep(course, done, values)
        self.b.yield_(done, held, *kept[len(values) :], *adjoints)

    def _without(self, course: Course, done: Value, held: Value) -> Value:
        """The number of snapshots without that of a block just reversed, if there is one."""
        top = self._top(course, held)
        gone = self.b.select(self.b.eq(top, done), counter(self.b, 1), counter(self.b))
        return self.b.sub(held, gone)

    def _top(self, course: Course, held: Value) -> Value:
        """At which block the last snapshot was taken."""
        assert course.site.starts is not None
        return self.b.get(course.site.starts, self.b.sub(held, counter(self.b, 1)))

    # ---- running blocks

    def _sweep(self, stacks: Stacks | None, blocks: Blocks | None = None, *, replays: bool = True) -> Sweep:
        """What runs trips again, their stores included where they are repeated, or only counts."""
        replayed = self.replayed if replays else ()
        return Sweep(
            self.b, self.planner, stacks, replayed=replayed, lost=self.lost, blocks=blocks, journal=self.journal
        )

    def _first(self, site: Site, names: Names) -> Value:
        return mapped(names, site.op.operands[0]) if site.op.name == "for" else counter(self.b)

    def _course(self, site: Site, names: Names, trips: Value | None) -> Course:
        """Where the blocks of a loop are."""
        first = self._first(site, names)
        if trips is None:
            trips = trip_count(self.b, first, mapped(names, site.op.operands[1]))
        size = site.block
        blocks = self.b.emit("floordiv", self.b.add(trips, counter(self.b, size - 1)), counter(self.b, size))
        return Course(site, names, trips, blocks, first)

    def _trip(self, course: Course, block: Value) -> Value:
        """The number of the first trip of a block: the last trip of all ends a block."""
        left = self.b.mul(self.b.sub(course.blocks, block), counter(self.b, course.site.block))
        return self.b.emit("max", self.b.sub(course.trips, left), counter(self.b))

    def _run(self, sweep: Sweep, course: Course, span: tuple[Value, Value], values: Sequence[Value]) -> list[Value]:
        """Sweep blocks from one up to another; gives carried values, then how often the loops inside ran."""
        b, site = self.b, course.site
        lo, hi = (b.add(course.first, b.cast(self._trip(course, k), course.first.dtype)) for k in span)
        index = Value(lo.type)
        args = [Value(v.type, v.name) for v in site.args]
        counts = [Value(i64) for _ in site.inner]
        body = Region([index, *args, *counts])
        local: Names = scoped(course.names)
        local.update(zip(site.args, args, strict=True))
        if site.op.name == "for":
            index.name = site.source.args[0].name
            local[site.source.args[0]] = index
        state = dict(zip(site.inner, counts, strict=True))
        with b.into(body):
            done = trips_before(b, lo, index)
            yielded = sweep.turns(site.source, local, state, done, trips_before(b, course.first, index))
            b.yield_(*yielded, *(state[loop] for loop in site.inner))
        return b.for_(lo, hi, [*values, *(counter(b) for _ in counts)], body)

    def _keep(self, course: Course, end: Value, values: Sequence[Value]) -> list[Value]:
        """The block before `end` runs, and keeps."""
        blocks = self if course.site.nested else None
        return self._run(self._sweep(self.stacks, blocks), course, (self.b.sub(end, counter(self.b, 1)), end), values)

    def _advance(
        self, course: Course, span: tuple[Value, Value], held: Value, values: Sequence[Value]
    ) -> tuple[Value, list[Value]]:
        """Run from a snapshot to the last block before an end, taking snapshots; gives their number, and the state."""
        b = self.b
        start, end = span
        last = b.sub(end, counter(b, 1))
        types = [start.type, held.type, *(v.type for v in values)]
        condition = Region([Value(t) for t in types])
        with b.into(condition):
            b.yield_(b.lt(condition.args[0], last), *condition.args)
        body = Region([Value(t) for t in types])
        with b.into(body):
            at, count, *state = body.args
            free = b.sub(counter(b, course.site.snapshots), count)
            to = b.add(at, emit_stride(b, b.sub(end, at), b.add(free, counter(b, 1))))
            sweep = self._sweep(None)
            state = self._run(sweep, course, (at, to), state)[: len(state)]
            taken = b.and_(b.gt(free, counter(b)), b.lt(to, last))
            self.snapshots.save_if(taken, course, count, to, state)
            b.yield_(to, b.add(count, b.cast(taken, i64)), *state)
        _, held, *new = b.while_([start, held, *values], condition, body)
        return held, new
