"""Which primals the reverse pass looks at, and for those inside loops, which are kept and which are computed again.

Requires: an optimised kernel whose active `while`s are rotated (see `rotate.py`). Ensures: for every region with
something to reverse a `RegionPlan`. Outside loops a value is at hand when the reverse pass gets to it (through the
results of its `if`s), so nothing is ever computed twice there. Inside a loop the kept values are a minimum cut, by
bytes, between what can't be computed again (carried values, results of inner loops and branches, memory that the kernel
writes) and what is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...ir.derivatives import RULES
from ...ir.structure import Op, Region, Value
from ...ir.types import DType, i64
from .activity import Activity
from .mincut import cheapest_cut
from .state import free_values

__all__ = ["Planner", "RegionPlan"]


@dataclass
class RegionPlan:
    """What a region's reversal needs to start with.

    Attributes:
        region: whose.
        kept: values to keep, in program order.
        again: ops to run again first, in program order; of a `for` only its trip count.
        looped: whether it runs inside a loop, so that kept values go to an adstack.
    """

    region: Region
    kept: list[Value] = field(default_factory=list)
    again: list[Op] = field(default_factory=list)
    looped: bool = False


class Planner:
    """Plans a whole kernel.

    Attributes:
        plans: by region.
        trips: for each active loop, a stand-in for the number of its iterations (i64).
        outside: per region, the values from around it that its reversal looks at.
        levels: of nested loops that may run again when those around them are reversed: what they use must be at hand.
    """

    def __init__(self, body: Region, activity: Activity, written: set[str], levels: int = 1) -> None:
        self.levels = levels
        self._level = 0
        self.activity = activity
        self.written = written
        self.plans: dict[Region, RegionPlan] = {}
        self.trips: dict[Op, Value] = {}
        self.outside: dict[Region, set[Value]] = {}
        self._for_bodies = {op.regions[0] for op in body.walk() if op.name == "for"}
        self._plan(body, looped=False)

    # ---- one region

    def _plan(self, region: Region, *, looped: bool) -> set[Value]:
        """Plan a region and those inside; the values from around it that are needed."""
        own = _defined(region) | {self._trips_of(op) for op in region.ops if op.name in ("for", "while")}
        needed: set[Value] = set()
        for op in region.ops:
            if self.activity.touches(op):
                needed |= self._needs(op, looped)
        plan = RegionPlan(region, looped=looped)
        inside = needed & own
        if looped:
            kept, again = self._cut(region, inside)
            plan.again = [op for op in region.ops if op in again]
            needed |= {v for op in plan.again for v in _inputs(op)}
        else:
            kept = inside
        plan.kept = self._in_order(region, kept)
        self.plans[region] = plan
        self.outside[region] = needed - own
        return needed - own

    def _trips_of(self, op: Op) -> Value:
        if op not in self.trips:
            self.trips[op] = Value(i64, "trips")
        return self.trips[op]

    def _in_order(self, region: Region, values: set[Value]) -> list[Value]:
        order = list(region.args)
        for op in region.ops:
            order += op.results
            if op in self.trips:
                order.append(self.trips[op])
        return [v for v in order if v in values]

    # ---- what an op's reversal looks at

    def _needs(self, op: Op, looped: bool) -> set[Value]:
        if op.name in ("load", "array.load"):
            return {v for v in op.operands if isinstance(v.type, DType)} if op.result in self.activity else set()
        if op.name in ("store", "atomic"):
            return self._memory_needs(op)
        if op.name == "array.store":
            return {op.operands[1]}
        if op.name == "if":
            return {op.operands[0]}.union(*(self._plan(r, looped=looped) for r in op.regions))
        if op.name in ("for", "while"):
            return {*op.operands[: op.name == "for"], self._trips_of(op)} | self._loop_needs(op, looped)
        if op.name == "parallel_for":
            return set(op.operands) | self._plan(op.regions[0], looped=False)
        return self._scalar_needs(op)

    def _loop_needs(self, op: Op, looped: bool) -> set[Value]:
        """What a loop's trips look at; all of what it uses, if it may run again inside another."""
        again = looped and self._level < self.levels
        self._level += 1
        needed = self._plan(op.regions[-1], looped=True)
        self._level -= 1
        used = free_values([op.regions[-1]], real=False) if again else []
        return needed.union(v for v in used if isinstance(v.type, DType))

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

    def _cut(self, region: Region, needed: set[Value]) -> tuple[set[Value], set[Op]]:
        makers = {v: op for op in region.ops for v in op.results}
        makers.update((self.trips[op], op) for op in region.ops if op.name == "for")
        index = region.args[0] if region in self._for_bodies else None
        costs: dict[Value, int] = {}
        edges: dict[Value, list[Value]] = {}
        sources: list[Value] = []
        own = _defined(region) | set(self.trips.values())
        work = list(needed)
        while work:
            value = work.pop()
            if value in costs:
                continue
            costs[value] = value.dtype.size
            maker = makers.get(value)
            if value is index:
                continue  # counted down by the reversed loop itself
            if maker is None or not (value is self.trips.get(maker) or self._repeatable(maker)):
                sources.append(value)
                continue
            for operand in _inputs(maker):
                if operand in own:
                    edges.setdefault(operand, []).append(value)
                    work.append(operand)
        kept = cheapest_cut(costs, edges, sources, [v for v in needed if v is not index])
        return kept, self._repeated(needed, kept, makers, own)

    def _repeated(self, needed: set[Value], kept: set[Value], makers: dict[Value, Op], own: set[Value]) -> set[Op]:
        """The ops between what is kept and what is needed."""
        found: set[Op] = set()
        work = [v for v in needed if v not in kept]
        while work:
            maker = makers.get(work.pop())
            if maker is None or maker in found:
                continue
            found.add(maker)
            work += [v for v in _inputs(maker) if v in own and v not in kept]
        return found

    def _repeatable(self, op: Op) -> bool:
        """Whether an op gives the same again in the reverse pass, from its operands."""
        if op.name == "load":
            return op.attrs["place"].name not in self.written
        return op.opdef.pure and not op.regions


def _inputs(op: Op) -> list[Value]:
    """What running an op again takes; of a `for` only its trip count is computed."""
    return op.operands[:2] if op.name == "for" else op.operands


def _defined(region: Region) -> set[Value]:
    """The values that a region itself defines."""
    return set(region.args).union(*(op.results for op in region.ops))
