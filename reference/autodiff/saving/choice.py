"""Save or recompute, for a region in a loop and the counted branches in it: a minimum cut through their data flow.

The same idea decides for whole graphs in PyTorch's AOTAutograd (`min_cut_rematerialization_partition`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ...ir.ops import FOR, WHILE
from ...ir.structure import Op, Region, Value
from .foresight import ALWAYS
from .mincut import cheapest_cut

__all__ = ["Choice", "Scope", "inputs"]

_Node = tuple[Value, Region]
"""A value where it is needed."""


@dataclass
class Scope:
    """A region in a loop, and the counted branches in it: what they save is decided together.

    Attributes:
        root: the region.
        needs: what reversing the ops of each of them looks at.
        around: for each branch, the region that its `if` is in.
    """

    root: Region
    needs: dict[Region, set[Value]] = field(default_factory=dict)
    around: dict[Region, Region] = field(default_factory=dict)


class Choice:
    """The cheapest way to have what a scope needs.

    A value may be saved where it is defined, or in a branch that uses it; it is recomputed where it is defined.

    Args:
        scope: what is decided about.
        weights: in about how many of `ALWAYS` iterations each branch of the scope is taken.
        trips: a stand-in for the trip count of each active loop.
        repeatable: whether an op gives the same again from its operands.
        indexed: whether the first argument of the scope's root is a loop's index, which is always at hand.

    Attributes:
        home: where each value of the scope is defined.
        saved: (value, the region that saves it).
        recomputed: (op, its region): what is between the saved values and the needed ones.
    """

    def __init__(
        self,
        scope: Scope,
        weights: Mapping[Region, int],
        trips: Mapping[Op, Value],
        repeatable: Callable[[Op], bool],
        *,
        indexed: bool,
    ) -> None:
        self._scope, self._weights, self._trips, self._repeatable = scope, weights, trips, repeatable
        self.home: dict[Value, Region] = {}
        for region in scope.needs:
            self.home.update((v, region) for v in region.args)
            for op in region.ops:
                self.home.update((v, region) for v in op.results)
                if op in trips:
                    self.home[trips[op]] = region
        self._loops = {trips[op]: op for region in scope.needs for op in region.ops if op in trips}
        index = scope.root.args[0] if indexed else None
        sinks = [(v, r) for r, needs in scope.needs.items() for v in needs if v in self.home and v is not index]
        self._index = index  # counted down by the reversed loop itself
        self.saved = self._cut(sinks)
        self.recomputed = self._between(sinks)

    def saved_in(self, region: Region) -> set[Value]:
        """What a region saves."""
        return {value for value, where in self.saved if where is region}

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
        """Bytes by how often they are saved; a slot in several branches is no better than one around them."""
        value, region = node
        weight = self._weights[region] + 1 if region in self._weights else ALWAYS
        return value.dtype.size * weight

    def _definition(self, value: Value) -> Op | None:
        """The op that a value of the scope comes from: of a trip count the loop; None for an argument."""
        return self._loops.get(value, value.op)

    def _behind(self, node: _Node) -> list[_Node] | None:
        """What a value is computed from in a region; None if it has to be saved."""
        value, region = node
        if self.home[value] is not region:
            return [(value, self._scope.around[region])]
        op = self._definition(value)
        if op is None or not (value in self._loops or self._repeatable(op)):
            return None
        if op.opdef is WHILE:
            return None
        return [(v, region) for v in inputs(op) if v in self.home and v is not self._index]

    def _between(self, sinks: list[_Node]) -> set[tuple[Op, Region]]:
        """The ops between what is saved and what is needed."""
        ops: set[tuple[Op, Region]] = set()
        seen: set[_Node] = set()
        work = list(sinks)
        while work:
            node = work.pop()
            if node in self.saved or node in seen:
                continue
            seen.add(node)
            value, region = node
            op = self._definition(value)
            if self.home[value] is region and op is not None:
                ops.add((op, region))
            work += self._behind(node) or ()
        return ops


def inputs(op: Op) -> Sequence[Value]:
    """What recomputing an op takes; of a `for` only its trip count is recomputed."""
    return op.operands[:2] if op.opdef is FOR else op.operands
