"""What a row says of its derivative: for each operand, how a change passes through.

A scalar operation is linear in the change of each operand: result' = sum of pull_k(operand_k'). The same maps, read the
other way, carry adjoints: the adjoint of operand k is pull_k(adjoint of the result). So one row serves forward and
reverse mode, and the tape oracle. A pull sees only the primals that it names in `needs`; what it does at kinks and at
the edge of a domain is what spec/gradients.md says. A literal 0 that a `where` gives is no contribution at all.

The maps are written with operators on numbers of any kind that has the methods of `Number`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

__all__ = ["Change", "Number", "Pull", "Pulls", "Saved", "through"]


Change: TypeAlias = Any
"""A number of whatever kind a pull computes with: each has the methods of `Number`, for numbers of its own kind."""


class Number(Protocol):
    """What a pull computes with: a value of IR being built, or an array of numbers."""

    def __add__(self, other: Change) -> Change: ...
    def __radd__(self, other: Change) -> Change: ...
    def __sub__(self, other: Change) -> Change: ...
    def __rsub__(self, other: Change) -> Change: ...
    def __mul__(self, other: Change) -> Change: ...
    def __rmul__(self, other: Change) -> Change: ...
    def __truediv__(self, other: Change) -> Change: ...
    def __neg__(self) -> Change: ...
    def __lt__(self, other: Change) -> Change: ...
    def __gt__(self, other: Change) -> Change: ...
    def __or__(self, other: Change) -> Change: ...
    def eq(self, other: Change) -> Change:
        """Where the two are equal; as a number it stands in conditions of `where` alone."""

    def ne(self, other: Change) -> Change:
        """Where the two differ; NaN differs from itself."""

    def where(self, yes: Change, no: Change) -> Change:
        """`yes` where this condition holds, else `no`; what is not chosen contributes nothing, not even NaN."""

    def op(self, row: object, *others: Change) -> Change:
        """The result of a scalar operation, by its row, of which this is the first operand."""


@dataclass(frozen=True)
class Saved:
    """The primals that a pull named: operands x, y, z and the result r; the others are None."""

    x: Change = None
    y: Change = None
    z: Change = None
    r: Change = None


@dataclass(frozen=True)
class Pull:
    """How a change of one operand reaches the result.

    Attributes:
        needs: letters of the primals it looks at: "x", "y", "z" (operands in order), "r" (the result).
        map: `map(change, saved) -> change`, linear in the change.
    """

    needs: str
    map: Callable[[Change, Saved], Change]


Pulls = tuple[Pull | None, ...]
"""One entry per operand: its pull, or None where no change passes (a condition)."""


def through(*pulls: tuple[str, Callable[[Change, Saved], Change]] | None) -> Pulls:
    """The pulls of a row: per operand the letters of the primals that it needs and its map, or None."""
    return tuple(None if p is None else Pull(*p) for p in pulls)
