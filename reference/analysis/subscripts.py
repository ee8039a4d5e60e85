"""Subscripts as a value plus a number: which elements two accesses touch, relative to each other."""

from __future__ import annotations

from ..ir.scalar_ops import ADD, SUB
from ..ir.structure import Op, Value
from ..ir.types import DType
from .facts import integer

__all__ = ["are_apart", "differ", "is_wide", "moved"]


def is_wide(value: Value) -> bool:
    """Whether a value's type wraps around half its range away from every element: signed, 32 bits or more."""
    dtype = value.type
    return isinstance(dtype, DType) and dtype.is_signed and dtype.is_integer and dtype.bits >= 32


def are_apart(op: Op, other: Op) -> bool:
    """Whether two accesses to a place are to different elements: a subscript is the other one's plus a number."""
    rank = op.attrs["place"].rank
    return any(differ(a, b) for a, b in zip(op.operands[:rank], other.operands[:rank], strict=True))


def differ(a: Value, b: Value) -> bool:
    """Whether two integers are sums of one value and different numbers, also around the end of the type."""
    (base, n), (other, m) = moved(a), moved(b)
    return a.dtype == b.dtype and base is other and (n - m) % (1 << a.dtype.bits) != 0


def moved(value: Value) -> tuple[Value | None, int]:
    """A value, and the constant that is added to it; None for a constant."""
    total = 0
    while (number := integer(value)) is None:
        op = value.op
        step = None if op is None or op.opdef not in (ADD, SUB) else integer(op.operands[1])
        if op is None or step is None:
            return value, total
        value, total = op.operands[0], total + (step if op.opdef is ADD else -step)
    return None, total + number
