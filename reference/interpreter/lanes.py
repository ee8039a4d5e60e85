"""The lanes of a launch and the memory that they share.

A lane is one iteration of a parallel loop; serial code is a single lane. The lanes of a chunk run each op together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..ir.structure import Place
from ..ir.types import Array, DType
from .messages import listed

__all__ = ["Array", "Box", "Memory", "Team"]


@dataclass(frozen=True)
class Memory:
    """The elements of a place during a launch.

    Attributes:
        place: what it is.
        flat: its elements in row-major order.
        extents: one per axis.
    """

    place: Place
    flat: Array
    extents: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """The points of a parallel loop, numbered row-major.

    Attributes:
        lows: where each axis begins.
        extents: how many points each axis has.
    """

    lows: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many points there are."""
        return math.prod(self.extents)

    def chunks(self, lanes: int, rows: int = 0) -> Iterator[tuple[int, int]]:
        """The first point, and how many there are, of each chunk of at most so many lanes, in the order they run.

        With `rows`, chunks are parts of blocks of so many rows of the first axis: the even blocks, then the odd ones.
        """
        size = self.size
        block = rows * (size // self.extents[0]) if rows and size else max(size, 1)
        for start in (*range(0, size, 2 * block), *range(block, size, 2 * block)):
            end = min(start + block, size)
            yield from ((first, min(lanes, end - first)) for first in range(start, end, lanes))

    def axes(self, first: int, count: int, types: Sequence[DType]) -> list[Array]:
        """The indices of `count` points from the number `first`, one array per axis."""
        steps = np.unravel_index(np.arange(first, first + count), self.extents)
        return [
            step.astype(to.numpy) + to.numpy.type(low) for step, low, to in zip(steps, self.lows, types, strict=True)
        ]

    def point(self, number: int) -> tuple[int, ...]:
        """The indices of one point."""
        return tuple(
            low + int(step) for low, step in zip(self.lows, np.unravel_index(number, self.extents), strict=True)
        )


@dataclass
class Team:
    """The lanes of one chunk of a parallel loop, or the single lane of serial code.

    Attributes:
        first: the linear iteration index of lane 0.
        size: how many lanes.
        box: the loop's points; None in serial code.
        draws: how many random numbers each lane has drawn.
        claims: which lanes may touch slots of adstacks; None if all may.
    """

    first: int
    size: int
    box: Box | None = None
    claims: Array | None = None
    draws: Array = field(init=False)

    def __post_init__(self) -> None:
        self.draws = np.zeros(self.size, np.uint64)

    def iteration(self, lane: int) -> str:
        """` in iteration (i, j)` for messages; nothing in serial code."""
        return f", in iteration {listed(self.box.point(self.first + lane))}" if self.box else ""
