"""Arithmetic notation for IR values, so that an algorithm reads like its formula.

Every operator appends one op to the builder's region. Python numbers beside a `Num` are constants of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from ...ir import scalar_ops as ops
from ...ir.builder import Builder
from ...ir.opdef import OpDef
from ...ir.structure import Region, Value
from ...ir.types import DType, i32, u1

__all__ = ["Num", "Operand", "branch", "estrin", "horner"]

Operand = Union["Num", int, float]


class Num:
    """A scalar IR value with the builder that computes with it."""

    __slots__ = ("b", "v")

    def __init__(self, b: Builder, v: Value) -> None:
        self.b = b
        self.v = v

    @property
    def dtype(self) -> DType:
        """The type of the value; constants beside it get it, too."""
        return self.v.dtype

    def lift(self, other: Operand) -> Value:
        """`other` as a value of this type."""
        return other.v if isinstance(other, Num) else self.b.const(other, self.dtype)

    def const(self, value: int | float) -> Num:
        """A constant of this type."""
        return Num(self.b, self.b.const(value, self.dtype))

    def op(self, row: OpDef, *others: Operand) -> Num:
        """The result of a scalar operation of which this is the first operand."""
        return Num(self.b, self.b.emit(row, self.v, *(self.lift(o) for o in others)))

    def _reversed(self, row: OpDef, other: Operand) -> Num:
        return Num(self.b, self.b.emit(row, self.lift(other), self.v))

    def __add__(self, other: Operand) -> Num:
        return self.op(ops.ADD, other)

    def __radd__(self, other: Operand) -> Num:
        return self._reversed(ops.ADD, other)

    def __sub__(self, other: Operand) -> Num:
        return self.op(ops.SUB, other)

    def __rsub__(self, other: Operand) -> Num:
        return self._reversed(ops.SUB, other)

    def __mul__(self, other: Operand) -> Num:
        return self.op(ops.MUL, other)

    def __rmul__(self, other: Operand) -> Num:
        return self._reversed(ops.MUL, other)

    def __truediv__(self, other: Operand) -> Num:
        return self.op(ops.DIV, other)

    def __rtruediv__(self, other: Operand) -> Num:
        return self._reversed(ops.DIV, other)

    def __neg__(self) -> Num:
        return self.op(ops.NEG)

    def __abs__(self) -> Num:
        return self.op(ops.ABS)

    def __and__(self, other: Operand) -> Num:
        return self.op(ops.AND, other)

    def __or__(self, other: Operand) -> Num:
        return self.op(ops.OR, other)

    def __xor__(self, other: Operand) -> Num:
        return self.op(ops.XOR, other)

    def __invert__(self) -> Num:
        return self.op(ops.NOT)

    def __lshift__(self, other: Operand) -> Num:
        return self.op(ops.SHL, other)

    def __rshift__(self, other: Operand) -> Num:
        return self.op(ops.SHR, other)

    def __lt__(self, other: Operand) -> Num:
        return self.op(ops.LT, other)

    def __le__(self, other: Operand) -> Num:
        return self.op(ops.LE, other)

    def __gt__(self, other: Operand) -> Num:
        return self.op(ops.GT, other)

    def __ge__(self, other: Operand) -> Num:
        return self.op(ops.GE, other)

    def eq(self, other: Operand) -> Num:
        """Whether the two are equal, a u1; `==` of Python would have to be a bool."""
        return self.op(ops.EQ, other)

    def ne(self, other: Operand) -> Num:
        """Whether the two differ, a u1; NaN differs from itself."""
        return self.op(ops.NE, other)

    def fma(self, factor: Operand, addend: Operand) -> Num:
        """`self * factor + addend`, rounded once."""
        return self.op(ops.FMA, factor, addend)

    def sqrt(self) -> Num:
        """The root, correctly rounded."""
        return self.op(ops.SQRT)

    def rint(self) -> Num:
        """The nearest integral number, halves to even."""
        return self.op(ops.RINT)

    def to(self, dtype: DType) -> Num:
        """Converted to another type."""
        return Num(self.b, self.b.cast(self.v, dtype))

    def bits(self, dtype: DType) -> Num:
        """The same bits as another type."""
        return Num(self.b, self.b.bitcast(self.v, dtype))

    def where(self, yes: Operand, no: Operand) -> Num:
        """This condition's choice: `yes` where it holds, else `no`. At least one of them is a Num."""
        model = yes if isinstance(yes, Num) else no
        assert isinstance(model, Num)
        assert self.dtype is u1
        return Num(self.b, self.b.select(self.v, model.lift(yes), model.lift(no)))

    def is_nan(self) -> Num:
        """Whether it is NaN, a u1: only NaN differs from itself."""
        return self.ne(self)

    def copysign(self, sign: Num) -> Num:
        """This magnitude with the sign of `sign`."""
        word = _WORDS[self.dtype.bits]
        top = word.min
        body = abs(self).bits(word)
        return (body | (sign.bits(word) & top)).bits(self.dtype)


def _words() -> dict[int, DType]:
    from ...ir.types import i16, i64

    return {16: i16, 32: i32, 64: i64}


_WORDS = _words()


def branch(condition: Num, then: Callable[[], Sequence[Num]], orelse: Callable[[], Sequence[Num]]) -> list[Num]:
    """An `if` whose regions are what the two functions emit; for paths that are rarely taken and dear."""
    b = condition.b
    regions = []
    for body in (then, orelse):
        region = Region()
        with b.into(region):
            b.yield_(*(n.v for n in body()))
        regions.append(region)
    return [Num(b, v) for v in b.if_(condition.v, *regions)]


def horner(x: Num, coefficients: Sequence[Operand]) -> Num:
    """c0 + x (c1 + x (c2 + ...)) by fused multiply-adds; the coefficients come lowest power first."""
    last = coefficients[-1]
    total = last if isinstance(last, Num) else x.const(last)
    for c in reversed(coefficients[:-1]):
        total = total.fma(x, c)
    return total


def estrin(x: Num, coefficients: Sequence[float]) -> Num:
    """The same polynomial in pairs: about half as deep, for long ones."""
    terms = [x.const(c) for c in coefficients]
    power = x
    while len(terms) > 1:
        pairs = [terms[k + 1].fma(power, terms[k]) for k in range(0, len(terms) - 1, 2)]
        terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
        if len(terms) > 1:
            power = power * power
    return terms[0]
