"""Loads of memory as it was before the launch: `split_before(kernel, names) -> (kernel, aliases)`.

A load that no write of the launch can come before sees memory from before the launch. If the reverse pass has that
memory at hand beside the memory from after it, such a load reads there, and may be overwritten later.

Requires: a verified kernel without races.
Ensures: the same meaning, if each alias holds what its place held before the launch. A load is moved to the alias of
its place if the kernel writes that place and no write precedes the load: neither in program order, nor in an earlier
iteration of a serial loop around both. Iterations of a parallel loop do not see what others write: that is a race.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...ir.ops import LOAD, PLACE_WRITES, SERIAL_LOOPS
from ...ir.structure import Kernel, Op, Place, Region
from ...transforms.rewriting.rewrite import clone_kernel

__all__ = ["split_before"]


def split_before(kernel: Kernel, names: Collection[str]) -> tuple[Kernel, dict[str, Place]]:
    """The kernel with such loads of the places `names` moved, and the alias of each place that has one."""
    kernel = clone_kernel(kernel)
    walk = _Walk()
    walk.region(kernel.body, frozenset())
    aliases: dict[str, Place] = {}
    for op in walk.early:
        place: Place = op.attrs["place"]
        if place.name in names and place.name in walk.written:
            alias = replace(place, name=f"{place.name}.before", kind="ndarray")
            aliases[place.name] = alias
            op.attrs = {"place": alias}
    places = {**kernel.places, **{alias.name: alias for alias in aliases.values()}}
    return replace(kernel, places=places), aliases


class _Walk:
    """Program order, and what was written by then.

    Attributes:
        early: loads that see memory from before the launch, as far as is known.
        written: names of the places written so far.
    """

    def __init__(self) -> None:
        self.early: list[Op] = []
        self.written: set[str] = set()

    def region(self, region: Region, around: frozenset[str]) -> None:
        """Walk a region; `around` are the places that serial loops around it write."""
        for op in region.ops:
            self._op(op, around)

    def _op(self, op: Op, around: frozenset[str]) -> None:
        if op.opdef is LOAD:
            name = op.attrs["place"].name
            if name not in self.written and name not in around:
                self.early.append(op)
        elif op.opdef in PLACE_WRITES:
            self.written.add(op.attrs["place"].name)
        if op.opdef in SERIAL_LOOPS:
            around |= {name for region in op.regions for name in _writes(region)}
        for region in op.regions:
            self.region(region, around)


def _writes(region: Region) -> set[str]:
    return {op.attrs["place"].name for op in region.walk() if op.opdef in PLACE_WRITES}
