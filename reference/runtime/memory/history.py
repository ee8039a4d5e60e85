"""Where the contents of one buffer come from: `History`, see `provenance.py`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, TypeAlias

from ...analysis.boxes import Box
from .origins import DIGEST, Origins, Tiles, digest, together

__all__ = ["MISSED", "History", "Written", "unique"]

MISSED: Final = -(1 << 62)
"""The number of writes that a history has taken in which has missed one: no buffer has as many."""

unique: Final[Callable[[], bytes]] = map(b"%16d".__mod__, itertools.count()).__next__
"""An origin that nothing else has."""


Written: TypeAlias = tuple[bytes, Mapping[str, Sequence[tuple[Box, bool]]]]
"""A launch that is about to write watched memory: the origin of what it writes, and name of a place -> (box that it may
write, whether what is there afterwards does not depend on what was there before).
"""


class History:
    """Where the contents of one buffer come from. What it held when this begins has an origin of its own.

    Attributes:
        tiles: what is known now, also for `back`; before the next write, `forget`.
        unseen: how many writes of machine code have been taken in; `MISSED` if other writes have not been.
    """

    def __init__(self) -> None:
        self.tiles = Tiles(unique())
        self.unseen = 0

    def settle(self, unseen: int) -> None:
        """Take in writes of machine code, which does not announce them: if there were any, nothing is known.

        Args:
            unseen: how many there have been.
        """
        if unseen != self.unseen:
            self.unseen = unseen
            self.forget()

    def forget(self) -> None:
        """Any element may have been written by anybody."""
        self.tiles = Tiles(unique())

    def back(self, mark: Tiles) -> None:
        """The contents are again what they were at a mark."""
        self.tiles = mark

    def origins(self, box: Box) -> Origins:
        """Those of the elements in a box."""
        return self.tiles.within(box)

    def digest(self, boxes: Sequence[Box]) -> bytes:
        """One of the origins of the elements in some boxes."""
        alone = self.tiles.alone(boxes[0]) if len(boxes) == 1 else None
        if alone is not None:
            return alone
        return together(itertools.chain.from_iterable(map(self.tiles.within, boxes)))

    def write(self, boxes: Sequence[Box] | None) -> None:
        """The host writes some boxes (None: any elements)."""
        if boxes is None:
            self.tiles = Tiles(unique())
            return
        origin = unique()
        for box in boxes:
            self.tiles.put(box, origin)

    def after(self, written: Written, name: str) -> Origins:
        """The boxes that a launch may write, which calls the buffer `name`, with the origins that they have then."""
        origin, boxes = written
        if len(boxes) > 1:  # of several places, each has an origin of its own
            origin = blake2b(origin + name.encode(), digest_size=DIGEST).digest()
        after: list[tuple[Box, bytes]] = []
        for box, is_new in boxes.get(name, ()):
            after.append((box, origin if is_new else digest(origin, self.digest((box,)))))
        return tuple(after)

    def put(self, written: Origins) -> None:
        """Some boxes have other origins from now on."""
        tiles = self.tiles
        for box, origin in written:
            if box in tiles.known:
                tiles.known[box] = origin
            else:
                tiles.put(box, origin)
