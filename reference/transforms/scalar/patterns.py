"""The vocabulary of simplification rules: when a rule applies, and what it gives.

A rule is a row: the ops and operand types it is for, a pattern, an outcome, and the license: why no bit changes.
Patterns look at an op and give the values they matched, or None. Outcomes make a value of those.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ...analysis.facts import constant
from ...ir.opdef import OpDef
from ...ir.structure import Constant, Op, Value
from ...ir.types import DType

__all__ = ["Maker", "Matched", "Outcome", "Pattern", "Row", "Rule", "defined_by", "same_bits"]


class Maker(Protocol):
    """What the outcomes of rules ask of the pass: new ops."""

    def make(self, row: OpDef, *operands: Value, **attrs: object) -> Value:
        """The value of a new op of a row, which is simplified in turn; IRError if the operands do not fit it."""

    def number(self, number: Constant, to: DType) -> Value:
        """The value of a new constant."""


Matched = tuple[Value, ...]
Pattern = Callable[[Maker, Op], "Matched | None"]
Outcome = Callable[[Maker, Op, Matched], "Value | None"]
Number = Callable[[DType], Constant]
Row = tuple[tuple[OpDef, ...], tuple[DType, ...], Pattern, Outcome, str]
"""Rows of ops; types of their last operand; pattern, outcome and license of the rule for them."""


@dataclass(frozen=True)
class Rule:
    """One row: `why` is its license."""

    pattern: Pattern
    outcome: Outcome
    why: str


def same_bits(a: Constant, b: Constant) -> bool:
    """Equality of numbers of one type that tells -0.0 from 0.0."""
    return a == b and (a != 0 or math.copysign(1.0, a) == math.copysign(1.0, b))


# ---- numbers that depend on the type


def zero(to: DType) -> Constant:
    """0; of floats the positive one, as patterns compare bits."""
    return to(0)  # type: ignore[no-any-return]


def one(to: DType) -> Constant:
    """1."""
    return to(1)  # type: ignore[no-any-return]


def two(to: DType) -> Constant:
    """2."""
    return to(2)  # type: ignore[no-any-return]


def minus_one(to: DType) -> Constant:
    """-1, which has all bits set in an integer type."""
    return to(-1)  # type: ignore[no-any-return]


def minus_zero(to: DType) -> Constant:
    """The negative zero of a float type."""
    return -0.0


def ones(to: DType) -> Constant:
    """All bits set."""
    return True if to.is_bool else minus_one(to)


def least(to: DType) -> Constant:
    """The smallest number of an integer type; of u1, false."""
    return bool(to.min) if to.is_bool else to.min


def greatest(to: DType) -> Constant:
    """The largest number of an integer type; of u1, true."""
    return bool(to.max) if to.is_bool else to.max


def true(to: DType) -> Constant:
    """The truth value, for rules of comparisons, whose results are u1."""
    return True


def false(to: DType) -> Constant:
    """The other truth value."""
    return False


# ---- patterns


def defined_by(value: Value, row: OpDef) -> Op | None:
    """The op that defines `value`, if it is of this row."""
    op = value.op
    return op if op is not None and op.opdef is row else None


def _is(maker: Maker, value: Value, number: Number) -> bool:
    own = constant(value)
    return own is not None and same_bits(own, number(value.dtype))


def right(number: Number) -> Pattern:
    """The second operand is this number; gives the others."""

    def match(maker: Maker, op: Op) -> Matched | None:
        return (op.operands[0], *op.operands[2:]) if _is(maker, op.operands[1], number) else None

    return match


def left(number: Number) -> Pattern:
    """The first operand is this number; gives the second."""

    def match(maker: Maker, op: Op) -> Matched | None:
        return (op.operands[1],) if _is(maker, op.operands[0], number) else None

    return match


def third(number: Number) -> Pattern:
    """The third operand is this number; gives the first two."""

    def match(maker: Maker, op: Op) -> Matched | None:
        return (op.operands[0], op.operands[1]) if _is(maker, op.operands[2], number) else None

    return match


def choices(a: Number, b: Number) -> Pattern:
    """A select between these two numbers; gives the condition."""

    def match(maker: Maker, op: Op) -> Matched | None:
        condition, x, y = op.operands
        return (condition,) if _is(maker, x, a) and _is(maker, y, b) else None

    return match


def same(first: int = 0, second: int = 1) -> Pattern:
    """Two operands are one value; gives it."""

    def match(maker: Maker, op: Op) -> Matched | None:
        return (op.operands[first],) if op.operands[first] is op.operands[second] else None

    return match


def of(row: OpDef, position: int = 0) -> Pattern:
    """An operand is made by the op `name`; gives that op's operands, then this op's others."""

    def match(maker: Maker, op: Op) -> Matched | None:
        inner = defined_by(op.operands[position], row)
        if inner is None:
            return None
        return (*inner.operands, *op.operands[:position], *op.operands[position + 1 :])

    return match


def both_of(row: OpDef) -> Pattern:
    """The first two operands are each made by the unary op `name`; gives its operands, then this op's others."""

    def match(maker: Maker, op: Op) -> Matched | None:
        a, b = defined_by(op.operands[0], row), defined_by(op.operands[1], row)
        return None if a is None or b is None else (a.operands[0], b.operands[0], *op.operands[2:])

    return match


def any_of(*rows: OpDef) -> Pattern:
    """The only operand is made by one of these ops; gives the operand."""

    def match(maker: Maker, op: Op) -> Matched | None:
        return (op.operands[0],) if any(defined_by(op.operands[0], row) for row in rows) else None

    return match


def constant_left(maker: Maker, op: Op) -> Matched | None:
    """The first operand is a constant and the second is not; gives them swapped, then the others."""
    a, b, *rest = op.operands
    return (b, a, *rest) if constant(a) is not None and constant(b) is None else None


# ---- outcomes


def taken(position: int = 0) -> Outcome:
    """A value that was matched."""
    return lambda maker, op, matched: matched[position]


def number(value: Number) -> Outcome:
    """A constant of the result's type."""
    return lambda maker, op, matched: maker.number(value(op.result.dtype), op.result.dtype)


def becomes(row: OpDef, *order: int) -> Outcome:
    """Another op of the values matched, in this order (default: as matched)."""

    def outcome(maker: Maker, op: Op, matched: Matched) -> Value:
        return maker.make(row, *([matched[i] for i in order] or matched))

    return outcome


def again(maker: Maker, op: Op, matched: Matched) -> Value:
    """The same op, on the values matched."""
    return maker.make(op.opdef, *matched, **op.attrs)
