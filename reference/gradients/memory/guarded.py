"""Elements that are needed later, saved when somebody is about to write them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box, include, intersection, slices
from ...runtime.memory.buffers import Array, Buffer

__all__ = ["Guarded", "differing", "differing_within"]


@dataclass
class Guarded:
    """A buffer of which some elements are needed. Whoever writes it has to say so before.

    Attributes:
        needed: boxes that hold them.
        saved: what needed elements held at the last mark, of those that may have been written since.
        whole: whether these are all.
    """

    label: str
    buffer: Buffer
    needed: list[Box] = field(default_factory=list)
    saved: list[tuple[Box, Array]] = field(default_factory=list)
    whole: bool = False

    def need(self, boxes: Iterable[Box]) -> None:
        """More elements are needed, from now on; the last mark has just been."""
        for box in boxes:
            include(self.needed, box)

    def save(self, within: Iterable[Box] | None) -> None:
        """Elements in some boxes (None: any) are about to be written."""
        if self.whole:
            return
        if within is None:
            self.saved, self.whole = [(box, self._before(box)) for box in self.needed], True
            return
        pairs = ((one, other) for one in self.needed for other in within)
        common = (box for one, other in pairs if (box := intersection(one, other)) is not None)
        self.saved += [(box, self._before(box)) for box in common]

    def _before(self, box: Box) -> Array:
        """What a box held at the last mark: what it holds now, but for what is saved already."""
        contents = self.buffer.part(box)
        for saved, old in reversed(self.saved):
            common = intersection(box, saved)
            if common is not None:
                contents[_inside(common, box)] = old[_inside(common, saved)]
        return contents

    def changed(self) -> tuple[npt.NDArray[np.int64], Array] | None:
        """(flat positions, old values) of needed elements that changed since the last mark; this is a mark."""
        saved, self.saved, self.whole = self.saved, [], False
        changed = [differing_within(box, self.buffer.part(box), old, self.buffer.shape) for box, old in saved]
        if not any(len(positions) for positions, _ in changed):
            return None
        positions = np.concatenate([positions for positions, _ in changed])
        values = np.concatenate([values for _, values in changed])
        positions, first = np.unique(positions, return_index=True)
        return positions, values[first]


def differing_within(box: Box, now: Array, old: Array, shape: tuple[int, ...]) -> tuple[npt.NDArray[np.int64], Array]:
    """(flat positions in memory of such a shape, old values) where the bits in a box differ."""
    differs = differing(old, now)
    values = np.ascontiguousarray(old).reshape(-1)[differs]
    if not box:
        return differs, values
    where = tuple(k + lo for k, (lo, _) in zip(np.unravel_index(differs, old.shape), box, strict=True))
    return np.ravel_multi_index(where, shape), values


def differing(old: Array, new: Array) -> npt.NDArray[np.int64]:
    """Flat positions at which the bits of two arrays differ."""
    bits = f"u{old.dtype.itemsize}"
    flat = (np.ascontiguousarray(a).reshape(-1).view(bits) for a in (old, new))
    return np.nonzero(np.not_equal(*flat))[0]


def _inside(inner: Box, outer: Box) -> tuple[slice, ...]:
    """A box as an index into another one that holds it."""
    return slices(tuple((lo - least, hi - least) for (lo, hi), (least, _) in zip(inner, outer, strict=True)))
