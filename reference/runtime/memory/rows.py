"""Boxes of the elements of one buffer, looked up by the indices of the first axis: `Rows`, and `Latest`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...analysis.boxes import Box, intersection

__all__ = ["Latest", "Rows"]

MOST: Final = 4096
"""How many boxes are told apart in one buffer."""
FEW: Final = 4
"""Boxes that reach over at most so many indices of the first axis are looked up by these."""


class Rows:
    """A set of boxes."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[Box, None]] = {}  # of the first axis: the boxes that have it
        self._wide: dict[Box, None] = {}  # the boxes that have more than a few

    def add(self, box: Box) -> None:
        """One more."""
        for boxes in self._indices(box):
            boxes[box] = None

    def remove(self, box: Box) -> None:
        """One less."""
        for boxes in self._indices(box):
            del boxes[box]

    def clear(self) -> None:
        """None is left."""
        self._rows.clear()
        self._wide.clear()

    def _indices(self, box: Box) -> Iterator[dict[Box, None]]:
        """Where a box is noted."""
        if not box or box[0][1] - box[0][0] >= FEW:
            yield self._wide
            return
        for k in range(box[0][0], box[0][1] + 1):
            yield self._rows.setdefault(k, {})

    def near(self, box: Box) -> Iterable[Box] | None:
        """Those that may meet a box, each once; None if that may be any of them."""
        if not box or box[0][1] - box[0][0] >= FEW:
            return None
        first, last = box[0]
        if first == last and not self._wide:
            return self._rows.get(first, ())
        rows = (self._rows.get(k, ()) for k in range(first, last + 1))
        return dict.fromkeys((*self._wide, *(one for row in rows for one in row)))


class Latest:
    """When elements of one buffer were last written, by a count that never falls: it may say later than it was.

    Attributes:
        number: when any of them was; -1 if none was.
        numbers: of the boxes that it was told of, when each was last; it may have forgotten all of them.
    """

    def __init__(self) -> None:
        self.number = self._rest = -1
        self.numbers: dict[Box, int] = {}
        self._boxes = Rows()

    def put(self, box: Box, number: int) -> None:
        """The elements in a box are written."""
        if box not in self.numbers:
            if len(self.numbers) == MOST:
                self.numbers.clear()
                self._boxes.clear()
                self._rest = self.number  # of each of them it is only known that it was not later
            self._boxes.add(box)
        self.number = self.numbers[box] = number

    def reaches(self, number: int, boxes: Sequence[Box]) -> bool:
        """Whether any of the elements in some boxes may have been written at a count or later."""
        if self._rest >= number:
            return True
        numbers = self.numbers
        for box in boxes:
            if numbers.get(box, -1) >= number:
                return True
            near = self._boxes.near(box)
            for one in numbers if near is None else near:
                if numbers[one] >= number and intersection(one, box) is not None:
                    return True
        return False
