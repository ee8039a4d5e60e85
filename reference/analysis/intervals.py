"""Interval arithmetic on integers: what an operation can give, from what its operands can be.

An interval is the least and the greatest number that something can be, as mathematical integers: whether a result fits
its type is for the caller to see. A rule gives None where nothing better than the whole type is known. The method is
that of Moore, "Interval Analysis" (1966), with the rules for bits of Warren, "Hacker's Delight", chapter 4, simplified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..ir.opdef import OpDef
from ..ir.scalar_ops import (
    ABS,
    ADD,
    AND,
    CAST,
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    MUL,
    NEG,
    OR,
    RAW_DIV,
    RAW_MOD,
    SHL,
    SHR,
    SUB,
    XOR,
)

__all__ = ["RULES", "Interval", "Rule", "hull"]

Interval = tuple[int, int]
"""The least and the greatest."""

Rule = Callable[..., "Interval | None"]
"""From the intervals of the operands to that of the result; None if nothing is known of it."""

_WIDEST: Final = 64
"""No integer has more bits."""


def hull(a: Interval, b: Interval) -> Interval:
    """The least interval that holds both."""
    return min(a[0], b[0]), max(a[1], b[1])


def _mul(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _abs(a: Interval) -> Interval:
    least, most = sorted((abs(a[0]), abs(a[1])))
    return (0 if a[0] <= 0 <= a[1] else least), most


def _floordiv(a: Interval, b: Interval) -> Interval | None:
    if b[0] < 1:
        return None
    corners = [x // y for x in a for y in b]
    return min(corners), max(corners)


def _mod(a: Interval, b: Interval) -> Interval | None:
    """What is left after flooring division by a positive number: the dividend itself where it is less than that."""
    if b[0] < 1:
        return None
    if a[0] < 0:
        return 0, b[1] - 1
    return a if a[1] < b[0] else (0, min(a[1], b[1] - 1))


def _natural(rule: Callable[[Interval, Interval], Interval | None]) -> Rule:
    """The `rule` where the first operand is not negative: there truncating and flooring are the same."""
    return lambda a, b: rule(a, b) if a[0] >= 0 else None


def _and(a: Interval, b: Interval) -> Interval | None:
    """At most the lesser operand, if one of them is not negative."""
    natural = [most for least, most in (a, b) if least >= 0]
    return (0, min(natural)) if natural else None


def _bits(a: Interval, b: Interval) -> Interval | None:
    """Bitwise or and xor: no bit is set above the highest of both operands."""
    return (0, (1 << max(a[1], b[1]).bit_length()) - 1) if a[0] >= 0 and b[0] >= 0 else None


def _shl(a: Interval, b: Interval) -> Interval | None:
    return hull(_mul(a, (1 << b[0], 1 << b[1])), (0, 0)) if 0 <= b[0] <= b[1] < _WIDEST else None


def _shr(a: Interval, b: Interval) -> Interval | None:
    return (0, a[1] >> min(b[0], _WIDEST)) if a[0] >= 0 and b[0] >= 0 else None


RULES: Final[dict[OpDef, Rule]] = {
    ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    MUL: _mul,
    NEG: lambda a: (-a[1], -a[0]),
    ABS: _abs,
    MAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    MIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    FLOORDIV: _floordiv,
    MOD: _mod,
    RAW_DIV: _natural(_floordiv),
    RAW_MOD: _natural(_mod),
    AND: _and,
    OR: _bits,
    XOR: _bits,
    SHL: _shl,
    SHR: _shr,
    CAST: lambda a: a,
}
"""By the row of the operation; a rule takes the intervals of the operands."""
