"""How an integer grows from one iteration of a parallel loop to the next, and whether it may wrap on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.types import DType

__all__ = ["Growth", "cast", "minus", "plus", "times"]


@dataclass(frozen=True)
class Growth:
    """A value that is `base + sum of factors[k] * index k`, modulo 2 to the bits of its type.

    Attributes:
        factors: per index of the loop; those that are not there are 0.
        least, most: bounds of the sum as an integer that never wraps; None where it may wrap, or nobody knows.
    """

    factors: Mapping[int, int]
    least: int | None = None
    most: int | None = None

    @property
    def exact(self) -> bool:
        """Whether the value never wraps."""
        return self.least is not None

    def linear_as_index(self, dtype: DType) -> bool:
        """Whether an index of this value and type counts like an integer around every index that is within bounds.

        A signed one of 32 bits or more does even if it wraps: elements lie half its range away from where it does.
        """
        return self.exact or (dtype.is_signed and dtype.bits >= 32)


def _within(factors: Mapping[int, int], least: int | None, most: int | None, dtype: DType) -> Growth:
    if least is None or most is None or least < dtype.min or most > dtype.max:
        return Growth(factors)
    return Growth(factors, least, most)


def plus(a: Growth, b: Growth, dtype: DType) -> Growth:
    """Of the sum."""
    factors = {k: a.factors.get(k, 0) + b.factors.get(k, 0) for k in {*a.factors, *b.factors}}
    least = None if a.least is None or b.least is None else a.least + b.least
    most = None if a.most is None or b.most is None else a.most + b.most
    return _within(factors, least, most, dtype)


def times(a: Growth, factor: int, dtype: DType) -> Growth:
    """Of the product with a constant."""
    factors = {k: c * factor for k, c in a.factors.items()}
    if a.least is None or a.most is None:
        return Growth(factors)
    least, most = sorted((a.least * factor, a.most * factor))
    return _within(factors, least, most, dtype)


def minus(a: Growth, b: Growth, dtype: DType) -> Growth:
    """Of the difference."""
    least = None if b.most is None else -b.most
    most = None if b.least is None else -b.least
    return plus(a, Growth({k: -c for k, c in b.factors.items()}, least, most), dtype)


def cast(a: Growth, source: DType, to: DType) -> Growth | None:
    """After a conversion between integers: one that may have wrapped can't be made wider."""
    if to.bits > source.bits and not a.exact:
        return None
    return _within(a.factors, a.least, a.most, to)
