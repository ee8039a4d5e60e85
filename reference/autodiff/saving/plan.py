"""Which primals the reverse pass looks at, and for those inside loops, which are kept and which are computed again.

Requires: an optimised kernel whose active `while`s are rotated (see `rotate.py`). Ensures: for every region with
something to reverse a `RegionPlan`. Outside loops a value is at hand when the reverse pass gets to it (through the
results of its `if`s), so nothing is ever computed twice there. Inside a loop the kept values are a minimum cut, by
bytes, between what can't be computed again (carried values, results of inner loops and branches, memory that the kernel
writes) and what is needed. A branch of which is known how often it is taken (foresight.py) is planned together with the
loop around it: what the branch keeps has a slot for each trip that takes it, and costs as much less as that is rarer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...ir.derivatives import RULES
from ...ir.structure import Op, Region, Value
from ...ir.types import DType, i64
from ..activities.activity import Activity
from ..activities.free import free_values
from .foresight import WHOLE, Foresight
from .mincut import cheapest_cut

__all__ = ["Counted", "Planner", "RegionPlan"]

Counted = Op | Region
"""What has a counter, and adstacks of its own: a loop, or a side of an `if` that is counted."""


@dataclass
class RegionPlan:
    """What a region's reversal needs to start with.

    Attributes:
        region: whose.
        kept: values to keep, in program order.
        again: ops to run again first, in program order; of a `for` only its trip count.
        looped: whether it runs inside a loop, so that kept values go to an adstack.
        handed: those of the kept values that come from around it: a branch keeps them when it is taken.
    """

    region: Region
    kept: list[Value] = field(default_factory=list)
    again: list[Op] = field(default_factory=list)
    looped: bool = False
    handed: list[Value] = field(default_factory=list)


@dataclass
class _Scope:
    """A region in a loop, and the counted branches in it: what they keep is decided together.

    Attributes:
        root: the region.
        needs: what reversing the ops of each of them looks at.
        around: for each branch, the region that its `if` is in.
    """

    root: Region
    needs: dict[Region, set[Value]] = field(default_factory=dict)
    around: dict[Region, Region] = field(default_factory=dict)


class Planner:
    """Plans a whole kernel.

    Attributes:
        plans: by region.
        trips: for each active loop, a stand-in for the number of its iterations (i64).
        counted: sides of `if`s with counters of their own, and in how many of `WHOLE` trips they are taken, say.
        levels: of nested loops that may run again when those around them are reversed: what they use must be at hand.
    """

    def __init__(self, body: Region, activity: Activity, written: set[str], levels: int = 1) -> None:
        self.levels = levels
        self._level = 0
        self.activity = activity
        self.written = written
        self.plans: dict[Region, RegionPlan] = {}
        self.trips: dict[Op, Value] = {}
        self.counted: dict[Region, int] = {}
        self.foresight = Foresight(body, written)
        self._nest: Op | None = None
        self._counters: dict[Counted, list[Counted]] = {}
        self.for_bodies = {op.regions[0] for op in body.walk() if op.name == "for"}
        self._plan(body, looped=False)

    # ---- one region

    def _plan(self, region: Region, *, looped: bool) -> set[Value]:
        """Plan a region and those inside; the values from around it that are needed."""
        if looped:
            scope = _Scope(region)
            self._gather(region, scope)
            return self._settle(scope)
        own = _defined(region) | {self._trips_of(op) for op in region.ops if op.name in ("for", "while")}
        needed: set[Value] = set()
        for op in region.ops:
            if self.activity.touches(op):
                needed |= self._needs(op, None, region)
        self.plans[region] = RegionPlan(region, self._in_order([region], needed & own))
        return needed - own

    def _gather(self, region: Region, scope: _Scope) -> None:
        """Find out what a region's ops need, and those of counted branches in it."""
        needed = scope.needs[region] = set()
        for op in region.ops:
            if op.name in ("for", "while"):
                self._trips_of(op)
            if self.activity.touches(op):
                needed |= self._needs(op, scope, region)

    def counters_in(self, op: Counted) -> list[Counted]:
        """The loops, and the sides of `if`s, that have counters, in an op or region: outer before inner."""
        if op not in self._counters:
            inner_loops: list[Counted] = []
            for inner in op.regions if isinstance(op, Op) else [op]:
                if inner is not op and inner in self.counted:
                    inner_loops.append(inner)
                for one in inner.ops:
                    inner_loops += [one] if one.name in ("for", "while") else []
                    inner_loops += self.counters_in(one) if one.regions else []
            self._counters[op] = inner_loops
        return self._counters[op]

    def sides_in(self, region: Region) -> list[Region]:
        """The counted sides of `if`s in a region, those in loops inside it left out."""
        sides: list[Region] = []
        for op in region.ops:
            for side in op.regions if op.name == "if" else ():
                sides += [side] if side in self.counted else []
                sides += self.sides_in(side)
        return sides

    def counters_of(self, op: Op) -> list[Counted]:
        """The same with the op itself, if it is a loop."""
        return [op, *self.counters_in(op)] if op.name in ("for", "while") else self.counters_in(op)

    def _trips_of(self, op: Op) -> Value:
        if op not in self.trips:
            self.trips[op] = Value(i64, "trips")
        return self.trips[op]

    def _in_order(self, regions: Sequence[Region], values: set[Value]) -> list[Value]:
        order: list[Value] = []
        for region in regions:
            order += region.args
            for op in region.ops:
                order += op.results
                if op in self.trips:
                    order.append(self.trips[op])
        return [v for v in order if v in values]

    # ---- what an op's reversal looks at

    def _needs(self, op: Op, scope: _Scope | None, region: Region) -> set[Value]:
        if op.name in ("load", "array.load"):
            return {v for v in op.operands if isinstance(v.type, DType)} if op.result in self.activity else set()
        if op.name in ("store", "atomic"):
            return self._memory_needs(op)
        if op.name == "array.store":
            return {op.operands[1]}
        if op.name == "if":
            return {op.operands[0]}.union(*(self._side_needs(op, k, scope, region) for k in (0, 1)))
        if op.name in ("for", "while"):
            used = {*op.operands[: op.name == "for"], self._trips_of(op)}
            return used | self._loop_needs(op, looped=scope is not None)
        if op.name == "parallel_for":
            return set(op.operands) | self._plan(op.regions[0], looped=False)
        return self._scalar_needs(op)

    def _side_needs(self, op: Op, side: int, scope: _Scope | None, region: Region) -> set[Value]:
        """What a side of an `if` looks at, but for what it may keep itself."""
        source = op.regions[side]
        if scope is None or not self._may_count(op, side):
            return self._plan(source, looped=scope is not None)
        yes = self.foresight.often(op.operands[0])
        part = WHOLE - yes if side else yes
        self.counted[source] = max(1, part * self.counted.get(region, WHOLE) // WHOLE)
        scope.around[source] = region
        self._gather(source, scope)
        return set()

    def _may_count(self, op: Op, side: int) -> bool:
        """Whether a side of an `if` in a loop may have a counter.

        Both sides have one only if all iterations of a parallel loop take the same: else there would have to be room
        for the most that any iteration takes of one side, and for the most of the other.
        """
        looks = [self._looks(region) for region in op.regions]
        assert self._nest is not None
        if not looks[side] or not self.foresight.knows(op.operands[0], self._nest):
            return False
        return not all(looks) or self.foresight.is_uniform(op.operands[0])

    def _looks(self, region: Region) -> bool:
        """Whether reversing a region looks at anything."""
        for op in region.ops:
            if self.activity.touches(op):
                if op.regions:
                    return True
                if self._needs(op, None, region):
                    return True
        return False

    def _loop_needs(self, op: Op, *, looped: bool) -> set[Value]:
        """What a loop's trips look at; all of what it uses, if it may run again inside another."""
        again = looped and self._level < self.levels
        outer, self._nest = self._nest, self._nest or op
        self._level += 1
        needed = self._plan(op.regions[-1], looped=True)
        self._level -= 1
        self._nest = outer
        return needed | self._used_again(op) if again else needed

    def _used_again(self, loop: Op) -> set[Value]:
        """What a loop uses of what is around it when it runs once more, only to keep and to get further."""
        inside = list(Region(ops=[loop]).walk())
        regions = [region for op in inside for region in op.regions]
        wanted = {v for region in regions if region in self.plans for v in self.plans[region].kept}
        wanted.update(v for op in inside if op.name in ("if", "for") for v in op.operands[: 1 + (op.name == "for")])
        wanted.update(region.terminator.operands[0] for op in inside if op.name == "while" for region in op.regions[:1])
        behind = self.foresight.behind(wanted)
        return {v for v in free_values(loop.regions[-1:], real=False) if v in behind and isinstance(v.type, DType)}

    def _memory_needs(self, op: Op) -> set[Value]:
        rank = op.attrs["place"].rank
        needed = set(op.operands[:rank])
        if op.attrs.get("kind") in ("min", "max"):
            needed.add(op.operands[rank])
        return needed

    def _scalar_needs(self, op: Op) -> set[Value]:
        row = RULES.get(op.name)
        if row is None or not op.results or op.results[0] not in self.activity:
            return set()
        named = dict(zip("xyz", op.operands, strict=False), r=op.results[0])
        needed: set[Value] = set()
        for operand, pull in zip(op.operands, row, strict=True):
            if pull is not None and operand in self.activity:
                needed.update(named[letter] for letter in pull.needs)
        return needed

    # ---- inside loops: keep or compute again

    def _settle(self, scope: _Scope) -> set[Value]:
        """Decide what a region in a loop and its counted branches keep; what they need from around it."""
        choice = _Choice(self, scope)
        regions = list(scope.needs)
        needed: set[Value] = set().union(*scope.needs.values())
        for region in regions:
            own = choice.kept_in(region)
            kept = self._in_order(regions, own)
            again = [op for op in region.ops if (op, region) in choice.again]
            handed = [v for v in kept if choice.home[v] is not region]
            self.plans[region] = RegionPlan(region, kept, again, looped=True, handed=handed)
            needed |= {v for op in again for v in _inputs(op)}
        for region in scope.around:
            if not self._keeps(region):
                del self.counted[region]
        return needed - choice.home.keys()

    def _keeps(self, region: Region) -> bool:
        """Whether a region keeps anything itself, or branches in it that are not counted."""
        if self.plans[region].kept:
            return True
        sides = [r for op in region.ops if op.name == "if" for r in op.regions]
        return any(r in self.plans and r not in self.counted and self._keeps(r) for r in sides)

    def repeatable(self, op: Op) -> bool:
        """Whether an op gives the same again in the reverse pass, from its operands."""
        if op.name == "load":
            return op.attrs["place"].name not in self.written
        return op.opdef.pure and not op.regions


class _Choice:
    """The cheapest way to have what a scope needs: a minimum cut through all its regions.

    A value may be kept where it is defined, or in a branch that uses it; it is computed again where it is defined.

    Attributes:
        home: where each value of the scope is defined.
        kept: (value, the region that keeps it).
        again: (op, its region): what is between.
    """

    def __init__(self, planner: Planner, scope: _Scope) -> None:
        self.planner, self.scope = planner, scope
        self.home: dict[Value, Region] = {}
        self._makers: dict[Value, Op] = {}
        for region in scope.needs:
            self.home.update((v, region) for v in region.args)
            for op in region.ops:
                values = [*op.results, *([planner.trips[op]] if op in planner.trips else [])]
                self.home.update((v, region) for v in values)
                self._makers.update((v, op) for v in values)
        root = scope.root
        index = root.args[0] if root in planner.for_bodies else None
        sinks = [(v, r) for r, needs in scope.needs.items() for v in needs if v in self.home and v is not index]
        self._index = index  # counted down by the reversed loop itself
        self.kept = self._cut(sinks)
        self.again = self._between(sinks)

    def kept_in(self, region: Region) -> set[Value]:
        """What a region keeps."""
        return {value for value, keeper in self.kept if keeper is region}

    def _cut(self, sinks: list[_Node]) -> set[_Node]:
        costs: dict[_Node, int] = {}
        edges: dict[_Node, list[_Node]] = {}
        sources: list[_Node] = []
        work = list(sinks)
        while work:
            node = work.pop()
            if node in costs:
                continue
            costs[node] = self._cost(node)
            behind = self._behind(node)
            if behind is None:
                sources.append(node)
                continue
            for one in behind:
                edges.setdefault(one, []).append(node)
                work.append(one)
        return cheapest_cut(costs, edges, sources, sinks)

    def _cost(self, node: _Node) -> int:
        """Bytes by how often they are kept; a slot in several branches is no better than one around them."""
        value, region = node
        often = self.planner.counted[region] + 1 if region in self.scope.around else WHOLE
        return value.dtype.size * often

    def _behind(self, node: _Node) -> list[_Node] | None:
        """What a value follows from in a region; None if it has to be kept."""
        value, region = node
        if self.home[value] is not region:
            return [(value, self.scope.around[region])]
        maker = self._makers.get(value)
        if maker is None or not (value is self.planner.trips.get(maker, None) or self.planner.repeatable(maker)):
            return None
        if maker.name == "while":
            return None
        return [(v, region) for v in _inputs(maker) if v in self.home and v is not self._index]

    def _between(self, sinks: list[_Node]) -> set[tuple[Op, Region]]:
        """The ops between what is kept and what is needed."""
        ops: set[tuple[Op, Region]] = set()
        seen: set[_Node] = set()
        work = list(sinks)
        while work:
            node = work.pop()
            if node in self.kept or node in seen:
                continue
            seen.add(node)
            value, region = node
            if self.home[value] is region and value in self._makers:
                ops.add((self._makers[value], region))
            work += self._behind(node) or ()
        return ops


_Node = tuple[Value, Region]
"""A value where it is needed."""


def _inputs(op: Op) -> Sequence[Value]:
    """What running an op again takes; of a `for` only its trip count is computed."""
    return op.operands[:2] if op.name == "for" else op.operands


def _defined(region: Region) -> set[Value]:
    """The values that a region itself defines."""
    return set(region.args).union(*(op.results for op in region.ops))
