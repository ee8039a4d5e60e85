"""How a buffer differs from what it held at a launch, by what was saved since: `difference`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import EllipsisType

import numpy as np
import numpy.typing as npt

from ...analysis.boxes import Box, contains, intersection, slices
from .blocks import Array, Block
from .keeping import Kept
from .saved import MISSING, Saved

__all__ = ["Difference", "LostError", "difference", "meeting"]


@dataclass(frozen=True)
class Difference:
    """How a buffer differs from what it held at a launch.

    Attributes:
        positions: flat positions, ascending.
        values: what the launch found there.
        writers: who has written any of the elements that were looked at since.
    """

    positions: npt.NDArray[np.int64]
    values: Array
    writers: tuple[str, ...]


class LostError(Exception):
    """What a buffer held is not known any more.

    Attributes:
        writers: who has overwritten it.
        failed: the launch that was to compute it again, and failed; "" where what was kept took too much memory.
    """

    def __init__(self, writers: Iterable[str], failed: str = "") -> None:
        super().__init__()
        self.writers, self.failed = tuple(writers), failed


def difference(buffer: Block, changed: Sequence[Saved], within: Sequence[Box]) -> Difference | None:
    """How the elements in some boxes differ from what they were, by bits; None if they don't.

    Args:
        buffer: whose elements.
        changed: what was saved since, oldest first.
        within: the boxes.

    Raises:
        LostError: what they were is not known.
    """
    patches, writers = _patches(changed, within)
    now = buffer.read()
    if all(_is_in(now, box, kept) for box, kept in patches):
        return None
    positions = np.concatenate([_flat(box, buffer.shape) for box, _ in patches])
    at, first = np.unique(positions, return_index=True)
    old = np.concatenate([kept.reshape(-1) for _, kept in patches])[first]
    differs = np.nonzero(_bits(old) != _bits(np.ascontiguousarray(now.reshape(-1)[at])))[0]
    return Difference(at[differs], old[differs], tuple(writers)) if len(differs) else None


def _patches(changed: Sequence[Saved], within: Sequence[Box]) -> tuple[list[tuple[Box, Array]], dict[str, None]]:
    """What some boxes held before some stretches of writes, where these wrote; and who wrote there.

    Where boxes overlap the first one counts; those that lie in an earlier one are left out.
    """
    patches: list[tuple[Box, Array]] = []
    writers = dict[str, None]()
    for one in changed:
        if one.lost:
            raise LostError(one.writers)
        writers |= dict.fromkeys(one.writers)
        for box, kept, _ in one.patches:
            if meeting(box, within) and not any(contains(patched, box) for patched, _ in patches):
                if kept is MISSING:
                    raise LostError(one.writers, one.failed)
                if isinstance(kept, Kept) and not kept.is_there:
                    raise LostError(one.writers)  # an interrupt came before it was copied
                patches.append((box, kept if isinstance(kept, np.ndarray) else kept.array()))
    return patches, writers


def meeting(box: Box, others: Sequence[Box]) -> list[Box]:
    """The parts of a box that lie in others."""
    if box in others:
        return [box]
    return [common for other in others if (common := intersection(box, other)) is not None]


def _is_in(contents: Array, box: Box, old: Array) -> bool:
    """Whether a box of elements holds these bits."""
    at: tuple[EllipsisType | slice, ...] = (..., *slices(box))
    return np.array_equal(_bits(contents[at]), _bits(old))


def _bits(elements: Array) -> Array:
    """The same as unsigned integers."""
    bits: Array = elements.view(f"u{elements.dtype.itemsize}")
    return bits


def _flat(box: Box, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Flat positions of the elements of a box, in C order."""
    flat = np.zeros((), np.int64)
    for (low, high), extent in zip(box, shape, strict=True):
        flat = (flat[..., np.newaxis] if flat.ndim else flat) * extent + np.arange(low, high + 1)
    return flat.reshape(-1)
