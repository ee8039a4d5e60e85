"""A body that is cut at some of its ops: what lives on from one piece to the next.

A function that calls itself is cut at its calls (`recursion.py`), what the threads of a block do is cut where they wait
for each other (`phases.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...ir.scalar_ops import CONST
from ...ir.structure import Op, Region, Value
from .cells import ALLOC, Cell

__all__ = ["Segments", "Span"]

Span = tuple[int, int]
"""The numbers of the cuts that stand in an op or region: first and last."""


class Segments:
    """The pieces of a body between cuts, and what is defined in one and used in another.

    A piece is a run of ops of one region in which nothing is a cut. Cuts are numbered from 1 in the order of the text,
    and an op or region with cuts in it has those of a span.

    Attributes:
        number: a cut -> its number.
        spans: an op or region with cuts in it -> their numbers.
        kept: values that a later piece than their own needs, and arguments of regions with cuts in them.
        crossing: cells of the body that more than one piece uses.

    Args:
        is_cut_at: whether the body is cut at an op.
        body: a region, before mem2reg.
    """

    def __init__(self, is_cut_at: Callable[[Op], bool], body: Region) -> None:
        self._is_cut_at = is_cut_at
        self.number: dict[Op, int] = {}
        self.spans: dict[Op | Region, Span] = {}
        self._piece_of: dict[Op, int] = {}
        self._pieces = 0
        self._count(body)
        self._cut(body)
        self.kept = dict.fromkeys(self._crossing_values())
        self.crossing = dict.fromkeys(self._crossing_cells())

    def is_cut(self, op: Op) -> bool:
        """Whether it is a cut, or has one in it."""
        return op in self.spans or op in self.number

    def _count(self, region: Region) -> None:
        before = len(self.number)
        for op in region.ops:
            if self._is_cut_at(op):
                self.number[op] = len(self.number) + 1
            first = len(self.number) + 1
            for inner in op.regions:
                self._count(inner)
            if len(self.number) >= first:
                self.spans[op] = (first, len(self.number))
        if len(self.number) > before:
            self.spans[region] = (before + 1, len(self.number))

    def _cut(self, region: Region) -> None:
        self._pieces += 1
        for op in region.ops:
            if self.is_cut(op):
                self._pieces += 1
                self._piece_of[op] = self._pieces
                for inner in op.regions:
                    self._cut(inner)
                self._pieces += 1
            else:
                self._piece_of.update(dict.fromkeys(_deep(op), self._pieces))

    def _crossing_values(self) -> Iterator[Value]:
        for op, piece in self._piece_of.items():
            for value in op.operands:
                definition = value.op
                home = None if definition is None else self._piece_of.get(definition)
                if home is not None and home != piece and definition is not None and definition.opdef is not CONST:
                    yield value
            if op in self.spans:
                yield from (index for inner in op.regions for index in inner.args)

    def _crossing_cells(self) -> Iterator[Cell]:
        homes: dict[Cell, int] = {}
        for op, piece in self._piece_of.items():
            if op.opdef is ALLOC:
                homes[op.attrs["cell"]] = piece
        for op, piece in self._piece_of.items():
            cell = op.attrs.get("cell")
            if cell in homes and homes[cell] != piece:
                yield cell

    def moves(self, value: Value, user: Op) -> bool:
        """Whether an op has an operand from another piece, where it may be a constant that is made again."""
        definition = value.op
        if definition is None or definition not in self._piece_of:
            return value in self.kept
        return self._piece_of[definition] != self._piece_of[user]


def _deep(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        yield from region.walk()
