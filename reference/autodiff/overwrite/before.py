"""Loads of memory as it was before the launch: `split_before(kernel, names) -> (kernel, aliases)`.

A load that no write of the launch can come before sees memory from before the launch. If the reverse pass has that
memory at hand beside the memory from after it, such a load reads there, and may be overwritten later.

Requires: a verified kernel without races.
Ensures: the same meaning, if each alias holds what its place held before the launch. A load is moved to the alias of
its place if the kernel writes that place and no write precedes the load, of that place or of one that may be the same
memory, unless their indices differ: neither in program order, nor in an earlier iteration of a serial loop around both.
Iterations of a parallel loop do not see what others write: that is a race.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...analysis.order import Order
from ...ir.ops import LOAD, PLACE_WRITES, SERIAL_LOOPS
from ...ir.structure import Kernel, Op, Place, Region
from ...transforms.rewriting.rewrite import clone_kernel
from .conflicts import same_memory

__all__ = ["split_before"]


def split_before(kernel: Kernel, names: Collection[str]) -> tuple[Kernel, dict[str, Place]]:
    """The kernel with such loads of the places `names` moved, and the alias of each place that has one."""
    kernel = clone_kernel(kernel)
    walk = _Walk(kernel)
    walk.region(kernel.body, ())
    aliases: dict[str, Place] = {}
    for op in walk.early:
        place: Place = op.attrs["place"]
        if place.name in names and any(write.attrs["place"].name == place.name for write in walk.written):
            alias = replace(place, name=f"{place.name}.before", kind="ndarray")
            aliases[place.name] = alias
            op.attrs = {"place": alias}
    places = {**kernel.places, **{alias.name: alias for alias in aliases.values()}}
    return replace(kernel, places=places), aliases


class _Walk:
    """Program order, and what was written by then.

    Attributes:
        early: loads that see memory from before the launch, as far as is known.
        written: the writes so far.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._order = kernel, Order(kernel.body)
        self.early: list[Op] = []
        self.written: list[Op] = []

    def region(self, region: Region, around: Sequence[Op]) -> None:
        """Walk a region; `around` are the writes in serial loops around it."""
        for op in region.ops:
            self._op(op, around)

    def _op(self, op: Op, around: Sequence[Op]) -> None:
        if op.opdef is LOAD:
            if not any(self._meet(op, write) for write in (*self.written, *around)):
                self.early.append(op)
        elif op.opdef in PLACE_WRITES:
            self.written.append(op)
        if op.opdef in SERIAL_LOOPS:
            inside = (one for region in op.regions for one in region.walk())
            around = (*around, *(one for one in inside if one.opdef in PLACE_WRITES))
        for region in op.regions:
            self.region(region, around)

    def _meet(self, load: Op, write: Op) -> bool:
        """Whether a load may be of the element that is written; by another name it is not if an index differs."""
        place: Place = load.attrs["place"]
        other: Place = write.attrs["place"]
        if place.name == other.name or not same_memory(self._kernel, place, other):
            return place.name == other.name
        pairs = zip(load.operands, write.operands[: other.rank], strict=False)
        offsets = ((self._order.offset(one), self._order.offset(another)) for one, another in pairs)
        fixed = (None, *self._kernel.params)
        is_apart = (base is same and a != b and base in fixed for (base, a), (same, b) in offsets)
        return place.rank != other.rank or not any(is_apart)
