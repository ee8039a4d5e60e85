"""What the host does with the elements of sparse fields: a write activates, a read does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from ..runtime.memory.buffers import Array
from .levels import Cells, Level
from .used import SparseArray, active_cells, used_elements

__all__ = ["activate", "fill", "is_active", "present", "replace", "shown"]


def is_active(cells: Sequence[Cells], index: Sequence[int]) -> bool:
    """Whether the element at an `index`, counted from 0, is active: the innermost of its `cells` says so."""
    if not cells:
        return True
    level, cell = cells[-1].level, cells[-1].cell(index)
    word: int = level.words.number_at(tuple(level.word(cell)))
    return word != 0 if level.lists is None else bool(level.rank(cell) < word)


def activate(cells: Iterable[Cells], index: Sequence[int]) -> None:
    """Make the element at an index active, and the cells that it lies in; a list grows as far as that."""
    for each in cells:
        level, cell = each.level, each.cell(index)
        least = 1 if level.lists is None else level.rank(cell) + 1
        at: tuple[int, ...] = tuple(level.word(cell))
        if level.words.number_at(at) < least:
            level.words.store_at(at, least, least)


def shown(array: SparseArray, contents: Array) -> Array:
    """The contents of an array as they are read: those of a gradient or dual are 0 where nothing is active."""
    if array.role == "primal":
        return contents
    return np.where(present(array), contents, np.zeros((), contents.dtype))


def present(array: SparseArray) -> Array:
    """Which numbers of an array are of active elements, as booleans."""
    result, cells = np.zeros(array.buffer.shape, np.bool_), array.cells[-1]
    cells.blocks(result, len(array.shape))[active_cells(array)] = True
    return result


def fill(array: SparseArray, values: object) -> None:
    """Set every active element to `values`: a number, or a numpy array of an element's shape."""
    if array.role != "primal":
        array.buffer.write(0)
    _change(array, lambda blocks, where: blocks.__setitem__(where, values))


def replace(array: SparseArray, values: Array) -> None:
    """Take over `values`, of the shape of all elements: those that are not 0 are activated, the others are not."""
    rank = len(array.shape)
    present = (values != 0).reshape((*array.shape, -1)).any(-1)
    for cells in array.cells:
        _extend(cells.level, _any(cells.blocks(present, rank), len(cells.steps)))
    if array.role != "primal":
        array.buffer.write(values)
        return
    source = array.cells[-1].blocks(np.ascontiguousarray(values), rank)
    _change(array, lambda blocks, where: blocks.__setitem__(where, source[where]))


def _any(blocks: Array, axes: int) -> Array:
    """For each cell, of so many axes, whether one of its elements is true."""
    return np.asarray(blocks.any(tuple(range(axes, blocks.ndim))))


def _extend(level: Level, cells: Array) -> None:
    """Activate the cells for which a boolean is true."""
    words = level.words.to_numpy()
    if level.lists is None:
        more = cells.astype(words.dtype)
    else:
        k, capacity = level.lists.position, level.lists.capacity
        shape = (*cells.shape[:k], cells.shape[k] // capacity, capacity, *cells.shape[k + 1 :])
        ranks = np.arange(1, capacity + 1).reshape([-1 if axis == k + 1 else 1 for axis in range(len(shape))])
        more = np.where(cells.reshape(shape), ranks, 0).max(k + 1).reshape(words.shape)
    level.words.from_numpy(np.maximum(words, more))


def _change(array: SparseArray, change: Callable[[Array, tuple[Array, ...]], object]) -> None:
    """Let `change(blocks, where)` write the active cells of an array: no memory is touched but theirs."""
    cells, rank, buffer = array.cells[-1], len(array.shape), array.buffer
    where = active_cells(array)
    with buffer.locked(), np.errstate(all="ignore"):
        buffer.announce()  # the device may begin to copy what is kept; for the view, it has finished with that
        view = buffer.view()
        if view is None:
            contents = np.zeros(buffer.shape, buffer.dtype.numpy)  # what is inactive is 0
            change(cells.blocks(contents, rank), where)
            buffer.replace_parts(contents, partial(used_elements, array))
            return
        change(cells.blocks(view, rank), where)
        buffer.touch()
