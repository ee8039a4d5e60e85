"""Scalar evolution over a parallel loop: integers as linear functions of its indices, and whether they may wrap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.types import DType

__all__ = ["Evolution", "convert", "minus", "plus", "times"]


@dataclass(frozen=True)
class Evolution:
    """A value that is `base + sum of factors[k] * index k`, modulo 2 to the bits of its type.

    Attributes:
        factors: one per index of the loop, by its position; an index that is not listed has the factor 0.
        least, most: bounds of the value as an integer that never wraps; None where it may wrap or they are not known.
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

        A signed one of 32 bits or more does so even if it wraps: it wraps half its range away from all elements.
        """
        return self.exact or (dtype.is_signed and dtype.bits >= 32)


def _within(factors: Mapping[int, int], least: int | None, most: int | None, dtype: DType) -> Evolution:
    if least is None or most is None or least < dtype.min or most > dtype.max:
        return Evolution(factors)
    return Evolution(factors, least, most)


def plus(a: Evolution, b: Evolution, dtype: DType) -> Evolution:
    """The evolution of `a + b`, computed in `dtype`."""
    factors = {k: a.factors.get(k, 0) + b.factors.get(k, 0) for k in {*a.factors, *b.factors}}
    least = None if a.least is None or b.least is None else a.least + b.least
    most = None if a.most is None or b.most is None else a.most + b.most
    return _within(factors, least, most, dtype)


def times(a: Evolution, factor: int, dtype: DType) -> Evolution:
    """The evolution of `a * factor`, computed in `dtype`."""
    factors = {k: c * factor for k, c in a.factors.items()}
    if a.least is None or a.most is None:
        return Evolution(factors)
    least, most = sorted((a.least * factor, a.most * factor))
    return _within(factors, least, most, dtype)


def minus(a: Evolution, b: Evolution, dtype: DType) -> Evolution:
    """The evolution of `a - b`, computed in `dtype`."""
    least = None if b.most is None else -b.most
    most = None if b.least is None else -b.least
    return plus(a, Evolution({k: -c for k, c in b.factors.items()}, least, most), dtype)


def convert(a: Evolution, source: DType, to: DType) -> Evolution | None:
    """The evolution after a cast from `source` to `to`; None for one that may have wrapped and is made wider."""
    if to.bits > source.bits and not a.exact:
        return None
    return _within(a.factors, a.least, a.most, to)
