"""The forward part of a reverse kernel: the ops again, without their effects, saving what the plan says.

A counting sweep runs the same control flow and only counts how often each loop's body runs: that is exactly the
capacity of the loop's adstacks. Whatever else it computes is dead, and removed by the passes that follow. It works on
copies of the local arrays that it writes: the code runs once more afterwards, and starts from what they contained.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ...ir.builder import Builder
from ...ir.ops import (
    ARRAY_LOAD,
    ARRAY_STORE,
    ASSERT,
    ATOMIC,
    FOR,
    IF,
    PARALLEL_FOR,
    PLACE_WRITES,
    PRINT,
    RANDOM,
    SERIAL_LOOPS,
    STORE,
)
from ...ir.structure import Op, Region, Value
from ...ir.types import ArrayType, DType, i64
from ...transforms.rewriting.rewrite import clone_op
from ..saving.plan import Counted, SavePlan
from .journal import JournalRow
from .state import Counters, Entries, Names, Stacks, counter, scoped
from .trips import trip_count, trips_before

__all__ = ["Sweep", "SweptLoops", "copy_array", "on_copies"]

_SKIPPED = frozenset({STORE, PRINT, ASSERT})


class SweptLoops(Protocol):
    """Sweeps some loops in another way: those that have checkpoints."""

    def __contains__(self, op: Op) -> bool:
        """Whether it sweeps a loop."""

    def count(self, sweep: Sweep, op: Op, names: Names, counters: Counters) -> None:
        """Count the iterations of one of its loops, and of those inside it."""

    def forward(self, op: Op, names: Names, counters: Counters) -> None:
        """Sweep one of its loops, saving what the plan says."""


class Sweep:
    """Emits sweeps: the ops of regions once more, without their effects, saving what the plan says.

    Attributes:
        b: the builder, which stands where the sweep is emitted.
        saves: what is saved.
        stacks: the adstacks of saved values; None while counting.
        temps: whether stores to temps are repeated.
        replayed: names of places whose stores and atomics are run again.
        lost: constants that stand for values that only the launch has seen (old values of atomics, random numbers), and
            the ops that gave these.
        blocks: what sweeps the loops that are checkpointed.
        row: where the launch has logged values of ops.
        iteration: how many iterations of the loop around the code have been run.
    """

    def __init__(
        self,
        b: Builder,
        saves: SavePlan,
        stacks: Stacks | None,
        temps: bool = False,
        replayed: Collection[str] = (),
        lost: dict[Value, Op] | None = None,
        blocks: SweptLoops | None = None,
        row: JournalRow | None = None,
    ) -> None:
        self.blocks = blocks
        self.row = row
        self.lost = {} if lost is None else lost
        self.b = b
        self.replayed = replayed
        self.saves = saves
        self.stacks = stacks
        self.temps = temps
        self.iteration: Value | None = None

    def region(self, region: Region, names: Names, counters: Counters, index: Value | None = None) -> list[Value]:
        """The region's ops; gives what it yields. Inside a loop, `index` is the slot of its saved values."""
        plan = self.saves.regions.get(region)
        saved = set(plan.saved) if plan is not None and index is not None else set()
        for value in (*(plan.from_around if plan is not None else ()), *region.args):
            if value in saved:
                self._save(value, region, names, index)
        for op in region.ops[:-1]:
            with self.b.at(op.loc):
                self.op(op, names, counters, index)
                for result in (*op.results, *self._extra(op)):
                    if result in saved:
                        self._save(result, region, names, index)
        return [names.get(v, v) for v in region.terminator.operands]

    def _extra(self, op: Op) -> Sequence[Value]:
        trips = self.saves.trips.get(op)
        return () if trips is None else (trips,)

    def _save(self, value: Value, region: Region, names: Names, index: Value | None) -> None:
        if self.stacks is not None:
            assert index is not None
            self.b.put(self.stacks[region, value], index, names.get(value, value))

    def loop_body(
        self, region: Region, names: Names, counters: Counters, index: Value, iteration: Value | None = None
    ) -> list[Value]:
        """The body of a loop, which saves at slot `index`; gives what it yields.

        `iteration` says how many iterations have been run, if that is not the slot.
        """
        outer, self.iteration = self.iteration, index if iteration is None else iteration
        yielded = self.region(region, names, counters, index)
        self.iteration = outer
        return yielded

    def op(self, op: Op, names: Names, counters: Counters, index: Value | None) -> None:
        """One op; inside a loop, `index` is the slot of its saved values."""
        if self.row is not None and op in self.row.journal.logs:
            names[op.result] = self.row.read(self.b, op, self.iteration)
        elif op.opdef in PLACE_WRITES and op.attrs["place"].name in self.replayed:
            self._repeat(op, names)
        elif op.opdef in _SKIPPED:
            if self.temps and op.opdef is STORE and op.attrs["place"].kind == "temp":
                self._clone(op, names)
        elif op.opdef is ATOMIC:
            self._atomic(op, names)
        elif op.opdef is IF:
            self._if(op, names, counters, index)
        elif op.opdef in SERIAL_LOOPS:
            self._loop(op, names, counters)
        elif op.opdef is RANDOM:
            self._lose(op, names)
        elif op.opdef is not PARALLEL_FOR:
            self._clone(op, names)

    def _clone(self, op: Op, names: Names) -> None:
        self.b.region.ops.append(clone_op(op, names))  # type: ignore[arg-type]

    def _repeat(self, op: Op, names: Names) -> None:
        self._clone(op, names)
        if op.attrs["place"].kind == "temp":
            self._lose(op, names)  # iterations that share an element may come in another order now

    def _atomic(self, op: Op, names: Names) -> None:
        """The launch has made the update and its old value is gone: `lost` remembers what stands for it."""
        if self.temps and op.attrs["place"].kind == "temp":
            self._clone(op, names)
            return
        self._lose(op, names)

    def _lose(self, op: Op, names: Names) -> None:
        for result in op.results:
            names[result] = self.b.const(0, result.dtype)
            self.lost[names[result]] = op

    # ---- control

    def _if(self, op: Op, names: Names, counters: Counters, index: Value | None) -> None:
        condition = names.get(op.operands[0], op.operands[0])
        inner = self._counted(op, counters)
        extras = [] if index is not None else self._outside_loops(op)
        results = [*op.results, *extras]
        regions = []
        for region in op.regions:
            branch = Region()
            local, counts = scoped(names), dict(counters)
            with self.b.into(branch):
                own = counts[region] if region in self.saves.counted else index
                yielded = self.region(region, local, counts, own)
                if region in self.saves.counted:
                    counts[region] = self.b.add(counts[region], counter(self.b, 1))
                saved = [local[v] if v in local else self._nothing(v) for v in extras]
                self.b.yield_(*yielded, *saved, *(counts[loop] for loop in inner))
            regions.append(branch)
        merged = self.b.if_(condition, *regions)
        names.update(zip(results, merged, strict=False))
        counters.update(zip(inner, merged[len(results) :], strict=True))

    def _nothing(self, value: Value) -> Value:
        return self.b.const(0, value.dtype)

    def _outside_loops(self, op: Op) -> list[Value]:
        """The saved values of an `if` outside loops, and of those nested in it: they come out as its results."""
        if self.stacks is None:
            return []
        saved: list[Value] = []
        for region in op.regions:
            saved += self.saves.saved(region)
            for inner in region.ops:
                if inner.opdef is IF:
                    saved += self._outside_loops(inner)
        return [v for v in saved if isinstance(v.type, DType)]

    def _loop(self, op: Op, names: Names, counters: Counters) -> None:
        if self.blocks is not None and op in self.blocks:
            if self.stacks is None:
                self.blocks.count(self, op, names, counters)
            else:
                self.blocks.forward(op, names, counters)
        elif op.opdef is FOR:
            self.for_(op, names, counters)
        else:
            self.while_(op, names, counters)

    def for_(self, op: Op, names: Names, counters: Counters) -> None:
        """A `for`; its counter goes on."""
        lo, hi, *initial = (names.get(v, v) for v in op.operands)
        trips = trip_count(self.b, lo, hi)
        start = counters[op]
        inner = self._counted(op, counters)
        source = op.regions[0]
        args = [Value(v.type, v.name) for v in source.args]
        counts = [Value(i64) for _ in inner]
        body = Region([*args, *counts])
        local: Names = scoped(names)
        local.update(zip(source.args, args, strict=True))
        state = {**counters, **dict(zip(inner, counts, strict=True))}
        with self.b.into(body):
            done = trips_before(self.b, lo, args[0])
            yielded = self.loop_body(source, local, state, self.b.add(start, done), self._entry(op, counters, done))
            self.b.yield_(*yielded, *(state[loop] for loop in inner))
        left = self.b.for_(lo, hi, [*initial, *(counters[loop] for loop in inner)], body)
        self._finish(op, names, counters, left, trips)

    def while_(self, op: Op, names: Names, counters: Counters) -> None:
        """A `while`, with its iterations counted; its counter goes on."""
        initial = [names.get(v, v) for v in op.operands]
        start = counters[op]
        inner = self._counted(op, counters)
        head, source = op.regions
        types = [v.type for v in source.args]
        condition = Region([*(Value(t) for t in types), *(Value(i64) for _ in inner), Value(i64, "trips")])
        with self.b.into(condition):
            wanted = condition.args[head.args.index(head.terminator.operands[0])]
            self.b.yield_(wanted, *condition.args)
        body = Region([Value(v.type, v.name) for v in condition.args])
        *args, done = body.args
        counts = args[len(types) :]
        local: Names = scoped(names)
        local.update(zip(source.args, args, strict=False))
        state = {**counters, **dict(zip(inner, counts, strict=True))}
        with self.b.into(body):
            yielded = self.loop_body(source, local, state, self.b.add(start, done), self._entry(op, counters, done))
            self.b.yield_(*yielded, *(state[loop] for loop in inner), self.b.add(done, counter(self.b, 1)))
        zero = counter(self.b)
        left = self.b.while_([*initial, *(counters[loop] for loop in inner), zero], condition, body)
        self._finish(op, names, counters, left[:-1], left[-1])

    def _finish(self, op: Op, names: Names, counters: Counters, results: list[Value], trips: Value) -> None:
        names.update(zip(op.results, results, strict=False))
        inner = self._counted(op, counters)
        counters.update(zip(inner, results[len(op.results) :], strict=True))
        planned = self.saves.trips.get(op)
        if planned is not None:
            names[planned] = trips
        counters[op] = self.b.add(counters[op], trips)
        if Entries(op) in counters:
            counters[Entries(op)] = self.b.add(counters[Entries(op)], trips)

    def _counted(self, op: Op, counters: Counters) -> list[Counted | Entries]:
        """What is counted inside an op: adstacks, and the logs that do not start where these do."""
        inside = self.saves.counters_in(op)
        logged = [Entries(loop) for loop in inside if isinstance(loop, Op) and Entries(loop) in counters]
        return [*inside, *logged]

    def _entry(self, op: Op, counters: Counters, done: Value) -> Value | None:
        """Which entry of its logs an iteration of a loop has, if that is not the slot of what it saves."""
        before = counters.get(Entries(op))
        return None if before is None else self.b.add(before, done)


def on_copies(b: Builder, op: Op, names: Names, later: Sequence[Op] = ()) -> Names:
    """Names in which an op can run an extra time: local arrays that it reads, and that are written, are copies.

    Args:
        b: emits the copies.
        op: the op.
        names: those in which it runs otherwise.
        later: more ops that may write the arrays before the extra time comes.
    """
    loaded = {o.operands[0] for o in Region(ops=[op]).walk() if o.opdef is ARRAY_LOAD}
    local = scoped(names)
    for array in (o.operands[0] for o in Region(ops=[op, *later]).walk() if o.opdef is ARRAY_STORE):
        if array in loaded and array in names and array not in local.maps[0]:
            assert isinstance(array.type, ArrayType)
            local[array] = b.array(array.type.dtype, array.type.length)
            copy_array(b, names[array], local[array], array.type.length)
    return local


def copy_array(b: Builder, source: Value, to: Value, length: int) -> None:
    """Copy a local array."""
    body = Region([Value(i64)])
    with b.into(body):
        b.array_store(to, body.args[0], b.array_load(source, body.args[0]))
        b.yield_()
    b.for_(counter(b), counter(b, length), [], body)
