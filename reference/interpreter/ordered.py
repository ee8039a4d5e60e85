"""Updates that take place in the order of iterations: those that a plan calls ordered.

One lane at a time does just that. Many lanes give the same faster where the loop does nothing else with the memory:
their updates are postponed to the end of the chunk, and carried out sorted by lane. Each lane's stay in their order.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from ..ir.ops import SHAPE
from ..ir.structure import Op, Region
from .atomics import ASSOCIATIVE, SCATTERS, combine
from .lanes import Array, Memory
from .overlap import Slots

__all__ = ["LANES", "Postponed", "is_ordered", "postponable"]

LANES: Final = 512
"""At most so many lanes run together where updates are postponed: what is postponed takes memory."""
_KINDS: Final = {*SCATTERS, *ASSOCIATIVE} - {"xchg"}


def is_ordered(op: Op) -> bool:
    """Whether an update is to take place in the order of iterations."""
    return op.attrs.get("sums") == "ordered"


def postponable(body: Region) -> dict[str, str] | None:
    """By the name of each place that a loop's ordered updates touch, their kind; None if they can't be postponed."""
    kinds: dict[str, str] = {}
    touching = [op for op in body.walk() if "place" in op.attrs and op.opdef is not SHAPE]
    for op in filter(is_ordered, touching):
        kind = op.attrs["kind"]
        if op.result.uses or kind not in _KINDS or kinds.setdefault(op.attrs["place"].name, kind) != kind:
            return None
    others = {op.attrs["place"].name for op in touching if not is_ordered(op)}
    return kinds if others.isdisjoint(kinds) else None


@dataclass
class Postponed:
    """The updates of a chunk, by the place's position among those of the launch.

    Attributes:
        kinds: of the updates of each place, by its name.
    """

    kinds: dict[str, str]
    _updates: dict[int, list[tuple[Array, Array, Array]]] = field(default_factory=dict)

    def is_alone(self, slots: dict[str, Slots], touched: Collection[str]) -> bool:
        """Whether no place whose updates are postponed shares memory with another one that the loop touches."""
        memories = [slots[name].memory for name in touched]
        return all(memories.count(slots[name].memory) == 1 for name in self.kinds)

    def add(self, place: int, lanes: Array, at: Array, operand: Array) -> None:
        """An update by some lanes, each of its element."""
        self._updates.setdefault(place, []).append((lanes, at, operand))

    def carry_out(self, memory: list[Memory]) -> None:
        """All updates so far, lane by lane."""
        for place, updates in self._updates.items():
            lanes, at, operand = (np.concatenate(parts) for parts in zip(*updates, strict=True))
            order = np.argsort(lanes, kind="stable")
            target = memory[place]
            kind, dtype = self.kinds[target.place.name], target.place.dtype
            combine(kind, dtype, target.flat, at[order], [operand[order]], wanted=False)
        self._updates.clear()
