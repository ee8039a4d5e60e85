"""The record of a run: what every executed operation read and gave, in order.

A node is what one execution of one op gave to the lanes of one frame; executing the op again makes another node. Beside
the kernel's own numbers a node may hold others (see `beside.py`): f64 values, or error bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..interpreter.frame import Frame
from ..interpreter.lanes import Array, Team
from ..interpreter.launch import Launch
from ..ir.opdef import OpDef
from ..ir.types import DType

__all__ = ["Arg", "Atomic", "Cells", "Lanes", "Load", "Move", "Node", "Record", "Scalar", "Storage", "Store"]


class Lanes(Frame):
    """Lanes that run together, and where each of them stands among them."""

    __slots__ = ("_positions", "everyone", "first")

    def __init__(self, launch: Launch, team: Team, lanes: Array) -> None:
        super().__init__(launch, team, lanes, [])
        self._positions: Array | None = None
        self.everyone = np.arange(self.count)
        self.first = np.zeros(self.count, np.intp)

    @property
    def home(self) -> Lanes | None:
        """Where nodes made here live: in serial code nowhere, which means that all lanes share them."""
        return None if self.team.box is None else self

    def part(self, chosen: Array) -> Lanes:
        """The lanes at the positions `chosen`."""
        return Lanes(self.launch, self.team, self.lanes[chosen])

    def positions(self, lanes: Array) -> Array:
        """Where these lanes of the team stand in this frame."""
        if self._positions is None:
            self._positions = np.full(self.team.size, -1, np.intp)
            self._positions[self.lanes] = np.arange(self.count)
        return self._positions[lanes]


@dataclass(eq=False)
class Node:
    """What an op gave.

    Attributes:
        dtype: its type.
        own: the kernel's numbers.
        beside: what is carried along with them; None for integers.
        home: the frame that its elements belong to; None: one element, for everybody.
    """

    dtype: DType
    own: Array
    beside: Array | None
    home: Lanes | None

    def at(self, frame: Lanes) -> Array:
        """Where the lanes of `frame` find their elements."""
        if self.home is None:
            return frame.first
        return frame.everyone if self.home is frame else self.home.positions(frame.lanes)

    def of(self, frame: Lanes) -> Arg:
        """The elements of the lanes of `frame`: to be looked at only."""
        return Arg(self.dtype, self.own, self.beside) if self.home is frame else self.read(self.at(frame))

    def read(self, at: Array) -> Arg:
        """The elements at these positions."""
        return Arg(self.dtype, self.own[at], None if self.beside is None else self.beside[at])


@dataclass(frozen=True)
class Arg:
    """Numbers taken from a node or a storage: the kernel's own, and what is beside them."""

    dtype: DType
    own: Array
    beside: Array | None


class Cells(Protocol):
    """What is carried beside the elements of a storage."""

    def read(self, at: Array) -> Array | None:
        """Beside the elements at these positions."""

    def write(self, at: Array, arg: Arg) -> None:
        """The elements at these positions are overwritten."""

    def add(self, at: Array, arg: Arg) -> None:
        """Numbers are added to the elements at these positions, in any order."""


@dataclass(eq=False)
class Storage:
    """Elements that are overwritten: a place, or a local array of all lanes of a team.

    Attributes:
        dtype: of its elements.
        own: the kernel's numbers, flat.
        cells: what is carried along; None for integers.
    """

    dtype: DType
    own: Array
    cells: Cells | None

    def read(self, at: Array) -> Arg:
        """The elements at these positions."""
        return Arg(self.dtype, self.own[at], None if self.cells is None else self.cells.read(at))

    def write(self, at: Array, arg: Arg) -> None:
        """Overwrite the elements at these positions; the last of several stays."""
        self.own[at] = arg.own
        if self.cells is not None:
            self.cells.write(at, arg)


@dataclass(frozen=True)
class Scalar:
    """A scalar op of the table of derivatives."""

    row: OpDef
    frame: Lanes
    operands: tuple[Node, ...]
    result: Node


@dataclass(frozen=True)
class Move:
    """The lanes of `frame` hand a value on: a branch or a loop that they leave gives it to its result."""

    frame: Lanes
    source: Node
    target: Node


@dataclass(frozen=True)
class Load:
    """Each lane reads the element at its position."""

    frame: Lanes
    storage: Storage
    at: Array
    result: Node


@dataclass(frozen=True)
class Store:
    """Each lane writes the element at its position."""

    frame: Lanes
    storage: Storage
    at: Array
    value: Node


@dataclass(frozen=True)
class Atomic:
    """A group of lanes, at most one per element, combines values with elements; or all lanes add, giving nothing.

    Attributes:
        chosen: positions of the group in the frame.
        at: the element of each lane of the group.
        old: the elements before.
        result: the node of the old elements; None if they are unused.
    """

    frame: Lanes
    kind: str
    storage: Storage
    chosen: Array
    at: Array
    old: Arg | None
    operands: tuple[Node, ...]
    result: Node | None


Record = Scalar | Move | Load | Store | Atomic


def columns(nodes: Iterable[Node], frame: Lanes) -> list[Array]:
    """The nodes' own numbers, one element per lane of `frame`: to be looked at only."""
    return [node.own if node.home is frame else node.own[node.at(frame)] for node in nodes]
