"""Ranges of integers: what a value may be, as numbers and relative to other values.

Requires: verified IR, walked from the outside to the inside (see `guard`).

A range is worked out when it is asked for, under the conditions that hold there: `x[i - 1]` below `if i > 0` is known
to be inside, wherever the subtraction stands. What can't be followed may be anything that its type holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from ..ir.opdef import OpDef
from ..ir.ops import IF, SHAPE
from ..ir.scalar_ops import (
    ABS,
    ADD,
    AND,
    CAST,
    CONST,
    EQ,
    FLOORDIV,
    GE,
    GT,
    LE,
    LT,
    MAX,
    MIN,
    MOD,
    MUL,
    NEG,
    NOT,
    OR,
    RAW_DIV,
    RAW_MOD,
    SELECT,
    SHL,
    SHR,
    SUB,
    XOR,
)
from ..ir.structure import Op, Value
from ..ir.types import DType
from . import intervals
from .facts import integer

__all__ = ["Key", "Range", "Ranges"]

Key = Value | tuple[str, int]
"""What a value is compared with: another value, or the extent of an axis (name of a place, axis)."""

_DEEPEST: Final = 24
"""Levels of a formula that are looked through."""


@dataclass(frozen=True)
class Range:
    """From `lo` to `hi`; for each key of `below` at most, and for each of `above` at least, that plus a number."""

    lo: int
    hi: int
    below: Mapping[Key, int] = field(default_factory=dict)
    above: Mapping[Key, int] = field(default_factory=dict)

    @property
    def interval(self) -> intervals.Interval:
        """The least and the greatest."""
        return self.lo, self.hi

    def meet(self, other: Range) -> Range:
        """The intersection: what is in both ranges."""
        below, above = _both(self.below, other.below), _both_above(self.above, other.above)
        return Range(max(self.lo, other.lo), min(self.hi, other.hi), below, above)

    def hull(self, other: Range) -> Range:
        """The hull: the least range that holds both."""
        below = {key: max(self.below[key], other.below[key]) for key in self.below.keys() & other.below.keys()}
        above = {key: min(self.above[key], other.above[key]) for key in self.above.keys() & other.above.keys()}
        return Range(*intervals.hull(self.interval, other.interval), below, above)

    def up(self, by: int) -> Range:
        """The range shifted up by a number."""
        return Range(self.lo + by, self.hi + by, _shifted(self.below, by), _shifted(self.above, by))

    def is_inside(self, extent: int | None, op: Op, axis: int) -> bool:
        """Whether this, of an access's index, lies within an axis; the extent is None if a launch decides it."""
        if self.lo < 0:
            return False
        return self.hi < extent if extent is not None else self.below.get((op.attrs["place"].name, axis), 0) < 0


def of_type(dtype: DType) -> Range:
    """The range of all values of a type."""
    return Range(0, 1) if dtype.is_bool else Range(int(dtype.min), int(dtype.max))


def is_integer(value: Value) -> bool:
    """Whether a value has a range."""
    return isinstance(value.type, DType) and not value.type.is_float


