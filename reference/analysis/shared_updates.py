"""Updates of elements that the threads of a block share: a load, an operation and a store that a device may do as one.

A program's atomic updates of arrays are that in the IR, with a mark on the array: serial code needs no more. Threads
side by side need an atomic instruction for each, so that each has to be found again, whatever passes have made of it.
Only numbers of which the order of updates is not to be seen are taken: integers, whose old value nobody uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..ir.ops import ARRAY_LOAD, ARRAY_STORE
from ..ir.scalar_ops import ADD, AND, MAX, MIN, OR, SUB, XOR
from ..ir.structure import Op, Region, Value

__all__ = ["Update", "updates_of"]

_KINDS: Final = (ADD, SUB, MIN, MAX, AND, OR, XOR)


@dataclass(frozen=True)
class Update:
    """What a store of an element is part of.

    Attributes:
        load: of the element's old value, for this update alone.
        combining: the operation on the old value and `value`, in this order unless they may be exchanged.
        value: what the element is combined with.
    """

    load: Op
    combining: Op
    value: Value


def updates_of(array: Value, loops: Sequence[Op], bits: Collection[int]) -> dict[Op, Update] | None:
    """The stores to an array of a block that are updates, with what each is part of.

    Args:
        array: one whose elements threads update that others update, too.
        loops: the loops over threads.
        bits: of the integers that the device updates atomically in memory of a block.

    Returns:
        None if a store may be an update that is not recognised.
    """
    found: dict[Op, Update] = {}
    for loop in loops:
        body = loop.regions[0]
        plain = not any(_touches(op, array) and op.opdef is ARRAY_LOAD for op in body.walk())
        for region in _regions(body):
            for store in region.ops:
                if store.opdef is not ARRAY_STORE or store.operands[0] is not array:
                    continue
                update = _update(store, region) if store.operands[2].dtype.bits in bits else None
                if update is not None:
                    found[store] = update
                elif not plain:
                    return None
    return found


def _update(store: Op, region: Region) -> Update | None:
    """What a store is part of, if that is an update."""
    array, index, result = store.operands
    combining = result.op
    if combining is None or combining.opdef not in _KINDS or result.dtype.is_float or list(result.uses) != [store]:
        return None
    for old, value in _orders(combining):
        load = old.op
        if load is None or load.opdef is not ARRAY_LOAD or load not in region.ops or list(old.uses) != [combining]:
            continue
        if (
            value is not old
            and load.operands[0] is array
            and load.operands[1] is index
            and not _meanwhile(region, load, store)
        ):
            return Update(load, combining, value)
    return None


def _orders(combining: Op) -> list[tuple[Value, Value]]:
    """Which operand may be the old number: of a difference the first alone; of extremes of integers either."""
    a, b = combining.operands
    return [(a, b)] if combining.opdef is SUB else [(a, b), (b, a)]


def _meanwhile(region: Region, load: Op, store: Op) -> bool:
    """Whether the array of a load and a store is touched between them."""
    between = region.ops[region.ops.index(load) + 1 : region.ops.index(store)]
    inside = (o for op in between for o in (op, *(o for inner in op.regions for o in inner.walk())))
    return any(_touches(op, store.operands[0]) for op in inside)


def _touches(op: Op, array: Value) -> bool:
    return op.opdef in (ARRAY_LOAD, ARRAY_STORE) and op.operands[0] is array


def _regions(region: Region) -> Iterator[Region]:
    """A region, and those inside of it."""
    yield region
    for op in region.ops:
        for inner in op.regions:
            yield from _regions(inner)
