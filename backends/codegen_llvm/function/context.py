"""The context, which a task takes as its argument: an array of 64-bit slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from adstack.ir.structure import Place, Program

__all__ = ["Context"]

OWN: Final = (
    *("errors", "overflow", "print", "seed", "launch", "parallel"),
    *("heap", "rows", "sized", "poll", "stop", "unfit", "outside"),
)
"""Names of the runtime's own slots."""


@dataclass(frozen=True)
class Context:
    """Which slot holds what.

    Attributes:
        pointers: place name -> slot of its address.
        extents: (place name, axis) -> slot of an extent that is not known when compiling.
        params: slot of each scalar parameter; the value stands in the slot's first bytes.
        own: slots of the runtime's own: "errors" and "overflow" (their records), "print" (the host's printing
            function), "seed" and "launch" (of the random streams), "parallel" (the function that shares a loop among
            threads, or null), "heap" (where the address and the size of the adstack heap are told), "rows" (the table
            of `rows`), "sized" (whether the depths of adstacks are valid, so that sizers need not run), "poll" (the
            function that safepoints call), "stop" (the word that is nonzero when loops are to end), "unfit" (the
            entry that takes launches which another one is not made for, or null) and "outside" (the function
            `void (ptr errors, ptr note)` that records an access outside).
        size: number of slots.
    """

    pointers: dict[str, int] = field(default_factory=dict)
    extents: dict[tuple[str, int], int] = field(default_factory=dict)
    params: tuple[int, ...] = ()
    own: dict[str, int] = field(default_factory=dict)
    size: int = 0

    @classmethod
    def of(cls, program: Program) -> Context:
        """Parameters first, so that a launch that changes nothing else fills a prefix; then places, then extents."""
        count = len(program.params)
        places: Sequence[Place] = tuple(program.places.values())
        pointers = {place.name: count + k for k, place in enumerate(places)}
        at = count + len(places)
        extents: dict[tuple[str, int], int] = {}
        for place in places:
            for axis, extent in enumerate(place.shape):
                if extent is None:
                    extents[place.name, axis] = at + len(extents)
        at += len(extents)
        own = {name: at + k for k, name in enumerate(OWN)}
        return cls(pointers, extents, tuple(range(count)), own, at + len(own))
