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

from ..ir.structure import Op, Value
from ..ir.types import DType
from .facts import integer

__all__ = ["Key", "Range", "Ranges"]

Key = Value | tuple[str, int]
"""What a value is compared with: another value, or the extent of an axis (name of a place, axis)."""

_DEEPEST: Final = 24
"""Levels of a formula that are looked through."""


@dataclass(frozen=True)
class Range:
    """From `lo` to `hi`, and for each key of `below`: at most what the key stands for, plus a number."""

    lo: int
    hi: int
    below: Mapping[Key, int] = field(default_factory=dict)

    def meet(self, other: Range) -> Range:
        """The intersection: what is in both ranges."""
        below = {**self.below, **other.below}
        for key in self.below.keys() & other.below.keys():
            below[key] = min(self.below[key], other.below[key])
        return Range(max(self.lo, other.lo), min(self.hi, other.hi), below)

    def hull(self, other: Range) -> Range:
        """The hull: the least range that holds both."""
        below = {key: max(self.below[key], other.below[key]) for key in self.below.keys() & other.below.keys()}
        return Range(min(self.lo, other.lo), max(self.hi, other.hi), below)

    def up(self, by: int) -> Range:
        """The range shifted up by a number."""
        return Range(self.lo + by, self.hi + by, {key: most + by for key, most in self.below.items()})


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
        known = self._known.get(value)
        if known is None:
            known = self._args.get(value) or self._made(value, depth)
            if value in self._holds:
                known = known.meet(self._holds[value])
            if depth < _DEEPEST:
                self._known[value] = known
        return known

    def know(self, arg: Value, range_: Range) -> None:
        """Set the range of an argument of a region."""
        self._args[arg] = range_

    def index(self, arg: Value, lo: Value, hi: Value) -> None:
        """Set the range of a loop index that counts from `lo` up to, not including, `hi`."""
        end = self.of(hi)
        self.know(arg, Range(self.of(lo).lo, end.hi - 1, {hi: -1, **{k: most - 1 for k, most in end.below.items()}}))

    def _made(self, value: Value, depth: int) -> Range:
        """The range by the op that defines a value; all of its type where the op may wrap around."""
        whole, op = of_type(value.dtype), value.op
        rule = None if op is None or depth >= _DEEPEST else _RULES.get(op.name)
        range_ = None if op is None or rule is None else rule(self, op, value, depth + 1)
        return range_ if range_ is not None and whole.lo <= range_.lo and range_.hi <= whole.hi else whole

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
        if op.name == "not":
            yield from self._told(op.operands[0], not truth, depth + 1)
        elif op.name == ("and" if truth else "or"):
            for operand in op.operands:
                yield from self._told(operand, truth, depth + 1)
        elif op.name in ("if", "select"):
            yield from self._chosen(op, condition, truth, depth)
        elif op.name in _LESS and is_integer(op.operands[0]):
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
        if op.name == "select":
            return op.operands[1], op.operands[2]
        then, orelse = (region.terminator.operands[op.results.index(value)] for region in op.regions)
        return then, orelse

    def _compared(self, op: Op, truth: bool) -> Iterator[tuple[Value, Range]]:
        a, b = op.operands
        swapped, strict = _LESS[op.name]
        if op.name == "eq":
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
        below = {b: by, **{key: most + by for key, most in high.below.items()}}
        yield from self._sources(a, Range(low.lo, high.hi + by, below))
        yield from self._sources(b, Range(low.lo - by, high.hi))

    def _sources(self, value: Value, range_: Range) -> Iterator[tuple[Value, Range]]:
        """A range of a value, and what follows for its sources through casts and sums with constants."""
        op: Op | None
        for _ in range(_DEEPEST):
            yield value, range_
            op = value.op
            if op is None or op.name not in ("cast", "add", "sub"):
                return
            source, whole = op.operands[0], of_type(value.dtype)
            by = 0 if op.name == "cast" else integer(op.operands[1])
            if by is None or not is_integer(source):
                return
            by = -by if op.name == "sub" else by
            moved = self.of(source)
            if moved.lo + by < whole.lo or moved.hi + by > whole.hi:
                return
            value, range_ = source, range_.up(-by)


_LESS: Final = {
    "lt": (False, True),
    "le": (False, False),
    "gt": (True, True),
    "ge": (True, False),
    "eq": (False, False),
}
"""Comparisons: whether the greater operand comes first, and whether equal ones are left out."""

Rule = Callable[[Ranges, Op, Value, int], "Range | None"]


