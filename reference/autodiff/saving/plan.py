"""What is saved for the reverse pass, as data: `SavePlan`; planner.py makes it, the emission only reads it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ...ir.ops import IF, SERIAL_LOOPS
from ...ir.structure import Op, Region, Value

__all__ = ["Counted", "RegionPlan", "SavePlan", "Saved", "Sides", "counters_by_op"]

Counted = Op | Region
"""What has a counter, and adstacks of its own: a loop, or a side of an `if` that is counted."""

Sides = tuple[int, ...]
"""Which sides of branches something is in, from the outermost: 2 n + side of the nth `if`."""


@dataclass(frozen=True)
class Saved:
    """A value that has an adstack.

    Attributes:
        value: the value.
        inside: the branches that the region is in, within the loop or counted side whose counter the adstack has.
        region: the region that saves it.
    """

    value: Value
    inside: Sides
    region: Region


@dataclass(frozen=True)
class RegionPlan:
    """What the reversal of a region starts with.

    Attributes:
        region: the region.
        saved: the values that the forward sweep saves, in program order.
        recomputed: the ops that run again first, in program order; of a `for` only its trip count.
        from_around: those of the saved values that are defined around the region: a branch saves them when it is taken.
    """

    region: Region
    saved: tuple[Value, ...] = ()
    recomputed: tuple[Op, ...] = ()
    from_around: tuple[Value, ...] = ()


@dataclass(frozen=True)
class SavePlan:
    """What the reverse pass of a kernel saves and recomputes.

    Attributes:
        regions: the plan of each region in which something is reversed.
        trips: for each active loop, a stand-in for its trip count (i64).
        counted: the sides of `if`s that have counters, and so adstacks, of their own.
        counters: for each op with regions, what has a counter inside it: outer before inner.
    """

    regions: Mapping[Region, RegionPlan]
    trips: Mapping[Op, Value]
    counted: frozenset[Region]
    counters: Mapping[Op, tuple[Counted, ...]]

    def counters_in(self, op: Op) -> tuple[Counted, ...]:
        """The loops and counted sides inside an op, outer before inner."""
        return self.counters.get(op, ())

    def counters_of(self, op: Op) -> tuple[Counted, ...]:
        """The same with the op itself, if it is a loop."""
        inside = self.counters_in(op)
        return (op, *inside) if op.opdef in SERIAL_LOOPS else inside

    def sides_in(self, region: Region) -> list[Region]:
        """The counted sides of `if`s in a region, without those in loops inside it."""
        sides: list[Region] = []
        for op in region.ops:
            for side in op.regions if op.opdef is IF else ():
                sides += [side] if side in self.counted else []
                sides += self.sides_in(side)
        return sides

    def saved(self, region: Region) -> tuple[Value, ...]:
        """The values that a region saves; none if nothing is reversed in it."""
        plan = self.regions.get(region)
        return () if plan is None else plan.saved

    def with_saved(self, more: Mapping[Region, Collection[Value]]) -> SavePlan:
        """The plan in which these regions save these values, too."""
        regions = dict(self.regions)
        for region, values in more.items():
            saved = regions[region].saved
            new = (value for value in dict.fromkeys(values) if value not in saved)
            regions[region] = replace(regions[region], saved=(*saved, *new))
        return replace(self, regions=regions)


def counters_by_op(body: Region, counted: Collection[Region]) -> dict[Op, tuple[Counted, ...]]:
    """What `SavePlan.counters` holds for a region, if these sides are counted."""
    counters: dict[Op, tuple[Counted, ...]] = {}
    _count(body, counted, counters)
    return counters


def _count(region: Region, counted: Collection[Region], counters: dict[Op, tuple[Counted, ...]]) -> list[Counted]:
    """Enter the ops of a region; what has a counter in it."""
    inside: list[Counted] = []
    for op in region.ops:
        if not op.regions:
            continue
        own: list[Counted] = []
        for inner in op.regions:
            own += [inner] if inner in counted else []
            own += _count(inner, counted, counters)
        counters[op] = tuple(own)
        inside += [op, *own] if op.opdef in SERIAL_LOOPS else own
    return inside
