"""The context of a launch: words of 64 bits, and behind them the places that live for one launch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from adstack.errors import InternalError
from adstack.ir.structure import Place, Program

from .memory import PRINT, RECORD
from .rows import HeapWords, heap_of

__all__ = ["OWN", "REPORTS", "Context", "own_size"]

REPORTS = {"errors": RECORD, "overflow": RECORD, "print": PRINT}
"""Which buffer a record of the runtime's own is in."""
OWN = ("errors", "overflow", "print", "seed", "launch")
"""The runtime's own: addresses of the records, the keys of the random streams."""
_ALIGNMENT = 16


def own_size(place: Place) -> int:
    """The bytes of a place that lives in one launch."""
    extents = [extent for extent in place.shape if extent is not None]
    if len(extents) != place.rank:
        raise InternalError(f"{place.kind} {place.name} has no fixed shape: {place.shape}")
    return math.prod(extents) * place.dtype.size


@dataclass(frozen=True)
class Context:
    """Which word holds what.

    Attributes:
        pointers: place name -> word of its address, of places that outlive a launch.
        extents: (place name, axis) -> word of an extent that is not known when compiling.
        params: word of each scalar parameter; the value stands in the word's first bytes.
        own: words of the runtime's own, see `OWN`.
        heaps: of each task with adstacks in the heap, by its number, where it is told about them.
        depths: words of the addresses of places of kind "depths", which an executable keeps from launch to launch.
        inside: temp and result places -> where they are, in bytes from the first word; zeroed before each launch.
        words: how many words there are.
        size: bytes of the whole.
    """

    pointers: dict[str, int] = field(default_factory=dict)
    extents: dict[tuple[str, int], int] = field(default_factory=dict)
    params: tuple[int, ...] = ()
    own: dict[str, int] = field(default_factory=dict)
    heaps: dict[int, HeapWords] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    inside: dict[str, int] = field(default_factory=dict)
    words: int = 0
    size: int = 0

    @classmethod
    def of(cls, program: Program) -> Context:
        """Parameters first, then places, extents and the runtime's own."""
        at = len(program.params)
        params = tuple(range(at))
        outer = [place for place in program.places.values() if place.kind in ("field", "ndarray")]
        pointers = {place.name: at + k for k, place in enumerate(outer)}
        at += len(outer)
        unknown = [(p.name, axis) for p in outer for axis, extent in enumerate(p.shape) if extent is None]
        extents = {key: at + k for k, key in enumerate(unknown)}
        at += len(unknown)
        own = {name: at + k for k, name in enumerate(OWN)}
        at += len(OWN)
        kept = [place.name for place in program.places.values() if place.kind == "depths"]
        depths = {name: at + k for k, name in enumerate(kept)}
        at += len(depths)
        heaps: dict[int, HeapWords] = {}
        for number, task in enumerate(program.tasks):
            heap = heap_of(task)
            if heap is not None:
                heaps[number] = HeapWords.of(heap, at)
                at = heaps[number].end
        words = at
        inside: dict[str, int] = {}
        size = 8 * words
        for place in program.places.values():
            if place.kind in ("temp", "result"):
                size = -(-size // _ALIGNMENT) * _ALIGNMENT
                inside[place.name] = size
                size += own_size(place)
        return cls(pointers, extents, params, own, heaps, depths, inside, words, size)
