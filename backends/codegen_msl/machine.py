"""An adstack that counts for itself: where its values, its adjoints and its count are."""

from __future__ import annotations

from dataclasses import dataclass

from adstack.ir.types import DType

__all__ = ["Machine"]


@dataclass(frozen=True)
class Machine:
    """A stack that counts for itself.

    Attributes:
        site: its number, for the overflow record.
        slots: how many there is memory for.
        capacity: how many it may use (i64).
        primal, adjoint: arrays of the thread that hold its values.
        count: a variable (i64).
    """

    site: int
    dtype: DType
    slots: int
    capacity: str
    primal: str
    adjoint: str
    count: str
