"""Where in memory the elements of a sparse field that are active lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from ..runtime.memory.buffers import Array, Buffer, Runs
from .levels import Cells

__all__ = ["SparseArray", "active_cells", "active_runs", "used_elements", "used_words"]

_CHUNK: Final = 1 << 21
"""Bytes, a power of two: elements that are nearer to each other count as one run. Devices take so much for a page."""


class SparseArray(Protocol):
    """A field whose elements lie in cells of sparse levels."""

    @property
    def cells(self) -> tuple[Cells, ...]:
        """The cells of the sparse levels, from the root on."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the index axes."""

    @property
    def buffer(self) -> Buffer:
        """The memory."""

    @property
    def role(self) -> str:
        """What it is: a "grad" or "dual" may have at an inactive element what is left of earlier."""

    def has_data(self) -> bool:
        """Whether it has memory."""

    def fill(self, value: float) -> None:
        """Set every active element to a number."""


def active_cells(array: SparseArray) -> tuple[Array, ...]:
    """The indices of the active cells of its innermost sparse level."""
    level = array.cells[-1].level
    return np.nonzero(level.active(level.words.to_numpy()))


def active_runs(array: SparseArray) -> tuple[npt.NDArray[np.int64], int]:
    """Where in memory runs of active elements begin, and how many elements each run has."""
    cells, shape, where = array.cells[-1], array.buffer.shape, active_cells(array)
    below = dict(cells.steps)
    counts = [below.get(k, extent) for k, extent in enumerate(shape)]
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    row = _row(counts, shape)
    begins = np.zeros(len(where[0]), np.int64)
    for (k, step), at in zip(cells.steps, where, strict=True):
        begins += at * (step * strides[k])
    for k in range(row):
        begins = np.add.outer(begins, np.arange(counts[k]) * strides[k]).reshape(-1)
    return begins, math.prod(counts[row:])


def used_elements(array: SparseArray) -> Runs:
    """All elements of an array that are active, and some more: the others are 0, unless it is a gradient or dual."""
    begins, run = active_runs(array)
    return _chunks(begins, run, math.prod(array.buffer.shape), array.buffer.dtype.size)


def used_words(contents: Array) -> Runs:
    """All words that are not 0, and some more."""
    return _chunks(np.flatnonzero(contents), 1, contents.size, contents.itemsize)


def _row(counts: Sequence[int], shape: Sequence[int]) -> int:
    """From which axis on a box of so many elements along each axis of an array is in one piece."""
    for k in reversed(range(1, len(shape))):
        if counts[k] != shape[k]:
            return k
    return 0


def _chunks(begins: Array, run: int, size: int, width: int) -> Runs:
    """Chunks of memory that hold runs of elements, joined where they follow each other.

    Args:
        begins: where runs begin.
        run: how many elements each has.
        size: how many elements there are.
        width: bytes of an element.
    """
    per = _CHUNK // width
    first, last = begins // per, (begins + run - 1) // per
    touched = np.unique(np.concatenate([np.minimum(first + k, last) for k in range(-(-run // per) + 1)]))
    pieces = np.split(touched, np.flatnonzero(np.diff(touched) > 1) + 1) if len(touched) else []
    return [(int(p[0]) * per, min((int(p[-1]) + 1) * per, size) - int(p[0]) * per) for p in pieces]
