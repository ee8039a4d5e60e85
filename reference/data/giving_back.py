"""Making all of a sparse level inactive, and giving back memory in which nothing is active, by the page."""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterable
from functools import partial
from typing import Protocol

import numpy as np

from ..runtime.memory.buffers import Array, Runs
from ..runtime.threads.recording import RECORDERS, host_wrote
from .levels import Level
from .used import SparseArray, active_runs, used_elements, used_words

__all__ = ["clear", "give_back", "vacate"]


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


def vacate(array: LazyArray) -> None:
    """Let every element be 0; to a tape, and in forward mode, the host has written them."""
    if not array.has_data():
        return
    if not array.buffer.vacate(partial(used_elements, array) if array.role == "primal" else None):
        array.fill(0)
    elif RECORDERS:
        host_wrote(array, ...)


def clear(level: Level) -> None:
    """Make all cells of a level inactive; the elements in them must be 0 by then."""
    words = level.words
    contents = words.to_numpy() if words.has_data() else None
    if contents is not None and contents.any() and not words.buffer.vacate(partial(used_words, contents)):
        words.from_numpy(0 * contents)


def _give_back_elements(array: SparseArray) -> None:
    """Give back memory in which no element of an array is active, as far as the backend takes it by the page."""

    def unused() -> Runs:
        begins, run = active_runs(array)
        return _gaps(begins, run, math.prod(array.buffer.shape), array.buffer.dtype.size)

    array.buffer.give_back(unused)


def _give_back_words(level: Level) -> None:
    """The same of the words that say which cells of a level are active."""
    words = level.words

    def unused() -> Runs:
        contents = words.to_numpy().reshape(-1)
        return _gaps(np.flatnonzero(contents), 1, len(contents), contents.itemsize)

    if words.has_data():
        words.buffer.give_back(unused)


def _gaps(begins: Array, run: int, size: int, width: int) -> Runs:
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
