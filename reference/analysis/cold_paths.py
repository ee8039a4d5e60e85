"""Cold paths of math functions: the long side of an `if` beside a short one, which hardly any number takes.

Range reduction of a huge argument is such a side. Code generators keep it out of line, or leave it out of the fast path
of a loop (see `loop_versioning`).
"""

from __future__ import annotations

from functools import cache
from typing import Final

from ..ir.ops import CALL, IF
from ..ir.structure import Function, Op

__all__ = ["LONG", "calls_cold_path", "has_cold_path", "hot_side"]

LONG: Final = 40
"""Sides of a math function with more ops than this are long."""


def hot_side(op: Op) -> int | None:
    """Which side of an `if` of a math function nearly every number takes: the short one, beside a long one.

    None if the op is no `if`, or if both sides are short or both are long.
    """
    if op.opdef is not IF:
        return None
    short = [len(region.ops) <= LONG for region in op.regions]
    return None if short[0] == short[1] else short.index(True)


@cache
def has_cold_path(function: Function) -> bool:
    """Whether a math function has a cold path, or calls one that has."""
    return any(hot_side(op) is not None or calls_cold_path(op) for op in function.body.walk())


def calls_cold_path(op: Op) -> bool:
    """Whether an op is a call of a math function that has a cold path."""
    return op.opdef is CALL and has_cold_path(op.attrs["function"])
