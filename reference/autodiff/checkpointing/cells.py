"""Elements of memory that are part of a loop's state: of scratch places, in which sweeps repeat what the launch stored.

An element is part of it by itself if all iterations touch it, or none does: its index is the same in all iterations,
and no branch decides. Otherwise a snapshot holds whatever a thread may touch: slabs.py.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ...analysis.manager import Analyses
from ...analysis.order import Order
from ...errors import AdstackDataAccessError
from ...ir.builder import Builder
from ...ir.ops import ATOMIC, LOAD, PARALLEL_FOR, PLACE_ACCESSES, PLACE_WRITES
from ...ir.structure import Op, Place, Region, Value
from ...transforms.rewriting.rewrite import clone_op
from ..emission.state import Names, scoped
from .slabs import Slab, slab_of

__all__ = ["Cell", "cells_of"]

_Index = Value | tuple[Value | None, int]
"""An index: a value of the loop, or (value from around the loop, or None for 0; the number added to it)."""


@dataclass(frozen=True)
class Cell:
    """An element of memory that is the same in all iterations of a loop.

    Attributes:
        place: the memory; `indices`: of the element, one per axis.
        ops: the ops inside the loop that compute the indices, from values from around the loop.
    """

    place: Place
    indices: tuple[Value, ...]
    ops: tuple[Op, ...]

    @property
    def size(self) -> int:
        """How many elements it is."""
        return 1

    def save(self, b: Builder, names: Names, stack: Value, slot: Value) -> None:
        """Copy the element to a slot of a stack."""
        b.put(stack, slot, b.load(self.place, self._at(b, names)))

    def restore(self, b: Builder, names: Names, stack: Value, slot: Value) -> None:
        """Copy the element back from a slot of a stack."""
        b.store(self.place, self._at(b, names), b.get(stack, slot))

    def _at(self, b: Builder, names: Names) -> list[Value]:
        local = scoped(names)
        b.region.ops += [clone_op(op, local) for op in self.ops]  # type: ignore[arg-type]
        return [local.get(v, v) for v in self.indices]


def cells_of(
    source: Region, loop: Op, replayed: Collection[str], analyses: Analyses, trips: int | None
) -> list[Cell | Slab]:
    """The elements of `replayed` places that a loop touches, and that it or what comes later writes.

    `trips` is how often the loop runs, if that is a number. AdstackDataAccessError if a snapshot can't hold them.
    """
    body = list(source.walk())
    writes = [op for op in body[body.index(loop) :] if op.opdef in PLACE_WRITES]
    changed = {op.attrs["place"].name for op in writes} & {*replayed}
    touching: dict[str, list[Op]] = {}
    for op in loop.regions[-1].walk():
        if op.opdef in PLACE_ACCESSES and op.attrs["place"].name in changed:
            touching.setdefault(op.attrs["place"].name, []).append(op)
    cells: list[Cell | Slab] = []
    for ops in touching.values():
        order = analyses.get(Order, source)
        alone = _alone(order, loop, ops)
        if isinstance(alone, list):
            cells += alone
            continue
        slab = slab_of(order, loop, ops, trips)
        if isinstance(slab, str):
            raise _refused(*alone, slab)
        cells.append(slab)
    return cells


def _alone(order: Order, loop: Op, touching: Sequence[Op]) -> list[Cell | Slab] | tuple[Op, str]:
    """The elements of one place that every iteration accesses; if it accesses others, such an op and the reason."""
    inside = {v: op for op in loop.regions[-1].walk() for v in op.results}
    cells: dict[tuple[_Index, ...], Cell | Slab] = {}
    always = {op for op in loop.regions[-1].ops if op in touching}
    for op in sorted(touching, key=lambda op: op not in always):
        indices = op.operands[: op.attrs["place"].rank]
        key = tuple(_form(order, v, inside) for v in indices)
        if key in cells:
            continue
        ops = _slice(indices, inside, loop)
        if ops is None or op not in always:
            return op, "which element it is changes from trip to trip" if ops is None else "not every trip touches it"
        if op.opdef is ATOMIC and _is_shared(order, op):
            return op, "other threads update the same element"
        cells[key] = Cell(op.attrs["place"], tuple(indices), ops)
    return list(cells.values())


def _form(order: Order, value: Value, inside: dict[Value, Op]) -> _Index:
    """A key of an index: equal keys are equal indices in every iteration."""
    base, shift = order.offset(value)
    return (base, shift) if base is None or base not in inside else value


def _slice(indices: Sequence[Value], inside: dict[Value, Op], loop: Op) -> tuple[Op, ...] | None:
    """What computes indices inside a loop; None if it is more than arithmetic on values from around the loop."""
    trips = {a for op in Region(ops=[loop]).walk() for region in op.regions for a in region.args}
    ops: set[Op] = set()
    work = list(indices)
    while work:
        value = work.pop()
        maker = inside.get(value)
        if value in trips or (maker is not None and (maker.regions or not maker.opdef.pure or maker.opdef is LOAD)):
            return None
        if maker is not None and maker not in ops:
            ops.add(maker)
            work += maker.operands
    return tuple(op for op in loop.regions[-1].walk() if op in ops)


def _is_shared(order: Order, op: Op) -> bool:
    """Whether several iterations of a parallel loop may update the same element."""
    lanes = [a for loop in order.spots[op].loops if loop.opdef is PARALLEL_FOR for a in loop.regions[0].args]
    own = {order.offset(v)[0] for v in op.operands[: op.attrs["place"].rank]}
    return any(lane not in own for lane in lanes)


def _refused(op: Op, why: str, more: str) -> AdstackDataAccessError:
    place = op.attrs["place"]
    name = place.label or place.name
    return AdstackDataAccessError(
        f"This loop can't be checkpointed: to run again it needs {name} as it was, "
        f"which it {'reads' if op.opdef is LOAD else 'writes'} here, and {why}: "
        f"a snapshot would hold all elements of {name} that trips may touch, and {more}",
        loc=op.loc if op.loc.line else None,
        do="raise the memory limit of adstacks, or carry the value in a local variable of the loop",
    )
