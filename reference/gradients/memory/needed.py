"""Elements that are needed later, as they were at the last mark: `Needed`.

Whoever writes memory of adstack alone says so before, and what is needed of it is kept then. What is needed of memory
that others write, too (numpy, torch), is kept at once and compared at every mark: no version tells of their writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import EllipsisType

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box, contains, include, intersection, slices
from ...runtime.memory.buffers import Array, Buffer

__all__ = ["Needed", "differing"]


@dataclass
class Needed:
    """A buffer of which some elements are needed.

    Attributes:
        label: what the user calls the memory.
        boxes: that hold them.
        kept: (box, what it held at the last mark), of those that may have been written since.
        whole: whether these are all.
        compared: whether others write the memory, so that all are kept.
    """

    label: str
    buffer: Buffer
    boxes: list[Box] = field(default_factory=list)
    kept: list[tuple[Box, Array]] = field(default_factory=list)
    whole: bool = False

    def __post_init__(self) -> None:
        self.compared = self.buffer.shared

    def need(self, boxes: Iterable[Box]) -> None:
        """More elements are needed, from now on; the last mark has just been."""
        for box in boxes:
            if self.compared and not any(contains(kept, box) for kept, _ in self.kept):
                self.kept.append((box, self.buffer.part(box)))
            include(self.boxes, box)

    def save(self, within: Iterable[Box] | None) -> None:
        """Elements in some boxes (None: any) are about to be written."""
        if self.whole or self.compared:
            return
        if within is None:
            self.kept, self.whole = [(box, self._before(box)) for box in self.boxes], True
            return
        pairs = ((one, other) for one in self.boxes for other in within)
        common = (box for one, other in pairs if (box := intersection(one, other)) is not None)
        self.kept += [(box, self._before(box)) for box in common]

    def _before(self, box: Box) -> Array:
        """What a box held at the last mark: what it holds now, but for what is kept already."""
        contents = self.buffer.part(box)
        for kept, old in reversed(self.kept):
            common = intersection(box, kept)
            if common is not None:
                contents[_inside(common, box)] = old[_inside(common, kept)]
        return contents

    def changed(self, *, written: bool = False) -> tuple[npt.NDArray[np.int64], Array] | None:
        """(flat positions, old values) of needed elements that changed since the last mark; this is a mark.

        With `written`, also of those that hold again what they held then, where adstack alone writes the memory.
        """
        every = written and not self.compared
        changed = [self._differing(box, old, every=every) for box, old in self.kept]
        changed = [(positions, values) for positions, values in changed if len(positions)]
        if not self.compared:
            self.kept, self.whole = [], False
        if self.buffer.shared and (changed or not self.compared):
            self.kept = [(box, self.buffer.part(box)) for box in self.boxes]
        self.compared = self.buffer.shared
        if not changed:
            return None
        positions = np.concatenate([positions for positions, _ in changed])
        positions, first = np.unique(positions, return_index=True)
        return positions, np.concatenate([values for _, values in changed])[first]

    def _differing(self, box: Box, old: Array, *, every: bool) -> tuple[npt.NDArray[np.int64], Array]:
        """(flat positions, old values) where the bits in a box differ from what they were, or of all of it."""
        at: tuple[EllipsisType | slice, ...] = (..., *slices(box))
        view = None if every else self.buffer.view()
        differs = np.arange(old.size) if every else differing(old, self.buffer.part(box) if view is None else view[at])
        values = old.reshape(-1)[differs]
        if not box:
            return differs, values
        where = tuple(k + lo for k, (lo, _) in zip(np.unravel_index(differs, old.shape), box, strict=True))
        return np.ravel_multi_index(where, self.buffer.shape), values


def differing(old: Array, new: Array) -> npt.NDArray[np.int64]:
    """Flat positions at which the bits of two arrays differ."""
    bits = f"u{old.dtype.itemsize}"
    flat = (np.ascontiguousarray(a).reshape(-1).view(bits) for a in (old, new))
    return np.nonzero(np.not_equal(*flat))[0]


def _inside(inner: Box, outer: Box) -> tuple[slice, ...]:
    """A box as an index into another one that holds it."""
    return slices(tuple((lo - least, hi - least) for (lo, hi), (least, _) in zip(inner, outer, strict=True)))
