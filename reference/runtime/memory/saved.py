"""What a stretch of writes has overwritten: an undo log, back to the contents of a buffer before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...analysis.boxes import Box, contains, intersection, volume
from ...errors import AdstackMemoryError
from .blocks import Array, Block
from .history import History, unique
from .keeping import Copies, Kept, keep
from .ledger import LEDGER
from .origins import Origins

__all__ = ["MISSING", "Saved"]

MISSING: Final[Array] = np.empty(0)
"""What stands for the contents of a box that are not known."""
SPARSE: Final = 32
"""When more than one in so many elements has been saved on its own, the rest is saved at once."""


class Saved:
    """Elements as they were before a stretch of writes with no launch of a watcher in between.

    Attributes:
        number: of the last launch before these writes.
        patches: (box, what it held, where that came from), in the order of the writes: where two overlap the first one
            counts.
        writers: who wrote.
        lost: whether the contents were given up.
        failed: a launch that failed, after which some contents are not known; "" if there was none.
        boxes: those of the patches.
    """

    __slots__ = (
        "__weakref__",
        "_large",
        "_single",
        "boxes",
        "failed",
        "lost",
        "nbytes",
        "number",
        "patches",
        "writers",
    )

    def __init__(self, number: int) -> None:
        self.number, self.lost, self.failed = number, False, ""
        self.patches: list[tuple[Box, Kept | Array, Origins]] = []
        self.writers: tuple[str, ...] = ()
        self.boxes: set[Box] = set()
        self._large: list[Box] = []
        self.nbytes = self._single = 0

    def meets(self, boxes: Sequence[Box]) -> bool:
        """Whether any of the elements in some boxes were saved."""
        for box, _, _ in self.patches:
            for other in boxes:
                if intersection(box, other) is not None:
                    return True
        return False

    def save(self, buffer: Block, box: Box, spare: list[Block], history: History, copies: Copies | None) -> None:
        """Save the contents of a box, unless they are saved already, at once or with some other copies."""
        if box in self.boxes:
            return
        for one in self._large:
            if contains(one, box):
                return
        is_large = volume(box) > 1 or box == buffer.box
        if not is_large:
            self._single += 1
            if self._single * SPARSE > volume(buffer.box):
                self.save(buffer, buffer.box, spare, history, copies)
                return
        try:
            kept = None if self.lost else keep(buffer, box, spare, copies)
        except (MemoryError, AdstackMemoryError):
            kept = None
        if kept is None:
            self.lose()
        alone = history.tiles.alone(box)
        origins = history.origins(box) if alone is None else ((box, alone),)
        self.patches.append((box, np.empty(0) if kept is None else kept, origins))
        self.boxes.add(box)  # now that it is kept: an interrupt may come at any time
        if is_large:
            self._large.append(box)
        if kept is not None:
            nbytes = kept.nbytes
            self.nbytes += nbytes
            LEDGER.add(self, nbytes)

    def lose(self) -> None:
        """Give up the contents; where writes were is still known."""
        self.lost, self.nbytes = True, 0
        self.patches = [(box, np.empty(0), origins) for box, _, origins in self.patches]

    def miss(self, boxes: Sequence[Box], writer: str) -> None:
        """A launch has failed that may have written some boxes: what they held is not known, unless it was saved."""
        for box in boxes:
            if box not in self.boxes and not any(contains(one, box) for one in self._large):
                self.failed = writer
                self.patches.append((box, MISSING, ((box, unique()),)))
                self.boxes.add(box)
                if writer not in self.writers:
                    self.writers += (writer,)

    def absorb(self, later: Saved) -> list[Kept | Array]:
        """Lead back from what was there after a later one, which nobody asks about on its own; what is not needed."""
        unused: list[Kept | Array] = []
        self.failed = self.failed or later.failed
        if later.lost and not self.lost:
            self.lose()
        for box, kept, origins in later.patches:
            if box not in self.boxes and not any(contains(one, box) for one in self._large):
                self.patches.append((box, np.empty(0) if self.lost else kept, origins))
                self.boxes.add(box)
                if volume(box) > 1:
                    self._large.append(box)
                self.nbytes += 0 if self.lost else kept.nbytes
            else:
                unused.append(kept)
        self.writers = tuple(dict.fromkeys((*self.writers, *later.writers)))
        return unused