class Ranges:
    """The ranges of the integers of one task.

    Attributes:
        fitting: whether extents are taken to fit the types that hold them.
        fitted: then, extents (name of a place, axis) -> the greatest number that they are taken not to exceed.
    """

    def __init__(self, *, fitting: bool = False) -> None:
        self.fitting = fitting
        self.fitted: dict[tuple[str, int], int] = {}
        self._args: dict[Value, Range] = {}
        self._holds: dict[Value, Range] = {}
        self._known: dict[Value, Range] = {}

    def of(self, value: Value, depth: int = 0) -> Range:
        """The range of an integer, under the conditions that hold here."""
        range_ = self._known.get(value)
        if range_ is None:
            range_ = self._args.get(value) or self._made(value, depth)
            if value in self._holds:
                range_ = range_.meet(self._holds[value])
            if depth < _DEEPEST:
                self._known[value] = range_
        return range_

    def know(self, arg: Value, range_: Range) -> None:
        """Set the range of an argument of a region."""
        self._args[arg] = range_

    def index(self, arg: Value, lo: Value, hi: Value) -> None:
        """Set the range of a loop index that counts from `lo` up to, not including, `hi`."""
        start, end = self.of(lo), self.of(hi)
        self.know(arg, Range(start.lo, end.hi - 1, {hi: -1, **_shifted(end.below, -1)}, {lo: 0, **start.above}))

    def _made(self, value: Value, depth: int) -> Range:
        """The range by the op that defines a value; all of its type where the op may wrap around."""
        of_the_type, op = of_type(value.dtype), value.op
        rule = None if op is None or depth >= _DEEPEST else _RULES.get(op.opdef)
        range_ = None if op is None or rule is None else rule(self, op, value, depth + 1)
        return (
            range_
            if range_ is not None and of_the_type.lo <= range_.lo and range_.hi <= of_the_type.hi
            else of_the_type
        )

    # ---- conditions

    @contextmanager
    def under(self, condition: Value, truth: bool) -> Iterator[None]:
        """Inside the `with` block the condition is known to hold, or not to hold."""
        holds = dict(self._holds)
        for value, range_ in self._told(condition, truth, 0):
            holds[value] = holds[value].meet(range_) if value in holds else range_
        outer = self._holds, self._known
        if holds != self._holds:
            self._holds, self._known = holds, {}
        try:
            yield
        finally:
            self._holds, self._known = outer

    def _told(self, condition: Value, truth: bool, depth: int) -> Iterator[tuple[Value, Range]]:
        """The ranges of values that follow from a condition."""
        op = condition.op
        if op is None or depth > _DEEPEST:
            return
        if op.opdef is NOT:
            yield from self._told(op.operands[0], not truth, depth + 1)
        elif op.opdef is (AND if truth else OR):
            for operand in op.operands:
                yield from self._told(operand, truth, depth + 1)
        elif op.opdef in (IF, SELECT):
            yield from self._chosen(op, condition, truth, depth)
        elif op.opdef in _LESS and is_integer(op.operands[0]):
            yield from self._compared(op, truth)

    def _chosen(self, op: Op, condition: Value, truth: bool, depth: int) -> Iterator[tuple[Value, Range]]:
        """`a and b`, `a or b`, as they are computed one after the other: b only if that matters."""
        sides = self.sides_of(op, condition)
        other = sides[1] if truth else sides[0]
        if integer(other) == int(not truth):
            yield from self._told(op.operands[0], truth, depth + 1)
            yield from self._told(sides[0] if truth else sides[1], truth, depth + 1)

    def sides_of(self, op: Op, value: Value) -> tuple[Value, Value]:
        """The two values that a result of an `if` or a `select` is one of: where the condition holds, and where not."""
        if op.opdef is SELECT:
            return op.operands[1], op.operands[2]
        then, orelse = (region.terminator.operands[op.results.index(value)] for region in op.regions)
        return then, orelse

    def _compared(self, op: Op, truth: bool) -> Iterator[tuple[Value, Range]]:
        a, b = op.operands
        swapped, strict = _LESS[op.opdef]
        if op.opdef is EQ:
            if truth:
                yield from self._ordered(a, b, 0)
                yield from self._ordered(b, a, 0)
            return
        if swapped:
            a, b = b, a
        if truth:
            yield from self._ordered(a, b, -1 if strict else 0)
        else:
            yield from self._ordered(b, a, 0 if strict else -1)

    def _ordered(self, a: Value, b: Value, by: int) -> Iterator[tuple[Value, Range]]:
        """The ranges that follow from a <= b + by."""
        low, high = self.of(a), self.of(b)
        yield from self._sources(a, Range(low.lo, high.hi + by, {b: by, **_shifted(high.below, by)}))
        yield from self._sources(b, Range(low.lo - by, high.hi, above={a: -by, **_shifted(low.above, -by)}))

    def _sources(self, value: Value, range_: Range) -> Iterator[tuple[Value, Range]]:
        """A range of a value, and what follows for its sources through casts and sums with constants."""
        op: Op | None
        for _ in range(_DEEPEST):
            yield value, range_
            op = value.op
            if op is None or op.opdef not in (CAST, ADD, SUB):
                return
            source, of_the_type = op.operands[0], of_type(value.dtype)
            by = 0 if op.opdef is CAST else integer(op.operands[1])
            if by is None or not is_integer(source):
                return
            by = -by if op.opdef is SUB else by
            moved = self.of(source)
            if moved.lo + by < of_the_type.lo or moved.hi + by > of_the_type.hi:
                return
            value, range_ = source, range_.up(-by)


_LESS: Final = {
    LT: (False, True),
    LE: (False, False),
    GT: (True, True),
    GE: (True, False),
    EQ: (False, False),
}
"""Comparisons: whether the greater operand comes first, and whether equal ones are left out."""

Rule = Callable[[Ranges, Op, Value, int], "Range | None"]
Bounds = Mapping[Key, int]
"""Keys that a value is at most, or at least, plus a number (see `Range`)."""


