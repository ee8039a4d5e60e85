"""The reversal: a region's ops backwards, adjoints in, adjoints out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, ATOMIC, FOR, IF, LOAD, SERIAL_LOOPS, STORE, WHILE
from ...ir.pulls import Saved
from ...ir.scalar_ops import ABS, ADD, ATAN, CAST, COS, MAX, MIN, NEG, SELECT, SIN, SUB, TANH
from ...ir.structure import Op, Place, Region, Value
from ...ir.types import ArrayType, i64
from ...transforms.math.num import Num
from ...transforms.rewriting.rewrite import clone_op
from ..activities.activity import Activity
from ..saving.plan import SavePlan
from .state import Adjoints, Counters, Names, Stacks, counter, scoped
from .trips import trip_count

__all__ = ["Backward", "Flow", "ReversedLoops"]


@dataclass(frozen=True)
class Flow:
    """What goes through a reversed loop.

    Attributes:
        carried: the positions of the carried values that have adjoints.
        loose: for each of these, whether its adjoint may be 0 because nothing is connected, see `Adjoints.is_loose`.
        around: the values from outside the loop to whose adjoints the reversed loop adds.
    """

    carried: list[int]
    loose: list[bool]
    around: list[Value]


class ReversedLoops(Protocol):
    """Reverses some loops in another way: those that have checkpoints."""

    def __contains__(self, op: Op) -> bool:
        """Whether it reverses a loop."""

    def backward(
        self, back: Backward, op: Op, flow: Flow, adjoints: Sequence[Value], names: Names, counters: Counters
    ) -> list[Value]:
        """Reverse one of its loops, from the adjoints of its results; gives those of its initial values."""


class Backward:
    """Emits the reversal of regions: op by op, the last one first, what it adds to the adjoints of its operands.

    Attributes:
        b: the builder, which stands where the reversal is emitted.
        activity: which values carry adjoints; `saves`: which are saved and recomputed.
        adjoints: the adjoints of values; `places`: the places that hold those of places, by name; `arrays`: the local
            arrays that hold those of local arrays.
        stacks: the adstacks of saved values.
        overwritten: stores whose element the kernel may store to again.
        blocks: reverses the loops that are checkpointed; None if none are.
    """

    def __init__(
        self,
        b: Builder,
        activity: Activity,
        saves: SavePlan,
        places: Mapping[str, Place],
        stacks: Stacks,
        overwritten: Collection[Op],
        blocks: ReversedLoops | None = None,
    ) -> None:
        self.b, self.activity, self.saves, self.places, self.stacks = b, activity, saves, places, stacks
        self.overwritten, self.blocks = overwritten, blocks
        self.adjoints = Adjoints(b)
        self.arrays: dict[Value, Value] = {}
        self._memory: dict[OpDef, Callable[[Op, Names], None]] = {
            LOAD: self._load,
            STORE: self._store,
            ATOMIC: self._atomic,
            ARRAY_LOAD: self._array_load,
            ARRAY_STORE: self._array_store,
        }

    def region(self, region: Region, names: Names, counters: Counters, index: Value | None = None) -> None:
        """Reverse a region; what it yields has its adjoints already. In a loop, saved values are at slot `index`."""
        plan = self.saves.regions.get(region)
        if plan is None:
            return
        if index is not None:
            for value in plan.saved:
                names[value] = self.b.get(self.stacks[region, value], index)
            for op in plan.recomputed:
                with self.b.at(op.loc):
                    self._recompute(op, names)
        self.open_arrays(region)
        for op in reversed(region.ops[:-1]):
            if self.activity.touches(op):
                with self.b.at(op.loc):
                    self.op(op, names, counters, index)

    def _recompute(self, op: Op, names: Names) -> None:
        """Recompute the results of an op; of a `for` its trip count."""
        if op.opdef is FOR:
            lo, hi = (self._now(names, v) for v in op.operands[:2])
            names[self.saves.trips[op]] = trip_count(self.b, lo, hi)
        else:
            self.b.region.ops.append(clone_op(op, names))  # type: ignore[arg-type]

    def open_arrays(self, region: Region) -> None:
        """The adjoints of the local arrays that the region makes."""
        for op in region.ops:
            if op.opdef is ARRAY_ALLOC and op.result in self.activity:
                array = op.result.type
                assert isinstance(array, ArrayType)
                self.arrays[op.result] = self.b.array(array.dtype, array.length)

    def op(self, op: Op, names: Names, counters: Counters, index: Value | None) -> None:
        """Reverse one op; inside a loop, `index` is the slot of its saved values."""
        if op.opdef is IF:
            self._if(op, names, counters, index)
        elif op.opdef in SERIAL_LOOPS:
            self._loop(op, names, counters)
        else:
            rule = self._memory.get(op.opdef)
            if rule is not None:
                rule(op, names)
            else:
                self._scalar(op, names)

    # ---- scalars

    def _scalar(self, op: Op, names: Names) -> None:
        pulls = op.opdef.pulls
        if not pulls or not op.results:
            return
        adjoint = self.adjoints.take(op.results[0])
        if adjoint is None:
            return
        named = dict(zip("xyz", op.operands, strict=False), r=op.results[0])
        for operand, pull in zip(op.operands, pulls, strict=True):
            if pull is not None and operand in self.activity:
                saved = Saved(**{letter: Num(self.b, self._now(names, named[letter])) for letter in pull.needs})
                change = pull.map(Num(self.b, adjoint), saved)
                self._pass_on(op, operand, adjoint, self.b.cast(change.v, operand.dtype))

    def _pass_on(self, op: Op, operand: Value, adjoint: Value, change: Value) -> None:
        """Add to the adjoint of an operand; where nothing is connected, 0, even if the derivative is infinite."""
        loose = self.adjoints.is_loose(adjoint)
        if loose and op.opdef not in _BOUNDED:
            none = self.b.eq(adjoint, self.b.const(0.0, adjoint.dtype))
            change = self.b.select(none, self.b.const(0.0, change.dtype), change)
        self.adjoints.add(operand, change, loose=loose or op.opdef in _CHOOSING)

    @staticmethod
    def _now(names: Names, value: Value) -> Value:
        return names.get(value, value)

    def _indices(self, op: Op, names: Names, start: int, count: int) -> list[Value]:
        return [self._now(names, v) for v in op.operands[start : start + count]]

    # ---- memory

    def _load(self, op: Op, names: Names) -> None:
        adjoint = self.adjoints.take(op.result)
        if adjoint is not None:
            place = self.places[op.attrs["place"].name]
            self.b.atomic("add", place, self._indices(op, names, 0, place.rank), adjoint)

    def _store(self, op: Op, names: Names) -> None:
        """What was overwritten does not matter any more: its adjoint is consumed."""
        place = self.places[op.attrs["place"].name]
        indices = self._indices(op, names, 0, place.rank)
        adjoint = self.b.load(place, indices)
        self.b.store(place, indices, self.b.const(0.0, place.dtype))
        value = op.operands[place.rank]
        if value in self.activity:
            self.adjoints.add(value, adjoint, loose=op in self.overwritten)

    def _atomic(self, op: Op, names: Names) -> None:
        kind, place = op.attrs["kind"], self.places[op.attrs["place"].name]
        indices = self._indices(op, names, 0, place.rank)
        old = self.adjoints.take(op.result)
        value = op.operands[place.rank]
        if kind == "add":
            if value in self.activity:
                self.adjoints.add(value, self.b.load(place, indices))
        else:
            self._winner(op, names, place, indices, value)
        if old is not None:
            self.b.atomic("add", place, indices, old)

    def _winner(self, op: Op, names: Names, place: Place, indices: list[Value], value: Value) -> None:
        """The adjoint of an atomic min or max goes to the value that memory holds in the end; of equal ones, to one."""
        last = self.b.load(op.attrs["place"], indices)
        won = Region()
        with self.b.into(won):
            taken = self.b.atomic("xchg", place, indices, self.b.const(0.0, place.dtype))
            self.b.yield_(taken)
        lost = Region()
        with self.b.into(lost):
            self.b.yield_(self.b.const(0.0, place.dtype))
        (adjoint,) = self.b.if_(self.b.eq(last, self._now(names, value)), won, lost)
        if value in self.activity:
            self.adjoints.add(value, adjoint, loose=True)

    def _array_load(self, op: Op, names: Names) -> None:
        adjoint = self.adjoints.take(op.result)
        if adjoint is not None:
            array, index = self.arrays[op.operands[0]], self._now(names, op.operands[1])
            self.b.array_store(array, index, self.b.add(self.b.array_load(array, index), adjoint))

    def _array_store(self, op: Op, names: Names) -> None:
        array, index = self.arrays[op.operands[0]], self._now(names, op.operands[1])
        adjoint = self.b.array_load(array, index)
        self.b.array_store(array, index, self.b.const(0.0, adjoint.dtype))
        if op.operands[2] in self.activity:
            self.adjoints.add(op.operands[2], adjoint, loose=True)

    # ---- control

    def _if(self, op: Op, names: Names, counters: Counters, index: Value | None) -> None:
        seeds = [self.adjoints.take(r) for r in op.results]
        inner = self.saves.counters_in(op)
        around = self.activity.live_in(*op.regions)
        branches = [self._branch(region, seeds, names, counters, index, around) for region in op.regions]
        reached = [k for k in range(len(around)) if any(adjoints[k] is not None for _, adjoints, _ in branches)]
        for branch, adjoints, counts in branches:
            with self.b.into(branch):
                yielded = [adjoints[k] or self.adjoints.zero(around[k]) for k in reached]
                self.b.yield_(*yielded, *(counts[loop] for loop in inner))
        merged = self.b.if_(self._now(names, op.operands[0]), *(branch for branch, _, _ in branches))
        for k, adjoint in zip(reached, merged, strict=False):
            loose = any(self.adjoints.is_loose(adjoints[k]) for _, adjoints, _ in branches)
            self.adjoints.add(around[k], adjoint, loose=loose)
        counters.update(zip(inner, merged[len(reached) :], strict=True))

    def _branch(
        self,
        region: Region,
        seeds: Sequence[Value | None],
        names: Names,
        counters: Counters,
        index: Value | None,
        around: Sequence[Value],
    ) -> tuple[Region, list[Value | None], Counters]:
        """One side without its terminator; what it adds to the adjoints of values around it; its counters."""
        branch, counts = Region(), dict(counters)
        with self.b.into(branch), self.adjoints.inner():
            for value, seed in zip(region.terminator.operands, seeds, strict=True):
                if seed is not None and value in self.activity:
                    self.adjoints.add(value, seed, loose=self.adjoints.is_loose(seed))
            if region in self.saves.counted:
                index = counts[region] = self.b.sub(counts[region], counter(self.b, 1))
            self.region(region, scoped(names), counts, index)
            adjoints = [self.adjoints.take(v) for v in around]
        return branch, adjoints, counts

    def _loop(self, op: Op, names: Names, counters: Counters) -> None:
        """A loop, by a `for` that counts its trip count down."""
        initials = op.operands[2:] if op.opdef is FOR else op.operands
        flow, initial = self._taken(op)
        if self.blocks is not None and op in self.blocks:
            adjoints = self.blocks.backward(self, op, flow, initial, names, counters)
        else:
            trips = names[self.saves.trips[op]]
            counters[op] = self.b.sub(counters[op], trips)
            adjoints = self.iterations(op, flow, (None, trips), initial, names, counters)
        for k, adjoint, lost in zip(flow.carried, adjoints, flow.loose, strict=False):
            if initials[k] in self.activity:
                self.adjoints.add(initials[k], adjoint, loose=lost)
        for value, adjoint in zip(flow.around, adjoints[len(flow.carried) :], strict=True):
            self.adjoints.add(value, adjoint, loose=True)  # a loop without iterations adds nothing

    def _taken(self, op: Op) -> tuple[Flow, list[Value]]:
        """What goes through a reversed loop, and the adjoints that it starts with."""
        source = op.regions[-1]
        first = 1 if op.opdef is FOR else 0
        carried = [k for k, a in enumerate(source.args[first:]) if a in self.activity or op.results[k] in self.activity]
        around = self.activity.live_in(source)
        seeds = [self.adjoints.take_or_zero(op.results[k]) for k in carried]
        parts = _may_disconnect(source)
        loose = [parts or self.adjoints.is_loose(seed) for seed in seeds]
        zeros = [self.b.const(0.0, v.dtype) for v in around]
        return Flow(carried, loose, around), [*seeds, *zeros]

    def iterations(
        self,
        op: Op,
        flow: Flow,
        span: tuple[Value | None, Value],
        adjoints: Sequence[Value],
        names: Names,
        counters: Counters,
    ) -> list[Value]:
        """Reverse `span[1]` iterations from the one numbered `span[0]` on (None: the first); gives the adjoints."""
        inner = self.saves.counters_in(op)
        args = [Value(i64), *(Value(v.type) for v in adjoints), *(Value(i64) for _ in inner)]
        body = Region(args)
        with self.b.into(body), self.adjoints.inner():
            self._loop_body(op, body, span, names, counters, flow)
        left = self.b.for_(counter(self.b), span[1], [*adjoints, *(counters[loop] for loop in inner)], body)
        counters.update(zip(inner, left[len(adjoints) :], strict=True))
        return left[: len(adjoints)]

    def _loop_body(
        self,
        op: Op,
        body: Region,
        span: tuple[Value | None, Value],
        names: Names,
        counters: Counters,
        flow: Flow,
    ) -> None:
        carried, around, inner = flow.carried, flow.around, self.saves.counters_in(op)
        source = op.regions[-1]
        first = 1 if op.opdef is FOR else 0
        done, *rest = body.args
        sums = rest[len(carried) : len(carried) + len(around)]
        local, state = scoped(names), dict(counters)
        state.update(zip(inner, rest[len(carried) + len(around) :], strict=True))
        left = self.b.sub(span[1], done)
        slot = self.b.sub(left, counter(self.b, 1))
        if op.opdef is FOR:
            lo = self._now(names, op.operands[0])
            iteration = slot if span[0] is None else self.b.add(span[0], slot)
            local[source.args[0]] = self.b.add(lo, self.b.cast(iteration, lo.dtype))
        yielded = source.terminator.operands
        for k, adjoint, lost in zip(carried, rest, flow.loose, strict=False):
            if yielded[k] in self.activity:
                self.adjoints.add(yielded[k], adjoint, loose=lost)
        self.region(source, local, state, self.b.add(state[op], slot))
        new = [self.adjoints.take_or_zero(source.args[first + k]) for k in carried]
        totals = []
        for value, total in zip(around, sums, strict=True):
            more = self.adjoints.take(value)
            totals.append(total if more is None else self.b.add(total, more))
        self.b.yield_(*new, *totals, *(state[loop] for loop in inner))


_CHOOSING = frozenset({SELECT, MAX, MIN, ABS})
"""Operations that may pass nothing on to some of their operands."""

_BOUNDED = _CHOOSING | {ADD, SUB, NEG, CAST, SIN, COS, TANH, ATAN}
"""Operations whose derivative is finite, whatever their operands."""


def _may_disconnect(body: Region) -> bool:
    """Whether an adjoint that goes through this loop body backwards may come out as nothing."""
    parting = _CHOOSING | {IF, FOR, WHILE, STORE, ATOMIC, ARRAY_STORE}
    return any(op.opdef in parting for op in body.walk())
