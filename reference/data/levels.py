"""Levels of a layout whose cells are active or not: where the words stand that say so, and what they mean.

The elements of a sparse field have places of their own in memory, as those of a dense one, and are 0 while they are
inactive. Beside them each sparse level keeps one word for each of its cells (`pointer`, `bitmasked`, `hash`: 1 where
the cell is active), or for each of its lists (`dynamic`: how long the list is). A cell that is active lies in active
cells of the levels above, so that the innermost sparse level alone tells whether an element is active.

Indices here are counted from 0: they are integers, arrays of numpy, or values of a kernel, which have the same
operators.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..ir.structure import Place
from ..runtime.memory.buffers import Array, Buffer
from ..runtime.memory.copying import Uncopied
from ..values.kinds import Operand

__all__ = ["Cells", "Level", "ListAxis", "Node", "WordArray"]


class WordArray(Protocol):
    """Integers in memory: a field."""

    @property
    def place(self) -> Place:
        """The place that stands for them in the IR."""

    @property
    def buffer(self) -> Buffer:
        """The memory."""

    def has_data(self) -> bool:
        """Whether there is memory yet: without it all are 0."""

    def number_at(self, position: tuple[int, ...]) -> Any:
        """One of them."""

    def store_at(self, position: tuple[int, ...], value: object, written: object) -> None:
        """Write one of them; `written` is what the host wanted to write."""

    def to_numpy(self) -> Array:
        """A copy of all."""

    def from_numpy(self, array: object) -> None:
        """Replace all."""


@dataclass(frozen=True)
class ListAxis:
    """Along which axis the lists of a `dynamic` level grow.

    Attributes:
        position: which of the level's axes it is.
        capacity: the elements of a list at most.
        shared: whether the levels above have this axis, too, so that several lists stand in a row along it.
    """

    position: int
    capacity: int
    shared: bool


@dataclass(frozen=True, eq=False)
class Level:
    """What a sparse level keeps.

    Attributes:
        axes: the numbers of its axes, in order.
        shape: how many cells there are along each.
        words: a word for each cell, or for each list.
        before: memory of the same shape: a loop over what is active keeps what was active when it began.
        lists: how its lists lie; None if its cells are activated one by one.
    """

    axes: tuple[int, ...]
    shape: tuple[int, ...]
    words: WordArray
    before: WordArray
    lists: ListAxis | None = None

    def word(self, cell: Sequence[Operand]) -> list[Operand]:
        """The index of the word that tells about a cell."""
        at = list(cell)
        if self.lists is not None:
            own = at.pop(self.lists.position)
            if self.lists.shared:
                at.insert(self.lists.position, own // self.lists.capacity)
        return at

    def rank(self, cell: Sequence[Operand]) -> Operand:
        """In a `dynamic` level: which element of its list a cell is, counted from 0."""
        assert self.lists is not None
        own = cell[self.lists.position]
        return own % self.lists.capacity if self.lists.shared else own

    def cell(self, of: Sequence[Operand], rank: Operand) -> list[Operand]:
        """In a `dynamic` level: the cell at a rank of the list whose word is at index `of`."""
        assert self.lists is not None
        at, k = list(of), self.lists.position
        if self.lists.shared:
            at[k] = at[k] * self.lists.capacity + rank
        else:
            at.insert(k, rank)
        return at

    def active(self, words: Array) -> Array:
        """Which cells are active, by the contents of `words`: booleans of the level's shape."""
        if self.lists is None:
            return np.asarray(words != 0)
        k, capacity = self.lists.position, self.lists.capacity
        lengths = np.repeat(words if self.lists.shared else np.expand_dims(words, k), capacity, axis=k)
        ranks = np.arange(self.shape[k]) % capacity
        return np.asarray(ranks.reshape([-1 if axis == k else 1 for axis in range(len(self.shape))]) < lengths)


@dataclass(frozen=True)
class Cells:
    """In which cells of a sparse level the elements of a field lie, or the cells of a level below.

    Attributes:
        level: the sparse level.
        steps: for each of its axes (which index of an element, how many elements a cell has along it).
    """

    level: Level
    steps: tuple[tuple[int, int], ...]

    def cell(self, index: Sequence[Operand]) -> list[Operand]:
        """The cell of the element at an index."""
        return [index[k] if below == 1 else index[k] // below for k, below in self.steps]

    def blocks(self, elements: Array, rank: int) -> Array:
        """The elements of a field of `rank` index axes seen as [*cell, *within, *of the element]: a view."""
        below = dict(self.steps)
        shape: list[int] = []
        outer: list[int] = []
        inner: list[int] = []
        for k, extent in enumerate(elements.shape[:rank]):
            if k in below:
                outer.append(len(shape))
                shape.append(extent // below[k])
            inner.append(len(shape))
            shape.append(below.get(k, extent))
        tail = range(len(shape), len(shape) + elements.ndim - rank)
        split = elements.reshape((*shape, *elements.shape[rank:]))
        return np.transpose(split, (*outer, *inner, *tail))


class Node(Uncopied):
    """A level of a layout, as fields and kernels know it."""

    @property
    @abstractmethod
    def cells(self) -> tuple[Cells, ...]:
        """Where its cells lie in the sparse levels, from the root to the level itself."""

    @abstractmethod
    def parent(self, n: int = 1) -> Node | None:
        """The level above, or the one `n` levels above; None beyond the root."""

    @abstractmethod
    def deactivate_all(self) -> None:
        """Make everything in this level and below inactive: elements are 0, lists are empty."""

    @abstractmethod
    def give_back(self) -> None:
        """Give back the memory of cells in this level and below that are inactive."""

    @property
    @abstractmethod
    def level(self) -> Level | None:
        """What it keeps if it is sparse."""
