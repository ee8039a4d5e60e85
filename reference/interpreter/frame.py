"""What steps work on: frames of lanes that take the same path.

A lane is one iteration of a parallel loop; serial code is a single lane. The lanes of a chunk run each op together.
Where their paths part, each side goes on in a frame that holds only its own lanes: no step ever sees an inactive lane.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..ir.structure import Place
from ..ir.types import DType

if TYPE_CHECKING:
    from .launch import Launch

Array = npt.NDArray[Any]


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
        return math.prod(self.extents)

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


def listed(numbers: Iterable[object]) -> str:
    """`(1, 2)`: numbers as an index is written."""
    return "(" + ", ".join(str(number) for number in numbers) + ")"


class Frame:
    """Lanes that run together, and their values.

    Attributes:
        launch: what all frames of a launch share.
        team: the chunk that the lanes belong to.
        lanes: their positions in the team, ascending.
        count: how many.
        values: by slot: an array with one element per lane, or with a single element if all lanes agree; or the handle
            of thread-local memory, which covers the whole team.
    """

    __slots__ = ("count", "lanes", "launch", "team", "values")

    def __init__(self, launch: Launch, team: Team, lanes: Array, values: list[Any]) -> None:
        self.launch = launch
        self.team = team
        self.lanes = lanes
        self.count = len(lanes)
        self.values = values

    def take(self, chosen: Array, slots: Iterable[int]) -> Frame:
        """A frame of the lanes at the positions `chosen`; of the values, those in `slots` follow."""
        values = self.values.copy()
        for slot in slots:
            value = self.values[slot]
            if len(value) > 1:
                values[slot] = value[chosen]
        return Frame(self.launch, self.team, self.lanes[chosen], values)

    def spread(self, value: Array) -> Array:
        """`value` with one element per lane."""
        return value if len(value) == self.count else np.broadcast_to(value, (self.count,))
