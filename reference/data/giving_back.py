"""Memory of sparse fields that nothing active needs goes back to where it came from, by the page."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from ..runtime.memory.buffers import Array
from .activation import SparseArray, active_cells
from .levels import Level

__all__ = ["give_back"]


class LazyArray(SparseArray, Protocol):
    """One that may have no memory yet."""

    def has_data(self) -> bool:
        """Whether it has."""


def give_back(levels: Iterable[Level], arrays: Iterable[LazyArray]) -> None:
    """Give back the memory of sparse fields (no gradients or duals) and of levels' words where nothing is active."""
    for array in arrays:
        if array.role == "primal" and array.cells and array.has_data():
            _give_back_elements(array)
    for level in levels:
        _give_back_words(level)


def _give_back_elements(array: SparseArray) -> None:
    """Give back memory in which no element of an array is active, as far as the backend takes it by the page."""

    def unused() -> list[tuple[int, int]]:
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
        return _gaps(begins, math.prod(counts[row:]), math.prod(shape), array.buffer.dtype.size)

    array.buffer.give_back(unused)


def _give_back_words(level: Level) -> None:
    """The same of the words that say which cells of a level are active."""
    words = level.words

    def unused() -> list[tuple[int, int]]:
        contents = words.to_numpy().reshape(-1)
        return _gaps(np.flatnonzero(contents), 1, len(contents), contents.itemsize)

    if words.has_data():
        words.buffer.give_back(unused)


def _row(counts: Sequence[int], shape: Sequence[int]) -> int:
    """From which axis on a box of so many elements along each axis of an array is in one piece."""
    for k in reversed(range(1, len(shape))):
        if counts[k] != shape[k]:
            return k
    return 0


def _gaps(begins: Array, run: int, size: int, width: int) -> list[tuple[int, int]]:
    """(the first one, how many) of elements between runs of used ones, where there may be a page between.

    Args:
        begins: where runs begin.
        run: how many elements each has.
        size: how many elements there are.
        width: bytes of an element.
    """
    begins = np.unique(begins)
    lows, highs = np.append(0, begins + run), np.append(begins, size)
    wide = (highs - lows) * width >= mmap.PAGESIZE
    return [(int(low), int(high - low)) for low, high in zip(lows[wide], highs[wide], strict=True)]
