"""The cheapest set of values to save: a minimum vertex cut.

Source: L. Ford and D. Fulkerson, "Maximal flow through a network", 1956; level graphs by E. Dinic, 1970.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

__all__ = ["cheapest_cut"]

Node = TypeVar("Node", bound=Hashable)
_UNBOUNDED: Final = 1 << 60


def cheapest_cut(
    costs: Mapping[Node, int],
    edges: Mapping[Node, Sequence[Node]],
    sources: Iterable[Node],
    sinks: Iterable[Node],
) -> set[Node]:
    """Nodes of least total cost without which no path leads from a source to a sink.

    Of equals, those nearest the sinks.

    Args:
        costs: what it costs to cut a node, for every node.
        edges: node -> where it leads.
        sources: where paths begin; they may be cut themselves.
        sinks: where paths end; likewise.
    """
    net = _Network(2 * len(costs) + 2)
    number = {node: 2 * k for k, node in enumerate(costs)}
    source, sink = net.size - 2, net.size - 1
    for node, cost in costs.items():
        net.edge(number[node], number[node] + 1, cost)
        for target in edges.get(node, ()):
            net.edge(number[node] + 1, number[target], _UNBOUNDED)
    for node in sources:
        net.edge(source, number[node], _UNBOUNDED)
    for node in sinks:
        net.edge(number[node] + 1, sink, _UNBOUNDED)
    net.saturate(source, sink)
    reaches = net.reaching(sink)
    return {node for node, k in number.items() if k + 1 in reaches and k not in reaches}


class _Network:
    """Residual capacities; edge e and its reverse e ^ 1 stand together."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._out: list[list[int]] = [[] for _ in range(size)]
        self._to: list[int] = []
        self._room: list[int] = []

    def edge(self, a: int, b: int, room: int) -> None:
        """Add an edge with a capacity, and its reverse with none."""
        for tail, head, capacity in ((a, b, room), (b, a, 0)):
            self._out[tail].append(len(self._to))
            self._to.append(head)
            self._room.append(capacity)

    def saturate(self, source: int, sink: int) -> None:
        """Push as much as fits from source to sink."""
        while (level := self._levels(source))[sink] >= 0:
            unused = [0] * self.size
            while self._push(source, sink, level, unused):
                pass

    def _levels(self, source: int) -> list[int]:
        level = [-1] * self.size
        level[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for e in self._out[node]:
                if self._room[e] and level[self._to[e]] < 0:
                    level[self._to[e]] = level[node] + 1
                    queue.append(self._to[e])
        return level

    def _push(self, source: int, sink: int, level: list[int], unused: list[int]) -> int:
        """One path through the level graph, saturated; `unused` remembers which edges lead nowhere."""
        path: list[int] = []
        node = source
        while node != sink:
            e = self._next(node, level, unused)
            if e is not None:
                path.append(e)
                node = self._to[e]
            elif path:
                level[node] = -1
                node = self._to[path.pop() ^ 1]
            else:
                return 0
        amount = min(self._room[e] for e in path)
        for e in path:
            self._room[e] -= amount
            self._room[e ^ 1] += amount
        return amount

    def _next(self, node: int, level: list[int], unused: list[int]) -> int | None:
        out = self._out[node]
        while unused[node] < len(out):
            e = out[unused[node]]
            if self._room[e] and level[self._to[e]] == level[node] + 1:
                return e
            unused[node] += 1
        return None

    def reaching(self, sink: int) -> set[int]:
        """Nodes from which there is room to the sink."""
        reached, queue = {sink}, deque([sink])
        while queue:
            node = queue.popleft()
            for e in self._out[node]:
                # the edge from `to` to `node` is the partner of this one
                if self._room[e ^ 1] and self._to[e] not in reached:
                    reached.add(self._to[e])
                    queue.append(self._to[e])
        return reached
