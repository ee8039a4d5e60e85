"""Numbers that remember what they were computed from: derivatives in both modes, in floats that nothing rounds."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count
from typing import Final

__all__ = ["Number", "RoundedError", "constant", "pull", "value_of"]

UNIT: Final = 2.0**-28
"""What all values must be multiples of."""
LARGEST: Final = 2.0**20


class RoundedError(ArithmeticError):
    """A value has more digits than can be promised to be computed without rounding, in any order."""


def checked(value: float) -> float:
    """The value; RoundedError if it may have been rounded."""
    if not -LARGEST < value < LARGEST or value % UNIT:
        raise RoundedError(value)
    return value


class Number:
    """A value, its tangent, and its partial derivatives.

    Args:
        value: what it is.
        tangent: of forward mode.
        parents: what it was computed from, each with the partial derivative.
    """

    __slots__ = ("order", "parents", "tangent", "value")
    _count = count()

    def __init__(self, value: float, tangent: float = 0.0, parents: tuple[tuple[Number, float], ...] = ()) -> None:
        self.value = checked(value)
        self.tangent: float = tangent
        if parents:
            self.tangent = checked(sum(factor * parent.tangent for parent, factor in parents))
        self.parents = parents
        self.order = next(self._count)

    def __add__(self, other: Number | float) -> Number:
        if isinstance(other, Number):
            return Number(self.value + other.value, parents=((self, 1.0), (other, 1.0)))
        return Number(self.value + other, parents=((self, 1.0),))

    __radd__ = __add__

    def __sub__(self, other: Number | float) -> Number:
        return self + -1.0 * other

    def __mul__(self, other: Number | float) -> Number:
        if isinstance(other, Number):
            return Number(self.value * other.value, parents=((self, other.value), (other, self.value)))
        return Number(self.value * other, parents=((self, float(other)),))

    __rmul__ = __mul__


def constant(number: Number | float) -> Number:
    """The same value, which depends on nothing."""
    return Number(value_of(number))


def value_of(number: Number | float) -> float:
    """Its value."""
    return number.value if isinstance(number, Number) else float(number)


def pull(seeds: Iterable[tuple[Number, float]]) -> dict[Number, float]:
    """The adjoints of all numbers that some are computed from, by the adjoints of these."""
    adjoints: dict[Number, float] = {}
    waiting: list[tuple[int, Number]] = []

    def add(number: Number, adjoint: float) -> None:
        if number not in adjoints:
            heapq.heappush(waiting, (-number.order, number))
        adjoints[number] = checked(adjoints.get(number, 0.0) + adjoint)

    for number, adjoint in seeds:
        add(number, adjoint)
    while waiting:
        _, number = heapq.heappop(waiting)
        for parent, factor in number.parents:
            add(parent, factor * adjoints[number])
    return adjoints
