"""What the fast path of a library function is told while it is emitted."""

from __future__ import annotations

from typing import Protocol, TypeVar

__all__ = ["FastPath"]

Number = TypeVar("Number", contravariant=True)


class FastPath(Protocol[Number]):
    """What the fast path of a function takes for granted: instructions say where that does not hold.

    Attributes:
        builtin: whether it is a function of the library, where the second side of an `if` is cold.
        ordinary: whether no number is subnormal, and no `if` takes its second side, where nothing else is rejected.
    """

    builtin: bool
    ordinary: bool

    def expect(self, condition: Number) -> None:
        """Take the slow path where a condition of the library does not hold."""

    def reject(self, condition: Number) -> None:
        """Take the slow path where a condition holds, under which a result may be wrong."""

    def reject_midpoint(self, total: Number) -> None:
        """Take the slow path where a sum of f64 is half way between two f32: rounding it may be wrong."""

    def reject_subnormal(self, result: Number) -> None:
        """Take the slow path where an f32 is subnormal, and may be wrong."""
