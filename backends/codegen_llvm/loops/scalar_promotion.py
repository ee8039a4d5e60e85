"""Scalar promotion: elements that a loop updates stay in memory of the thread, or in a register, while it runs.

Which elements these are is an analysis of the IR (`adstack.analysis.scalar_promotion`). They are loaded in front of the
loop and stored behind it, both only if the loop runs at all: otherwise it touches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adstack.analysis.scalar_promotion import promotable_updates
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Place

from ..function.address import Address
from ..function.region import RegionEmitter
from ..memory.access import address_of, memory_type
from ..safety.accesses import is_guarded
from ..text.writer import type_text

__all__ = ["Promoted", "promote", "write_back"]


@dataclass(frozen=True)
class Promoted:
    """A promoted element.

    Attributes:
        place: the place that it is an element of.
        address: a pointer to the element; in bounds if the loop runs.
        slot: memory of the thread that stands for the element.
        runs: whether the loop runs (i1).
    """

    place: Place
    address: str
    slot: str
    runs: str


def promote(e: RegionEmitter, loop: Op) -> list[Promoted]:
    """Load, in front of a `for`, the elements that are promoted; their updates in the body then use the slots."""
    if e.task is None or e.task.debug or not e.target.loop_versions or e.lanes > 1 or not e.task.parallel:
        return []
    (body,) = loop.regions
    groups = promotable_updates(body, lambda update: e.exclusive.get(update) == "" and not is_guarded(e, update))
    return [_load(e, loop, updates) for updates in groups]


def write_back(e: RegionEmitter, elements: Sequence[Promoted]) -> None:
    """Store the promoted elements behind the loop."""
    for element in elements:
        dtype, store, after = element.place.dtype, e.label("store"), e.label("stored")
        ty = memory_type(dtype)
        e.split(element.runs, store, after)
        e.enter(store)
        value = e.w.let(f"load {ty}, ptr {element.slot}, align 8")
        e.w.do(f"store {ty} {value}, ptr {element.address}, align {dtype.size}")
        e.jump(after)
        e.enter(after)


def _load(e: RegionEmitter, loop: Op, updates: Sequence[Op]) -> Promoted:
    """Load the element that some updates have in common into a slot."""
    place: Place = updates[0].attrs["place"]
    lo, hi, *_ = loop.operands
    ty, word = memory_type(place.dtype), "slt" if lo.dtype.is_signed else "ult"
    for op in loop.regions[0].ops:
        if op.opdef is CONST:  # the indices may be constants of the body
            e.op(op)
    slot = e.frame.slot(ty, 8)
    runs = e.w.let(f"icmp {word} {type_text(lo.dtype, 1)} {e.scalar(lo)}, {e.scalar(hi)}")
    address = address_of(e, place, updates[0].operands[: place.rank], inbounds=False).name
    load, after = e.label("load"), e.label("loaded")
    e.split(runs, load, after)
    e.enter(load)
    e.w.do(f"store {ty} {e.w.let(f'load {ty}, ptr {address}, align {place.dtype.size}')}, ptr {slot}, align 8")
    e.jump(after)
    e.enter(after)
    e.promoted.update((update, Address("one", slot)) for update in updates)
    return Promoted(place, address, slot, runs)
