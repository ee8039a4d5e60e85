"""Scalar promotion: elements that a loop updates stay in memory of the thread, or in a register, while it runs.

Which elements these are is an analysis of the IR (`adstack.analysis.scalar_promotion`); over many lanes they are one of
each. They are loaded in front of the loop and stored behind it, both only where the loop runs: otherwise it touches
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adstack.analysis.scalar_promotion import promotable_updates
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Op, Place
from adstack.ir.types import DType

from ..function.address import Address
from ..function.region import RegionEmitter
from ..memory.access import address_of, read, type_of_lanes, write
from ..safety.accesses import is_guarded
from ..text.writer import type_text

__all__ = ["Promoted", "promote", "write_back"]


@dataclass(frozen=True)
class Promoted:
    """A promoted element, or one of each lane.

    Attributes:
        place: the place that it is an element of.
        address: where it is; in bounds if the loop runs.
        slot: memory of the thread that stands for it.
        runs: whether the loop runs (i1), or in which lanes (a mask) where its bounds vary.
    """

    place: Place
    address: Address
    slot: Address
    runs: str


def promote(e: RegionEmitter, loop: Op) -> list[Promoted]:
    """Load, in front of a `for`, the elements that are promoted; their updates in the body then use the slots."""
    if e.task is None or e.task.debug or not e.task.parallel:
        return []
    (body,) = loop.regions
    groups = promotable_updates(body, lambda update: _is_plain(e, update))
    return [_load(e, loop, updates) for updates in groups]


def write_back(e: RegionEmitter, loop: Op, elements: Sequence[Promoted]) -> None:
    """Store the promoted elements behind the loop."""
    for element in elements:
        dtype = element.place.dtype

        def store(element: Promoted = element, dtype: DType = dtype) -> None:
            write(e, element.address, dtype, _of_the_thread(e, element.slot, dtype))

        _if_it_runs(e, loop, element.runs, "store", store)


def _is_plain(e: RegionEmitter, update: Op) -> bool:
    """Whether an update needs no guard, and touches an element that neither another thread nor another lane touches."""
    if e.exclusive.get(update) != "" or is_guarded(e, update):
        return False
    return e.lanes == 1 or update.attrs["sums"] == "own"


def _load(e: RegionEmitter, loop: Op, updates: Sequence[Op]) -> Promoted:
    """Load the element that some updates have in common into a slot."""
    place: Place = updates[0].attrs["place"]
    for op in loop.regions[0].ops:
        if op.opdef is CONST:  # the indices may be constants of the body
            e.op(op)
    ty = type_of_lanes(e, place.dtype)
    slot = Address("one", e.frame.slot(ty, 8)) if e.lanes == 1 else Address("run", e.frame.slot(ty))
    runs = _runs(e, loop)
    address = address_of(e, place, updates[0].operands[: place.rank], inbounds=False)

    def load() -> None:
        value = read(e, address, place.dtype)
        e.w.do(f"store {ty} {value}, ptr {slot.name}, align {place.dtype.size}")

    _if_it_runs(e, loop, runs, "load", load)
    e.promoted.update((update, slot) for update in updates)
    return Promoted(place, address, slot, runs)


def _of_the_thread(e: RegionEmitter, slot: Address, dtype: DType) -> str:
    """What is in a slot, of all lanes."""
    with e.masked(None):
        return read(e, slot, dtype)


def _width(e: RegionEmitter, loop: Op) -> int:
    """The lanes of the form that tells whether a loop runs: 1 if it is the same for all."""
    return max(e.width(bound) for bound in loop.operands[:2])


def _runs(e: RegionEmitter, loop: Op) -> str:
    """Whether a loop runs: an i1, or one per lane."""
    (lo, hi, *_), width = loop.operands, _width(e, loop)
    word = "slt" if lo.dtype.is_signed else "ult"
    return e.w.let(f"icmp {word} {type_text(lo.dtype, width)} {e.at(lo, width)}, {e.at(hi, width)}")


def _if_it_runs(e: RegionEmitter, loop: Op, runs: str, hint: str, act: Callable[[], None]) -> None:
    """Act in the lanes in which a loop runs."""
    if _width(e, loop) > 1:
        with e.masked(e.within(runs)):
            act()
        return
    inside, after = e.label(hint), e.label("behind")
    e.split(runs, inside, after)
    e.enter(inside)
    act()
    e.jump(after)
    e.enter(after)
