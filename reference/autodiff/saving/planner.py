"""Which primals the reverse pass looks at, and for those inside loops, which are saved and which are recomputed.

`plan_saves(body, activity, written) -> SavePlan`.

Requires: an optimised kernel whose active `while`s are rotated (see `rotate.py`); it is not changed. Ensures: for every
region with something to reverse a `RegionPlan`. Outside loops a value is at hand when the reverse pass gets to it
(through the results of its `if`s), so nothing is ever computed twice there. Inside a loop the saved values are a
minimum cut, by bytes, between what can't be recomputed (carried values, results of inner loops and branches, memory
that the kernel writes) and what is needed (choice.py). A branch is planned together with the loop around it if it is
known how often it is taken (foresight.py): what the branch saves has a slot for each iteration that takes it, and its
cost is weighted by how often that is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...ir.def_use import live_in
from ...ir.ops import ARRAY_LOAD, ARRAY_STORE, FOR, IF, LOAD, PARALLEL_FOR, PLACE_WRITES, SERIAL_LOOPS, WHILE
from ...ir.structure import Op, Region, Value
from ...ir.types import DType, i64
from ..activities.activity import Activity
from .choice import Choice, Scope, inputs
from .foresight import ALWAYS, Foresight
from .plan import RegionPlan, SavePlan, counters_by_op

__all__ = ["plan_saves"]


def plan_saves(body: Region, activity: Activity, written: Collection[str], levels: int = 1) -> SavePlan:
    """What the reverse pass of a kernel saves and recomputes.

    Args:
        body: of the kernel.
        activity: which of its values carry adjoints.
        written: names of the places that it writes: their loads can't be repeated.
        levels: of nested loops that may run again when those around them are reversed: what they use must be at hand.
    """
    planner = _Planner(body, activity, written, levels)
    counted = frozenset(planner.counted)
    return SavePlan(planner.regions, planner.trips, counted, counters_by_op(body, counted))


class _Planner:
    """Collects the parts of a `SavePlan`.

    Attributes:
        regions, trips: see `SavePlan`.
        counted: sides of `if`s with counters of their own, and in about how many of `ALWAYS` iterations each is taken.
    """

    def __init__(self, body: Region, activity: Activity, written: Collection[str], levels: int) -> None:
        self.regions: dict[Region, RegionPlan] = {}
        self.trips: dict[Op, Value] = {}
        self.counted: dict[Region, int] = {}
        self._activity, self._written, self._levels = activity, written, levels
        self._level = 0
        self._foresight = Foresight(body, written)
        self._nest: Op | None = None
        self._for_bodies = {op.regions[0] for op in body.walk() if op.opdef is FOR}
        self._plan(body, looped=False)

    # ---- one region

    def _plan(self, region: Region, *, looped: bool) -> set[Value]:
        """Plan a region and those inside; the values from around it that are needed."""
        if looped:
            scope = Scope(region)
            self._collect_needs(region, scope)
            return self._settle(scope)
        own = _defined(region) | {self._trips_of(op) for op in region.ops if op.opdef in SERIAL_LOOPS}
        needed: set[Value] = set()
        for op in region.ops:
            if self._activity.touches(op):
                needed |= self._needs(op, None, region)
        self.regions[region] = RegionPlan(region, self._in_order([region], needed & own))
        return needed - own

    def _collect_needs(self, region: Region, scope: Scope) -> None:
        """Enter what reversing a region's ops needs, and reversing those of counted branches in it."""
        needed = scope.needs[region] = set()
        for op in region.ops:
            if op.opdef in SERIAL_LOOPS:
                self._trips_of(op)
            if self._activity.touches(op):
                needed |= self._needs(op, scope, region)

    def _trips_of(self, op: Op) -> Value:
        if op not in self.trips:
            self.trips[op] = Value(i64, "trips")
        return self.trips[op]

    def _in_order(self, regions: Sequence[Region], values: set[Value]) -> tuple[Value, ...]:
        order: list[Value] = []
        for region in regions:
            order += region.args
            for op in region.ops:
                order += op.results
                if op in self.trips:
                    order.append(self.trips[op])
        return tuple(v for v in order if v in values)

    # ---- what an op's reversal looks at

    def _needs(self, op: Op, scope: Scope | None, region: Region) -> set[Value]:
        if op.opdef in (LOAD, ARRAY_LOAD):
            return {v for v in op.operands if isinstance(v.type, DType)} if op.result in self._activity else set()
        if op.opdef in PLACE_WRITES:
            return self._memory_needs(op)
        if op.opdef is ARRAY_STORE:
            return {op.operands[1]}
        if op.opdef is IF:
            return {op.operands[0]}.union(*(self._side_needs(op, k, scope, region) for k in (0, 1)))
        if op.opdef in SERIAL_LOOPS:
            used = {*op.operands[: op.opdef is FOR], self._trips_of(op)}
            return used | self._loop_needs(op, looped=scope is not None)
        if op.opdef is PARALLEL_FOR:
            return set(op.operands) | self._plan(op.regions[0], looped=False)
        return self._scalar_needs(op)

    def _side_needs(self, op: Op, side: int, scope: Scope | None, region: Region) -> set[Value]:
        """The values from around a side of an `if` that reversing it reads, without those that it saves itself."""
        source = op.regions[side]
        if scope is None or not self._may_count(op, side):
            return self._plan(source, looped=scope is not None)
        yes = self._foresight.frequency(op.operands[0])
        part = ALWAYS - yes if side else yes
        self.counted[source] = max(1, part * self.counted.get(region, ALWAYS) // ALWAYS)
        scope.around[source] = region
        self._collect_needs(source, scope)
        return set()

    def _may_count(self, op: Op, side: int) -> bool:
        """Whether a side of an `if` in a loop may have a counter.

        Both sides have one only if all iterations of a parallel loop take the same: else there would have to be room
        for the most that any iteration takes of one side, and for the most of the other.
        """
        looks = [self._looks(region) for region in op.regions]
        assert self._nest is not None
        if not looks[side] or not self._foresight.knows(op.operands[0], self._nest):
            return False
        return not all(looks) or self._foresight.is_uniform(op.operands[0])

    def _looks(self, region: Region) -> bool:
        """Whether reversing a region reads any primal."""
        for op in region.ops:
            if self._activity.touches(op):
                if op.regions:
                    return True
                if self._needs(op, None, region):
                    return True
        return False

    def _loop_needs(self, op: Op, *, looped: bool) -> set[Value]:
        """The values from around a loop that reversing it reads; all that it uses if it may run again."""
        again = looped and self._level < self._levels
        outer, self._nest = self._nest, self._nest or op
        self._level += 1
        needed = self._plan(op.regions[-1], looped=True)
        self._level -= 1
        self._nest = outer
        return needed | self._used_again(op) if again else needed

    def _used_again(self, loop: Op) -> set[Value]:
        """What a loop uses of the values around it when it runs again from a snapshot."""
        inside = list(Region(ops=[loop]).walk())
        regions = [region for op in inside for region in op.regions]
        wanted = {v for region in regions if region in self.regions for v in self.regions[region].saved}
        wanted.update(v for op in inside if op.opdef in (IF, FOR) for v in op.operands[: 1 + (op.opdef is FOR)])
        wanted.update(region.terminator.operands[0] for op in inside if op.opdef is WHILE for region in op.regions[:1])
        behind = self._foresight.behind(wanted)
        return {v for v in live_in(loop.regions[-1]) if v in behind and isinstance(v.type, DType)}

    def _memory_needs(self, op: Op) -> set[Value]:
        rank = op.attrs["place"].rank
        needed = set(op.operands[:rank])
        if op.attrs.get("kind") in ("min", "max"):
            needed.add(op.operands[rank])
        return needed

    def _scalar_needs(self, op: Op) -> set[Value]:
        pulls = op.opdef.pulls
        if not pulls or not op.results or op.results[0] not in self._activity:
            return set()
        named = dict(zip("xyz", op.operands, strict=False), r=op.results[0])
        needed: set[Value] = set()
        for operand, pull in zip(op.operands, pulls, strict=True):
            if pull is not None and operand in self._activity:
                needed.update(named[letter] for letter in pull.needs)
        return needed

    # ---- inside loops: save or recompute

    def _settle(self, scope: Scope) -> set[Value]:
        """Decide what a region in a loop and its counted branches save; what they need from around it."""
        weights = {region: self.counted[region] for region in scope.around}
        choice = Choice(scope, weights, self.trips, self.repeatable, indexed=scope.root in self._for_bodies)
        regions = list(scope.needs)
        needed: set[Value] = set().union(*scope.needs.values())
        for region in regions:
            saved = self._in_order(regions, choice.saved_in(region))
            recomputed = tuple(op for op in region.ops if (op, region) in choice.recomputed)
            from_around = tuple(v for v in saved if choice.home[v] is not region)
            self.regions[region] = RegionPlan(region, saved, recomputed, from_around)
            needed |= {v for op in recomputed for v in inputs(op)}
        for region in scope.around:
            if not self._saves(region):
                del self.counted[region]
        return needed - choice.home.keys()

    def _saves(self, region: Region) -> bool:
        """Whether a region saves anything itself, or branches in it that are not counted."""
        if self.regions[region].saved:
            return True
        sides = [r for op in region.ops if op.opdef is IF for r in op.regions]
        return any(r in self.regions and r not in self.counted and self._saves(r) for r in sides)

    def repeatable(self, op: Op) -> bool:
        """Whether an op gives the same again in the reverse pass, from its operands."""
        if op.opdef is LOAD:
            return op.attrs["place"].name not in self._written
        return op.opdef.pure and not op.regions


def _defined(region: Region) -> set[Value]:
    """The values that a region itself defines."""
    return set(region.args).union(*(op.results for op in region.ops))