def _operands(rule: Callable[..., Range | None]) -> Rule:
    """A rule of the operands' ranges alone."""
    return lambda ranges, op, value, depth: rule(*(ranges.of(v, depth) for v in op.operands))


def _const(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    number = int(op.attrs["value"])
    return Range(number, number)


def _shape(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    """An extent; in a type that is too small for it, less."""
    whole, extent = of_type(value.dtype), (op.attrs["place"].name, op.attrs["axis"])
    if value.dtype.bits == 64:
        return Range(0, whole.hi, {extent: 0})
    if ranges.fitting:
        ranges.fitted[extent] = min(whole.hi, ranges.fitted.get(extent, whole.hi))
    return Range(0 if ranges.fitting else whole.lo, whole.hi, {extent: 0})


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


def _add(a: Range, b: Range) -> Range:
    below = {key: most + b.hi for key, most in a.below.items()}
    for key, most in b.below.items():
        below[key] = min(most + a.hi, below.get(key, most + a.hi))
    return Range(a.lo + b.lo, a.hi + b.hi, below)


def _sub(ranges: Ranges, op: Op, value: Value, depth: int) -> Range:
    a, b = (ranges.of(v, depth) for v in op.operands)
    lo = a.lo - b.hi
    if op.operands[0] in b.below:
        lo = max(lo, -b.below[op.operands[0]])
    return Range(lo, a.hi - b.lo, {key: most - b.lo for key, most in a.below.items()})


def _mul(a: Range, b: Range) -> Range:
    corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(corners), max(corners))


def _max(a: Range, b: Range) -> Range:
    hull = a.hull(b)
    return Range(max(a.lo, b.lo), hull.hi, hull.below)


def _min(a: Range, b: Range) -> Range:
    meet = a.meet(b)
    return Range(min(a.lo, b.lo), meet.hi, meet.below)


def _floordiv(a: Range, b: Range) -> Range | None:
    if b.lo < 1:
        return None
    corners = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(corners), max(corners), a.below if a.lo >= 0 else {})


def _mod(a: Range, b: Range) -> Range | None:
    if b.lo < 1:
        return None
    rest = Range(0, b.hi - 1, b.up(-1).below)
    return rest.meet(a) if a.lo >= 0 else rest


def _natural(rule: Callable[[Range, Range], Range | None]) -> Callable[[Range, Range], Range | None]:
    """Of numbers that are not negative, truncating and flooring are the same."""
    return lambda a, b: rule(a, b) if a.lo >= 0 else None


def _and(a: Range, b: Range) -> Range | None:
    """Bitwise and: at most the lesser operand, if one of them is not negative."""
    natural = [r for r in (a, b) if r.lo >= 0]
    if not natural:
        return None
    first, *rest = natural
    return Range(0, first.hi, first.below).meet(Range(0, rest[0].hi, rest[0].below) if rest else Range(0, first.hi))


def _bits(a: Range, b: Range) -> Range | None:
    """Bitwise or and xor: no bit is set above the highest of both operands."""
    most = max(a.hi, b.hi)
    return Range(0, (1 << most.bit_length()) - 1) if a.lo >= 0 and b.lo >= 0 else None


def _shl(a: Range, b: Range) -> Range | None:
    return _mul(a, Range(1 << b.lo, 1 << b.hi)).hull(Range(0, 0)) if b.lo >= 0 and b.hi < 64 else None


def _shr(a: Range, b: Range) -> Range | None:
    if a.lo < 0 or b.lo < 0:
        return None
    return Range(0, a.hi >> min(b.lo, 64), a.below)


def _abs(a: Range) -> Range:
    return Range(0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi)), max(abs(a.lo), abs(a.hi)))


_RULES: Final[dict[str, Rule]] = {
    "const": _const,
    "shape": _shape,
    "cast": _cast,
    "select": _chosen,
    "if": _chosen,
    "sub": _sub,
    "add": _operands(_add),
    "mul": _operands(_mul),
    "neg": _operands(lambda a: Range(-a.hi, -a.lo)),
    "abs": _operands(_abs),
    "max": _operands(_max),
    "min": _operands(_min),
    "floordiv": _operands(_floordiv),
    "mod": _operands(_mod),
    "raw_div": _operands(_natural(_floordiv)),
    "raw_mod": _operands(_natural(_mod)),
    "and": _operands(_and),
    "or": _operands(_bits),
    "xor": _operands(_bits),
    "shl": _operands(_shl),
    "shr": _operands(_shr),
}
