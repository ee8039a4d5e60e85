"""Outermost sequential loops reversed with little memory: blocks of trips, and snapshots of the state between them.

A loop's trips are cut into blocks of `Checkpoints.block`, the first one shorter if need be, so that the last trip ends
a block. The sweep only runs the blocks, taking snapshots of the state at the start of some (checkpoint_schedule.py says
which); the last block keeps what its reversal needs. The reversal turns back a block, goes to the last snapshot, runs
from there to the next block to turn back, taking snapshots on the way, and lets that block keep. So the keeping stacks
are as deep as one block needs, and the others hold `Checkpoints.snapshots` states, whatever the trip count.

The state of a loop is what decides what its later trips keep: carried values, and local arrays that it writes.

A loop that can't run again (`refuse_unrepeatable`, `refuse_logged`) keeps everything, as without checkpoints.

Ensures: every adjoint comes of the same operations on the same numbers in the same order as without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import AdstackDataAccessError
from ...ir.builder import Builder
from ...ir.structure import Kernel, Op, Region, Value
from ...ir.types import ArrayType, i64
from .checkpoint_schedule import Checkpoints, emit_stride
from .checkpoint_state import (
    Site,
    bring,
    living,
    mapped,
    outermost_loops,
    refuse_logged,
    refuse_unrepeatable,
    stored_later,
)
from .plan import Planner
from .state import Counters, Names, Sides, counter, scoped
from .sweep import Sweep, on_copies, trip_count, trips_before

if TYPE_CHECKING:
    from .backward import Backward, Flow

__all__ = ["Blocks"]


@dataclass
class Course:
    """A loop at a point of the emitted program.

    Attributes:
        site: the loop.
        names: what stands for the values around it.
        trips, blocks: how many it has.
        first: the index of its first trip.
    """

    site: Site
    names: Names
    trips: Value
    blocks: Value
    first: Value


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
        logged: Collection[Op] = (),
    ) -> None:
        self.b, self.planner, self.source, self.options = b, planner, source, options
        self.replayed, self.lost, self.logged = replayed, lost, logged
        self.sites: dict[Op, Site] = {}
        self.refused: list[AdstackDataAccessError] = []
        self.stacks: dict[Value, Value] = {}
        constants = (op for op in source.body.walk() if op.name == "const" and op.result.dtype.is_integer)
        self._numbers: dict[Value, int] = {op.result: op.attrs["value"] for op in constants}

    def __contains__(self, op: Op) -> bool:
        return op in self.sites

    # ---- before the sweep

    def enter(self, op: Op, kept: Mapping[Op, Sequence[tuple[Value, Sides]]], *, serial: bool) -> None:
        """Meet an op outside loops, in which some loops keep something in some branches."""
        for loop, around in outermost_loops(op):
            site = Site(loop, self._trips_of(loop))
            site.kept = {one: kept[one] for one in (loop, *site.inner) if one in kept}
            short = site.constant is not None and site.constant <= self.options.block
            if site.kept and not short and self._can_run_again(loop, serial=serial):
                bring(self.planner, loop, around)
                self.sites[loop] = site

    def _can_run_again(self, loop: Op, *, serial: bool) -> bool:
        try:
            refuse_unrepeatable(self.source, loop, self.replayed, serial=serial)
            refuse_logged(loop, self.logged)
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
            sweep = Sweep(self.b, self.planner, None, lost=self.lost, blocks=self)
            sweep._op(op, on_copies(self.b, op, names), counts, None)
        for site in sites:
            if site.op.name == "while":
                site.trips = counts[site.op]
        counts.update((site.op, counter(self.b, self.options.block)) for site in sites)
        return counts

    def count(self, sweep: Sweep, op: Op, names: Names, counters: Counters) -> None:
        """Count a loop's trips, and for the loops inside the most that one block runs."""
        site = self.sites[op]
        if op.name == "while":
            ahead = dict(counters)
            sweep._while(op, on_copies(self.b, op, names) if site.counted else names, ahead)
            counters[op] = ahead[op]
        if site.counted:
            self._count_blocks(sweep, site, names, counters)
        elif op.name == "for":
            sweep._for(op, names, counters)

    def _count_blocks(self, sweep: Sweep, site: Site, names: Names, counters: Counters) -> None:
        course = self._course(site, names, counters[site.op] if site.op.name == "while" else None)
        args = [Value(v.type) for v in site.args]
        most = [Value(i64) for _ in site.inner]
        body = Region([Value(i64), *args, *most])
        with self.b.into(body):
            block = body.args[0]
            made = self._run(sweep, course, (block, self.b.add(block, counter(self.b, 1))), args)
            deeper = [self.b.emit("max", a, b) for a, b in zip(most, made[len(args) :], strict=True)]
            self.b.yield_(*made[: len(args)], *deeper)
        initial = [*(mapped(names, v) for v in site.initial), *(counter(self.b) for _ in most)]
        made = self.b.for_(counter(self.b), course.blocks, initial, body)
        names.update(zip(site.op.results, made, strict=False))
        counters.update(zip(site.inner, made[len(args) :], strict=True))

    def open(self, op: Op, names: Names, stacks: dict[Value, Value], around: Mapping[Op, Sides]) -> None:
        """Find out the states of the loops in an op, and make the stacks of their snapshots.

        `stacks` are those of what the loops keep, `around` says in which branches they are.
        """
        self.stacks = stacks
        for site in self._met(op):
            self._open(site, names, around[site.op])

    def _open(self, site: Site, names: Names, sides: Sides) -> None:
        scratch = Region()
        with self.b.into(scratch):
            none = counter(self.b)
            course = Course(site, names, none, none, self._first(site, names))
            sweep = Sweep(self.b, self.planner, self.stacks)
            self._run(sweep, course, (none, none), [mapped(names, v) for v in site.initial])
        needed, read, written = living(scratch, scratch.ops[-1])
        slots, whole, site.around = counter(self.b, self.options.snapshots), self.options.snapshots, sides
        site.starts = self.b.stack(i64, slots, sides)
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
        course = self._course(site, names, site.trips)
        zero, one = counter(self.b), counter(self.b, 1)
        values = [mapped(names, v) for v in site.initial]
        self._copy_arrays(site.frozen, names, zero, restore=False)
        self._save(course, zero, zero, values)
        counters[op], values = self._advance(course, (zero, course.blocks), one, values)
        made = self._keep(course, course.blocks, values)
        self._hand_on(site, course, names, made)
        counters.update(zip(site.inner, made[len(values) :], strict=True))

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
        names = scoped(names)
        course = self._course(site, names, names[self.planner.trips[op]])
        for array in (*site.arrays, *site.frozen):
            if array not in names:
                assert isinstance(array.type, ArrayType)
                names[array] = self.b.array(array.type.dtype, array.type.length)
        self._copy_arrays(site.frozen, names, counter(self.b), restore=True)
        initial = [course.blocks, counters[op], *(counters[loop] for loop in site.inner), *adjoints]
        condition = Region([Value(v.type) for v in initial])
        with self.b.into(condition):
            self.b.yield_(self.b.gt(condition.args[0], counter(self.b)), *condition.args)
        body = Region([Value(v.type) for v in initial])
        with self.b.into(body):
            self._turn_block(back, course, flow, body.args, counters)
        made = self.b.while_(initial, condition, body)
        counters.update((loop, counter(self.b)) for loop in (op, *site.inner))
        return made[2 + len(site.inner) :]

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
        at, values = self._restore(course, self.b.emit("max", self.b.sub(held, counter(self.b, 1)), counter(self.b)))
        held, values = self._advance(course, (at, done), held, values)
        made = self._keep(course, done, values)
        self.b.yield_(done, held, *made[len(values) :], *adjoints)

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

    def _first(self, site: Site, names: Names) -> Value:
        return mapped(names, site.op.operands[0]) if site.op.name == "for" else counter(self.b)

    def _course(self, site: Site, names: Names, trips: Value | None) -> Course:
        """Where the blocks of a loop are."""
        first = self._first(site, names)
        if trips is None:
            trips = trip_count(self.b, first, mapped(names, site.op.operands[1]))
        size = self.options.block
        blocks = self.b.emit("floordiv", self.b.add(trips, counter(self.b, size - 1)), counter(self.b, size))
        return Course(site, names, trips, blocks, first)

    def _trip(self, course: Course, block: Value) -> Value:
        """The number of the first trip of a block: the last trip of all ends a block."""
        left = self.b.mul(self.b.sub(course.blocks, block), counter(self.b, self.options.block))
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
            yielded = sweep.region(site.source, local, state, done)
            b.yield_(*yielded, *(state[loop] for loop in site.inner))
        return b.for_(lo, hi, [*values, *(counter(b) for _ in counts)], body)

    def _keep(self, course: Course, end: Value, values: Sequence[Value]) -> list[Value]:
        """The block before `end` runs, and keeps."""
        sweep = Sweep(self.b, self.planner, self.stacks, lost=self.lost)
        return self._run(sweep, course, (self.b.sub(end, counter(self.b, 1)), end), values)

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
            free = b.sub(counter(b, self.options.snapshots), count)
            to = b.add(at, emit_stride(b, b.sub(end, at), b.add(free, counter(b, 1))))
            sweep = Sweep(b, self.planner, None, lost=self.lost)
            state = self._run(sweep, course, (at, to), state)[: len(state)]
            taken = b.and_(b.gt(free, counter(b)), b.lt(to, last))
            self._save_if(taken, course, count, to, state)
            b.yield_(to, b.add(count, b.cast(taken, i64)), *state)
        _, held, *new = b.while_([start, held, *values], condition, body)
        return held, new

    # ---- snapshots

    def _save_if(self, taken: Value, course: Course, slot: Value, block: Value, values: Sequence[Value]) -> None:
        take, leave = Region(), Region()
        with self.b.into(take):
            self._save(course, slot, block, values)
            self.b.yield_()
        with self.b.into(leave):
            self.b.yield_()
        self.b.if_(taken, take, leave)

    def _save(self, course: Course, slot: Value, block: Value, values: Sequence[Value]) -> None:
        """Take a snapshot of the state at the start of a block."""
        site = course.site
        assert site.starts is not None
        self.b.put(site.starts, slot, block)
        for k, stack in site.carried.items():
            self.b.put(stack, slot, values[k])
        self._copy_arrays(site.arrays, course.names, slot, restore=False)

    def _restore(self, course: Course, slot: Value) -> tuple[Value, list[Value]]:
        """The block of a snapshot, and the carried values there; those that are not part of the state are 0."""
        site = course.site
        assert site.starts is not None
        self._copy_arrays(site.arrays, course.names, slot, restore=True)
        values = [
            self.b.get(site.carried[k], slot) if k in site.carried else self.b.const(0, arg.dtype)
            for k, arg in enumerate(site.args)
        ]
        return self.b.get(site.starts, slot), values

    def _copy_arrays(self, arrays: dict[Value, Value], names: Names, slot: Value, *, restore: bool) -> None:
        """Copy local arrays to a slot of their stacks, or back."""
        b = self.b
        for array, stack in arrays.items():
            assert isinstance(array.type, ArrayType)
            length, handle = counter(b, array.type.length), mapped(names, array)
            body = Region([Value(i64)])
            with b.into(body):
                element = body.args[0]
                at = b.add(b.mul(slot, length), element)
                if restore:
                    b.array_store(handle, element, b.get(stack, at))
                else:
                    b.put(stack, at, b.array_load(handle, element))
                b.yield_()
            b.for_(counter(b), length, [], body)