def _nothing(*operands: Range) -> Bounds:
    return {}


def _by_interval(row: OpDef, below: Callable[..., Bounds] = _nothing, above: Callable[..., Bounds] = _nothing) -> Rule:
    """The rule of interval arithmetic for an operation; `below` and `above` give bounds of the result, from the ranges
    of the operands.
    """
    arithmetic = intervals.RULES[row]

    def rule(ranges: Ranges, op: Op, value: Value, depth: int) -> Range | None:
        operands = [ranges.of(v, depth) for v in op.operands]
        interval = arithmetic(*(r.interval for r in operands))
        return None if interval is None else Range(*interval, below(*operands), above(*operands))

    return rule


def _const(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    number = int(op.attrs["value"])
    return Range(number, number)


def _shape(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    """An extent; in a type that is too small for it, less."""
    of_the_type, extent = of_type(value.dtype), (op.attrs["place"].name, op.attrs["axis"])
    if value.dtype.bits == 64:
        return Range(0, of_the_type.hi, {extent: 0})
    if ranges.fitting:
        ranges.fitted[extent] = min(of_the_type.hi, ranges.fitted.get(extent, of_the_type.hi))
    return Range(0 if ranges.fitting else of_the_type.lo, of_the_type.hi, {extent: 0})


def _cast(ranges: Ranges, op: Op, value: Value, depth: int) -> Range | None:
    return ranges.of(op.operands[0], depth) if is_integer(op.operands[0]) else None


def _chosen(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    """One side where the condition holds, the other where it does not."""
    if depth > _DEEPEST // 3:  # each level looks at everything below it twice
        return of_type(value.dtype)
    sides = []
    for side, truth in zip(ranges.sides_of(op, value), (True, False), strict=True):
        with ranges.under(op.operands[0], truth):
            sides.append(ranges.of(side, depth))
    return sides[0].hull(sides[1])


def _sub(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    a, b = (ranges.of(v, depth) for v in op.operands)
    lo, hi = a.lo - b.hi, a.hi - b.lo
    if op.operands[0] in b.below:
        lo = max(lo, -b.below[op.operands[0]])
    return Range(lo, hi, _shifted(a.below, -b.lo), _shifted(a.above, -b.hi))


def _shifted(below: Bounds, by: int) -> dict[Key, int]:
    return {key: most + by for key, most in below.items()}


def _both(one: Bounds, other: Bounds) -> Bounds:
    """The bounds of what has both: where a key has two, the lesser one."""
    return {**one, **other, **{key: min(one[key], other[key]) for key in one.keys() & other.keys()}}


def _both_above(one: Bounds, other: Bounds) -> Bounds:
    """The same of lower bounds: where a key has two, the greater one."""
    return {**one, **other, **{key: max(one[key], other[key]) for key in one.keys() & other.keys()}}


def _below_sum(a: Range, b: Range) -> Bounds:
    return _both(_shifted(a.below, b.hi), _shifted(b.below, a.hi))


def _above_sum(a: Range, b: Range) -> Bounds:
    return _both_above(_shifted(a.above, b.lo), _shifted(b.above, a.lo))


def _below_quotient(a: Range, b: Range) -> Bounds:
    return a.below if a.lo >= 0 else {}


def _below_rest(a: Range, b: Range) -> Bounds:
    """Less than the divisor, and of a dividend that is not negative no more than that."""
    return _both(_shifted(b.below, -1), _below_quotient(a, b))


def _below_and(a: Range, b: Range) -> Bounds:
    return _both(*(r.below if r.lo >= 0 else {} for r in (a, b)))


_RULES: Final[dict[OpDef, Rule]] = {
    CONST: _const,
    SHAPE: _shape,
    CAST: _cast,
    SELECT: _chosen,
    IF: _chosen,
    SUB: _sub,
    ADD: _by_interval(ADD, _below_sum, _above_sum),
    MAX: _by_interval(MAX, lambda a, b: a.hull(b).below, lambda a, b: _both_above(a.above, b.above)),
    MIN: _by_interval(MIN, lambda a, b: _both(a.below, b.below), lambda a, b: a.hull(b).above),
    **{row: _by_interval(row) for row in (MUL, NEG, ABS, OR, XOR, SHL)},
    **{row: _by_interval(row, _below_quotient) for row in (FLOORDIV, RAW_DIV, SHR)},
    **{row: _by_interval(row, _below_rest) for row in (MOD, RAW_MOD)},
    AND: _by_interval(AND, _below_and),
}
