"""Size formulas: how many slots a stack needs in one thread, as an expression over what is known at launch.

A formula is a tree of the nodes below. Its leaves are *numbers of the program*: values that the task computes from
constants, arguments, shapes, memory and loop indices, in the program's own types, so that a bound that wraps in the
kernel wraps here as well. What is counted with them (sums and products of trip counts) is exact: evaluators use checked
arithmetic that saturates at `MOST`, which stands for "more than can be counted".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..ir.location import Loc
from ..ir.structure import Value

__all__ = ["MOST", "Branch", "Const", "Number", "Plus", "SizeExpr", "SumOverRange", "Times", "Triangle", "Trips"]

MOST: Final = 2**63 - 1
"""No count is larger: where evaluation arrives here, the true one may be."""


class SizeExpr:
    """A formula. See the nodes."""

    __slots__ = ()


@dataclass(frozen=True)
class Const(SizeExpr):
    """A number that is known when compiling."""

    value: int


@dataclass(frozen=True)
class Number(SizeExpr):
    """A value of the program that is a count; a negative one counts as 0."""

    value: Value


@dataclass(frozen=True)
class Trips(SizeExpr):
    """How often a loop from `lo` to `hi` runs: max(0, hi - lo), however far apart they are."""

    lo: Value
    hi: Value


@dataclass(frozen=True)
class Plus(SizeExpr):
    """A sum."""

    terms: tuple[SizeExpr, ...]


@dataclass(frozen=True)
class Times(SizeExpr):
    """`each`, `count` times. `each` is looked at only if `count` is not 0."""

    count: SizeExpr
    each: SizeExpr


@dataclass(frozen=True)
class Branch(SizeExpr):
    """`yes` where the condition holds, else `no`: exact, since only one side runs."""

    condition: Value
    yes: SizeExpr
    no: SizeExpr


@dataclass(frozen=True)
class SumOverRange(SizeExpr):
    """The sum of `body` over index = lo, ..., hi - 1: of sequential nesting, where multiplying maxima is too much."""

    index: Value
    lo: Value
    hi: Value
    body: SizeExpr
    loc: Loc


@dataclass(frozen=True)
class Triangle(SizeExpr):
    """The sum of max(0, index + shift) over index = lo, ..., hi - 1, without looping: differences of n (n + 1) / 2."""

    lo: Value
    hi: Value
    shift: int
