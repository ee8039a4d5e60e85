"""Atomic operations of many lanes: as if the lanes came one after another, in lane order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from ..ir.arithmetic import Meaning
from ..ir.ops import ATOMICS
from ..ir.types import DType
from .lanes import Array

SCATTERS: Final[dict[str, np.ufunc]] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""What numpy's `ufunc.at` does: one element after another, unbuffered, rounded to the element's type each time."""

ASSOCIATIVE: Final = frozenset({"min", "max", "and", "or", "xor", "xchg"})
ASSOCIATIVE_ON_INTEGERS: Final = frozenset({"add", "mul"})


def combine(kind: str, to: DType, flat: Array, at: Array, operands: list[Array], wanted: bool) -> Array | None:
    """`flat[at] = meaning(flat[at], *operands)` lane by lane; gives the old values, or None if they are unused."""
    if not wanted and kind in SCATTERS:
        SCATTERS[kind].at(flat, at, operands[0])
        return None
    meaning = ATOMICS[kind].meaning
    associative = kind in ASSOCIATIVE or (kind in ASSOCIATIVE_ON_INTEGERS and not to.is_float)
    if associative and len(at) > 1:
        return scan(meaning, to, flat, at, operands[0])
    old = np.empty(len(at), to.numpy)
    for lanes in rounds(at):
        where = at[lanes]
        old[lanes] = before = flat[where]
        flat[where] = meaning(to, before, *(operand[lanes] for operand in operands))
    return old


class Queues:
    """Lanes sorted by the element they touch, in lane order for each element.

    Attributes:
        order: the lanes, queue after queue.
        starts: where each queue begins in `order`.
        lengths: how long each queue is.
        position: for each lane of `order`, how many are before it in its queue.
    """

    def __init__(self, at: Array) -> None:
        self.order = np.argsort(at, kind="stable")
        ordered = at[self.order]
        self.starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        self.lengths = np.diff(np.append(self.starts, len(at)))
        self.position = np.arange(len(at)) - np.repeat(self.starts, self.lengths)


def scan(meaning: Meaning, to: DType, flat: Array, at: Array, operand: Array) -> Array:
    """All lanes at once, for an associative meaning: after step k each lane has combined with the 2^k before it."""
    queues = Queues(at)
    order, starts, position = queues.order, queues.starts, queues.position
    elements = at[order[starts]]
    total = operand[order]
    old = np.empty(len(at), to.numpy)
    old[starts] = flat[elements]
    total[starts] = meaning(to, old[starts], total[starts])
    distance = 1
    while distance < queues.lengths.max():
        late = np.flatnonzero(position >= distance)
        total[late] = meaning(to, total[late - distance], total[late])
        distance *= 2
    later = np.flatnonzero(position)
    old[later] = total[later - 1]
    flat[elements] = total[starts + queues.lengths - 1]
    in_order_of_lanes = np.empty_like(old)
    in_order_of_lanes[order] = old
    return in_order_of_lanes


def rounds(at: Array) -> Iterator[Array | slice]:
    """Lanes in groups that touch each element at most once; who comes first at an element is in an earlier group."""
    if len(at) == 1:
        yield slice(None)
        return
    queues = Queues(at)
    by_position = queues.order[np.argsort(queues.position, kind="stable")]
    ends = np.cumsum(np.bincount(queues.position))
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield by_position[start:end]
