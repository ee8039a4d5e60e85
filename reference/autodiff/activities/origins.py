"""Where values come from: `Origins(body)`, and which operands decide control flow: `decides(op)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir.ops import ARRAY_STORE, ATOMIC, FOR, IF, LOAD, PARALLEL_FOR, PLACE_ACCESSES, WHILE
from ...ir.structure import Op, Region, Value
from .activity import flows

__all__ = ["Origins", "decides"]


def decides(op: Op) -> Sequence[Value]:
    """The operands that decide which regions of a structured op run, and how often."""
    if op.opdef is FOR:
        return op.operands[:2]
    if op.opdef in (IF, PARALLEL_FOR):
        return op.operands
    return op.regions[0].terminator.operands[:1] if op.opdef is WHILE else []


class Origins:
    """Where the values of a region come from. What decides whether a value is made at all does not count.

    Args:
        body: the region.
        through_memory: whether what is loaded also comes from what the region has stored to the same place.

    Attributes:
        values: a value, or the name of a place -> the values that it may be made of, or places that they come from.
        loads: a value that is read from memory -> the load, or the atomic update, that reads it.
    """

    def __init__(self, body: Region, *, through_memory: bool = False) -> None:
        self._through_memory = through_memory
        self.values: dict[Value | str, list[Value | str]] = {}
        self.loads: dict[Value, Op] = {}
        for op in body.walk():
            self._op(op)

    def loads_behind(self, values: Iterable[Value]) -> set[Op]:
        """The ops that read the memory of which these values may be made."""
        loads: set[Op] = set()
        visited: set[Value | str] = set()
        work: list[Value | str] = list(values)
        while work:
            value = work.pop()
            if value not in visited:
                visited.add(value)
                work += self.values.get(value, ())
                if isinstance(value, Value) and value in self.loads:
                    loads.add(self.loads[value])
        return loads

    def _op(self, op: Op) -> None:
        if op.opdef in (LOAD, ATOMIC):
            self.loads.update((result, op) for result in op.results)
        if op.opdef is ARRAY_STORE:
            self.values.setdefault(op.operands[0], []).extend(op.operands[1:])
        elif not op.regions:
            self.values.update((result, [*op.operands]) for result in op.results)
        if self._through_memory and op.opdef in PLACE_ACCESSES:
            place = op.attrs["place"]
            if op.opdef.reads:
                self.values.update((result, [*op.operands, place.name]) for result in op.results)
            if op.opdef.writes:
                self.values.setdefault(place.name, []).extend(op.operands[place.rank :])
        for sources, targets in flows(op):
            for source, target in zip(sources, targets, strict=True):
                self.values.setdefault(target, []).append(source)
        if op.opdef in (FOR, PARALLEL_FOR):
            axes = op.regions[0].args if op.opdef is PARALLEL_FOR else op.regions[0].args[:1]
            self.values.update((index, [*op.operands[2 * k : 2 * k + 2]]) for k, index in enumerate(axes))
