"""How often loops run."""

from __future__ import annotations

from ...ir.builder import Builder
from ...ir.structure import Value
from ...ir.types import i64

__all__ = ["trip_count", "trips_before"]


def trip_count(b: Builder, lo: Value, hi: Value) -> Value:
    """How often a `for` runs, as i64."""
    return b.select(b.lt(lo, hi), trips_before(b, lo, hi), b.const(0, i64))


def trips_before(b: Builder, lo: Value, index: Value) -> Value:
    """How many iterations of a `for` come before that of an index, as i64: for their own type that may be too many."""
    return b.sub(b.cast(index, i64), b.cast(lo, i64))
