"""Affine induction: integers that change by the same number in every iteration of a serial loop.

This is the affine part of what LLVM calls scalar evolution: the recurrences {first, +, step} with a step of -1, 0 or 1.
"""

from __future__ import annotations

from ..ir.def_use import defined_in
from ..ir.scalar_ops import ADD, CAST, CONST, MAX, MIN, SELECT, SUB
from ..ir.structure import Op, Region, Value
from ..ir.types import i64
from .facts import integer

__all__ = ["Induction", "values_in_32_bits"]


class Induction:
    """The affine induction variables of a `for`.

    An i64 that wraps goes on at the other end, and so does the number that it is compared with; a narrower integer
    counts only as the index of the loop, unless it is compared with a number that its own type holds.

    Args:
        body: the region of the `for`.
        bits: of the narrowest integers that count.

    Attributes:
        index: the index of the loop.
    """

    def __init__(self, body: Region, bits: int = 64) -> None:
        self.index, self._bits = body.args[0], bits
        self._inside = defined_in(body)

    def definition(self, value: Value) -> Op | None:
        """The op of the loop that defines a value; None for one from around the loop, or an argument of a region."""
        return value.op if value in self._inside else None

    def step(self, value: Value) -> int | None:
        """By how much a value changes from one iteration to the next: -1, 0 or 1; None for anything else."""
        if value is self.index:
            return 1
        if value not in self._inside:
            return 0
        op = value.op
        if op is None or op.opdef not in (CONST, CAST, ADD, SUB) or any(not v.dtype.is_integer for v in op.operands):
            return None
        if op.opdef is CONST:
            return 0
        if op.opdef is CAST and op.operands[0] is self.index and value.dtype.bits == 64:
            return 1
        if op.opdef is CAST or value.dtype.bits < self._bits:
            return None
        a, b = (self.step(v) for v in op.operands)
        if a is None or b is None:
            return None
        total = a + b if op.opdef is ADD else a - b
        return total if abs(total) <= 1 else None

    def widened(self, value: Value) -> tuple[Value, int]:
        """What a value is a narrower form of, and one more than the greatest number that both have alike."""
        most = int(value.dtype.max) + 1
        op = self.definition(value)
        while op is not None and op.opdef is CAST and _is_narrower(op):
            (value,) = op.operands
            op = self.definition(value)
        return value, most


def _is_narrower(cast: Op) -> bool:
    source, to = cast.operands[0].dtype, cast.result.dtype
    return source.is_integer and to.is_integer and to.bits < source.bits


def values_in_32_bits(body: Region) -> set[Value]:
    """The i64 values of a region that an i32 holds, whatever the program is given."""
    fitting: set[Value] = set()
    for op in body.walk():
        if len(op.results) == 1 and op.result.type is i64 and _fits(op, fitting):
            fitting.add(op.result)
    return fitting


def _fits(op: Op, fitting: set[Value]) -> bool:
    number = integer(op.result)
    if number is not None:
        return -(2**31) <= number < 2**31
    if op.opdef is CAST:
        source = op.operands[0].dtype
        return source.is_integer and source.bits <= 32 - (source.kind == "u")
    return op.opdef in (SELECT, MIN, MAX) and fitting.issuperset(op.operands[-2:])
