"""Elements that a loop updates in every turn, and that nobody else touches: kept in a register while it runs.

They are those of `own`, at indices that do not change in the loop. A loop that does not run touches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adstack.analysis.scalar_promotion import promotable_updates
from adstack.ir.structure import Op, Place

from ..function.address import Address
from ..function.region import RegionEmitter
from ..memory.access import address_of, memory_type
from ..safety.guards import is_guarded
from ..text.writer import type_text

__all__ = ["Held", "give_back", "hold"]


@dataclass(frozen=True)
class Held:
    """An element.

    Attributes:
        place: what it is of.
        at: its address, where the loop runs.
        slot: memory of the thread that stands for it.
        runs: whether the loop runs (i1).
    """

    place: Place
    at: str
    slot: str
    runs: str


def hold(e: RegionEmitter, op: Op) -> list[Held]:
    """Before a `for`: load what it can hold."""
    if e.task is None or e.task.debug or not e.target.quick or e.lanes > 1 or not e.task.parallel:
        return []
    (body,) = op.regions
    groups = promotable_updates(body, lambda update: e.owned.get(update) == "" and not is_guarded(e, update))
    return [_taken(e, op, updates) for updates in groups]


def give_back(e: RegionEmitter, held: Sequence[Held]) -> None:
    """After it: store what it has made of them."""
    for one in held:
        ty, store, after = memory_type(one.place.dtype), e.label("store"), e.label("stored")
        e.split(one.runs, store, after)
        e.enter(store)
        value = e.w.let(f"load {ty}, ptr {one.slot}, align 8")
        e.w.do(f"store {ty} {value}, ptr {one.at}, align {one.place.dtype.size}")
        e.jump(after)
        e.enter(after)


def _taken(e: RegionEmitter, op: Op, updates: Sequence[Op]) -> Held:
    place: Place = updates[0].attrs["place"]
    lo, hi, *_ = op.operands
    ty, word = memory_type(place.dtype), "slt" if lo.dtype.is_signed else "ult"
    for inner in op.regions[0].ops:
        if inner.name == "const":
            e.op(inner)
    slot = e.frame.slot(ty, 8)
    runs = e.w.let(f"icmp {word} {type_text(lo.dtype, 1)} {e.scalar(lo)}, {e.scalar(hi)}")
    at = address_of(e, place, updates[0].operands[: place.rank], inbounds=False).name
    load, after = e.label("load"), e.label("loaded")
    e.split(runs, load, after)
    e.enter(load)
    e.w.do(f"store {ty} {e.w.let(f'load {ty}, ptr {at}, align {place.dtype.size}')}, ptr {slot}, align 8")
    e.jump(after)
    e.enter(after)
    for update in updates:
        e.held[update] = Address("one", slot)
    return Held(place, at, slot, runs)
