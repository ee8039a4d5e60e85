"""Windows of subscripts: the elements next to each other, along an axis, that an iteration of a parallel loop touches.

`z[i * 4 + k % 4]`, in iteration i, touches an element of `4 * i + [0, 3]`, whatever k is. Windows of different
iterations have nothing in common if they are no longer than the factor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from ..ir.ops import PARALLEL_FOR
from ..ir.scalar_ops import ADD, CAST, MUL, SUB
from ..ir.structure import Op, Value
from . import intervals
from .facts import integer
from .order import Order
from .ranges import Ranges, is_integer, of_type

__all__ = ["Window", "window_of"]

_DEEPEST: Final = 16
"""Levels of a sum that are looked through."""


@dataclass(frozen=True)
class Window:
    """The indices from `factor * base + lo` to `factor * base + hi`, as integers that never wrap around.

    Attributes:
        base: an index of a parallel loop, or any other value.
        factor: not 0.
        lo, hi: the least and the greatest number that is added.
    """

    base: Value
    factor: int
    lo: int
    hi: int

    @property
    def count(self) -> int:
        """How many indices it has."""
        return self.hi - self.lo + 1

    @property
    def is_apart(self) -> bool:
        """Whether different values of the base have different windows."""
        return abs(self.factor) >= self.count

    def hull(self, other: Window | None) -> Window | None:
        """The least window that holds both; None if they don't move together."""
        if other is None or (self.base, self.factor) != (other.base, other.factor):
            return None
        return Window(self.base, self.factor, min(self.lo, other.lo), max(self.hi, other.hi))


def window_of(order: Order, op: Op, axis: int) -> Window | None:
    """The window that an access's index on an axis lies in, of an index of a parallel loop; None if there is no such.

    Args:
        order: of the kernel.
        op: an access to a place, inside loops.
        axis: of the place.
    """
    loops = order.spots[op].loops
    lanes = {lane for loop in loops if loop.opdef is PARALLEL_FOR for lane in loop.regions[0].args}
    base, shift = order.offset(op.operands[axis])
    if base in lanes:
        return Window(base, 1, shift, shift)
    ranges = Ranges()
    for loop in loops:
        for number, arg in enumerate(loop.regions[0].args if loop.opdef is PARALLEL_FOR else [_index(order, loop)]):
            if arg is not None:
                ranges.index(arg, *loop.operands[2 * number : 2 * number + 2])
    factors, lo, hi = _linear(op.operands[axis], lanes, ranges, _DEEPEST)
    if len(factors) != 1:
        return None
    ((base, factor),) = factors.items()
    return Window(base, factor, lo, hi) if factor else None


def _index(order: Order, loop: Op) -> Value | None:
    """The index of a serial loop; None for a `while`."""
    args = loop.regions[-1].args
    return args[0] if args and order.indices.get(args[0]) is loop else None


_Linear = tuple[Mapping[Value, int], int, int]
"""Factors of indices of parallel loops; and the least and the greatest number that is added to their sum."""


def _linear(value: Value, lanes: Collection[Value], ranges: Ranges, depth: int) -> _Linear:
    """An integer as a sum that never wraps around: what is no such sum is a number in its range."""
    if value in lanes:
        return {value: 1}, 0, 0
    op = value.op
    parts = _parts(op, lanes, ranges, depth) if op is not None and depth and _is_exact(op, ranges) else None
    if parts is not None and parts[0]:
        return parts
    return {}, *ranges.of(value).interval


def _parts(op: Op, lanes: Collection[Value], ranges: Ranges, depth: int) -> _Linear | None:
    """The sum that an op computes, by what its operands are."""
    if op.opdef is MUL:
        a, b = op.operands
        factor, other = (integer(a), b) if integer(b) is None else (integer(b), a)
        return None if factor is None else _times(_linear(other, lanes, ranges, depth - 1), factor)
    terms = [_linear(v, lanes, ranges, depth - 1) for v in op.operands]
    if op.opdef is SUB:
        terms[1] = _times(terms[1], -1)
    return reduce(_plus, terms)


def _is_exact(op: Op, ranges: Ranges) -> bool:
    """Whether an op is one of those that sums consist of, of integers, and never wraps around."""
    if op.opdef not in (ADD, SUB, MUL, CAST) or not all(is_integer(v) for v in (*op.operands, op.result)):
        return False
    operands = [ranges.of(v).interval for v in op.operands]
    interval = operands[0] if op.opdef is CAST else intervals.RULES[op.opdef](*operands)
    of_the_type = of_type(op.result.dtype)
    return interval is not None and of_the_type.lo <= interval[0] and interval[1] <= of_the_type.hi


def _plus(a: _Linear, b: _Linear) -> _Linear:
    factors = {lane: a[0].get(lane, 0) + b[0].get(lane, 0) for lane in {*a[0], *b[0]}}
    return {lane: factor for lane, factor in factors.items() if factor}, a[1] + b[1], a[2] + b[2]


def _times(a: _Linear, by: int) -> _Linear:
    lo, hi = sorted((a[1] * by, a[2] * by))
    return {lane: factor * by for lane, factor in a[0].items() if by}, lo, hi
