"""Where the threads of a team have to wait for each other: in front of what conflicts with what went on since they did.

A team's loops over threads are serial loops to all passes, one behind the other. Run side by side, they need no wait
between them unless one touches memory that another one changes. That is decided here from what they touch, whichever
the program asked for: two waits with nothing to be seen between them are one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ..ir.ops import ARRAY_ALLOC, ARRAY_LOAD, ARRAY_STORE, FOR, IF, PLACE_ACCESSES, PLACE_WRITES, WHILE
from ..ir.structure import Op, Place, Region, Value
from .exclusivity import may_overlap

__all__ = ["waits"]

Memory = Value | Place
"""An array of the team, or a place."""


@dataclass(frozen=True)
class _Touched:
    """What was read and written since all have waited."""

    read: frozenset[Memory] = frozenset()
    written: frozenset[Memory] = frozenset()

    def also(self, other: _Touched) -> _Touched:
        return _Touched(self.read | other.read, self.written | other.written)

    def conflicts(self, later: _Touched) -> bool:
        return _meet(self.written, later.read | later.written) or _meet(self.read, later.written)


_NOTHING: Final = _Touched()


def waits(body: Region, shared: Collection[Value]) -> frozenset[Op]:
    """The loops over threads, allocations and loads in front of which all threads have to wait.

    Args:
        body: of a parallel loop whose iterations are blocks, one behind the other in a workgroup.
        shared: the arrays whose elements several threads touch.
    """
    search = _Search(shared)
    before = search.region(body, _NOTHING)
    while (after := search.region(body, before).also(before)) != before:
        before = after
    return frozenset(search.found)


class _Search:
    def __init__(self, shared: Collection[Value]) -> None:
        self.shared = shared
        self.found: set[Op] = set()

    def region(self, region: Region, before: _Touched) -> _Touched:
        """What may have been touched since the last wait, behind a region."""
        for op in region.ops:
            before = self._op(op, before)
        return before

    def _op(self, op: Op, before: _Touched) -> _Touched:
        if (op.opdef is FOR and "team" in op.attrs) or op.opdef in (ARRAY_ALLOC, ARRAY_LOAD):
            return self._event(op, before)
        if op.opdef is IF:
            then, orelse = (self.region(inner, before) for inner in op.regions)
            return then.also(orelse)
        if op.opdef is FOR or op.opdef is WHILE:
            while True:
                after = before
                for inner in op.regions:
                    after = self.region(inner, after)
                if before.also(after) == before:
                    return before
                before = before.also(after)
        return before

    def _event(self, op: Op, before: _Touched) -> _Touched:
        touched = self._touched(op)
        if not before.conflicts(touched):
            return before.also(touched)
        self.found.add(op)
        return touched

    def _touched(self, op: Op) -> _Touched:
        if op.opdef is ARRAY_ALLOC:
            return _Touched(written=frozenset(self.shared).intersection([op.result]))
        ops = [op] if op.opdef is ARRAY_LOAD else [o for inner in op.regions for o in inner.walk()]
        arrays = [(o.operands[0], o) for o in ops if o.opdef in (ARRAY_LOAD, ARRAY_STORE)]
        touched: list[tuple[Memory, bool]] = [(a, o.opdef is ARRAY_STORE) for a, o in arrays if a in self.shared]
        touched += [(o.attrs["place"], o.opdef in PLACE_WRITES) for o in ops if o.opdef in PLACE_ACCESSES]
        written = frozenset(memory for memory, writes in touched if writes)
        return _Touched(frozenset(memory for memory, writes in touched if not writes), written)


def _meet(some: frozenset[Memory], others: frozenset[Memory]) -> bool:
    """Whether memory of one may be memory of the other."""
    places = [memory for memory in others if isinstance(memory, Place)]
    return not some.isdisjoint(others) or any(
        may_overlap(one, other) for one in some if isinstance(one, Place) for other in places
    )
