"""Disjoint boxes of the elements of a buffer, each with where its contents come from: see `provenance.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from ...analysis.boxes import Box, contains, intersection, volume
from .rows import MOST, Rows

__all__ = ["DIGEST", "Origins", "Tiles", "clipped", "digest", "together"]

Origins = tuple[tuple[Box, bytes], ...]
"""(box, origin), in the order of the boxes, which are disjoint; what may come last is where the rest comes from."""

DIGEST: Final = 16
"""Bytes of an origin."""


def digest(*parts: bytes) -> bytes:
    """128 bits that stand for some bytes."""
    return blake2b(b"".join(parts), digest_size=DIGEST).digest()


def together(origins: Iterable[tuple[Box, bytes]]) -> bytes:
    """An origin that stands for several."""
    return digest(*[part for box, origin in origins for part in (_named(box), origin)])


@lru_cache(maxsize=MOST)
def _named(box: Box) -> bytes:
    return repr(box).encode()


class Tiles:
    """The origins of all elements of one buffer.

    Args:
        rest: the origin of elements for which no other has been put.

    Attributes:
        known: the boxes that were put as they are, with their origins, which may be replaced.
        alone: gives the origin of a box that was put as it is; None of another one.
    """

    def __init__(self, rest: bytes) -> None:
        self._rest = rest
        self.known: dict[Box, bytes] = {}
        self.alone: Callable[[Box], bytes | None] = self.known.get
        self._boxes = Rows()
        self._pieces: dict[Box, tuple[Sequence[tuple[Box, Box]], bool]] = {}  # until other boxes are told apart

    def within(self, box: Box) -> Origins:
        """The origins of the elements in a box."""
        known = self.known
        origin = known.get(box)
        if origin is not None:
            return ((box, origin),)
        pieces, is_all = self._pieces.get(box) or self._divided(box)
        origins = [(piece, known[tile]) for piece, tile in pieces]
        return tuple(origins if is_all else [*origins, (box, self._rest)])

    def _divided(self, box: Box) -> tuple[Sequence[tuple[Box, Box]], bool]:
        """The parts of a box that are told apart, each with the box it is of; and whether there is nothing else."""
        pieces = sorted((one, tile) for tile in self._near(box) if (one := intersection(tile, box)) is not None)
        if len(self._pieces) == MOST:
            self._pieces.clear()
        divided = pieces, sum(volume(piece) for piece, _ in pieces) == volume(box)
        self._pieces[box] = divided
        return divided

    def put(self, box: Box, origin: bytes) -> None:
        """The elements in a box have another origin from now on."""
        if box not in self.known:
            self._pieces.clear()
            if len(self.known) >= MOST:
                self._join()
            for tile in list(self._near(box)) if self.known else ():
                if intersection(tile, box) is not None:
                    self._cut(tile, box)
            self._boxes.add(box)
        self.known[box] = origin

    def _join(self) -> None:
        """Tell no boxes apart any more."""
        self._rest = together((*sorted(self.known.items()), ((), self._rest)))
        self.known.clear()
        self._boxes.clear()

    def _cut(self, tile: Box, box: Box) -> None:
        """Take the elements of a box out of one that meets it."""
        origin = self.known.pop(tile)
        self._boxes.remove(tile)
        for piece in _without(tile, box):
            self.known[piece] = origin
            self._boxes.add(piece)

    def _near(self, box: Box) -> Iterable[Box]:
        """The boxes that may meet one, each once."""
        near = self._boxes.near(box)
        return self.known if near is None else near


def clipped(origins: Iterable[tuple[Box, bytes]], box: Box) -> Origins:
    """Those of the elements in a box; what no box of theirs holds comes from the last of them."""
    parts, rest = [*origins], None
    if parts and contains(parts[-1][0], box):
        rest = parts.pop()[1]
    common = sorted((one, origin) for tile, origin in parts if (one := intersection(tile, box)) is not None)
    if rest is None or sum(volume(one) for one, _ in common) == volume(box):
        return tuple(common)
    return (*common, (box, rest))


def _without(tile: Box, box: Box) -> Iterator[Box]:
    """What is left of one box without another one that meets it, in disjoint boxes."""
    for axis, ((low, high), (first, last)) in enumerate(zip(tile, box, strict=True)):
        if low < first:
            yield (*tile[:axis], (low, first - 1), *tile[axis + 1 :])
        if last < high:
            yield (*tile[:axis], (last + 1, high), *tile[axis + 1 :])
        tile = (*tile[:axis], (max(low, first), min(high, last)), *tile[axis + 1 :])
