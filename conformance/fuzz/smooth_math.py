"""Arithmetic of smooth kernels: each step keeps numbers within a few units, away from kinks and edges of domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from adstack.ir import scalar_ops as ops
from adstack.ir.builder import Builder
from adstack.ir.opdef import OpDef
from adstack.ir.structure import Value

__all__ = ["STEPS"]


class Source(Protocol):
    """Where operands come from."""

    b: Builder

    def real(self) -> Value:
        """A float at hand."""

    def number(self, value: float) -> Value:
        """A constant."""

    def condition(self) -> Value:
        """A u1."""


Step = Callable[[Source], Value]


def named(row: OpDef) -> Step:
    """A function that is bounded and smooth everywhere."""
    return lambda s: s.b.emit(row, s.real())


def mean(s: Source) -> Value:
    """(a + b) / 2"""
    return s.b.mul(s.b.add(s.real(), s.real()), s.number(0.5))


def difference(s: Source) -> Value:
    """(a - b) / 2"""
    return s.b.mul(s.b.sub(s.real(), s.real()), s.number(0.5))


def product(s: Source) -> Value:
    """sin(a) * b"""
    return s.b.mul(s.b.emit(ops.SIN, s.real()), s.real())


def fused(s: Source) -> Value:
    """fma(tanh(a), b, -c) / 2"""
    return s.b.mul(s.b.fma(s.b.emit(ops.TANH, s.real()), s.real(), s.b.neg(s.real())), s.number(0.5))


def above(s: Source, least: float) -> Value:
    """a * a + least"""
    a = s.real()
    return s.b.add(s.b.mul(a, a), s.number(least))


def quotient(s: Source) -> Value:
    """a / (1 + b * b)"""
    return s.b.div(s.real(), above(s, 1.0))


def root(s: Source) -> Value:
    """sqrt(1 + a * a) - 1"""
    return s.b.sub(s.b.sqrt(above(s, 1.0)), s.number(1.0))


def edged(row: OpDef, least: float) -> Step:
    """A function of a number that stays at `least` or above."""
    return lambda s: s.b.emit(row, above(s, least))


def tame(row: OpDef, reach: float) -> Step:
    """A function of a number that stays within `reach` of 0."""
    return lambda s: s.b.emit(row, s.b.mul(s.b.emit(ops.TANH, s.real()), s.number(reach)))


def power(s: Source) -> Value:
    """(1.5 + sin(a)) ** tanh(b)"""
    base = s.b.add(s.b.emit(ops.SIN, s.real()), s.number(1.5))
    return s.b.emit(ops.POW, base, s.b.emit(ops.TANH, s.real()))


def angle(s: Source) -> Value:
    """atan2(a, 1 + b * b)"""
    return s.b.emit(ops.ATAN2, s.real(), above(s, 1.0))


def length(s: Source) -> Value:
    """hypot(a, 1 + b * b) / 2"""
    return s.b.mul(s.b.emit(ops.HYPOT, s.real(), above(s, 1.0)), s.number(0.5))


def chosen(s: Source) -> Value:
    """One of two."""
    return s.b.select(s.condition(), s.real(), s.real())


def largest(row: OpDef, apart: float) -> Step:
    """max or min of numbers that are far apart, within reach of the first."""

    def step(s: Source) -> Value:
        far = s.b.add(s.b.emit(ops.SIN, s.real()), s.number(apart))
        return s.b.emit(ops.SIN, s.b.emit(row, far, s.b.emit(ops.TANH, s.real())))

    return step


def magnitude(s: Source) -> Value:
    """|sin(a) - 3| / 2"""
    return s.b.mul(s.b.abs(s.b.sub(s.b.emit(ops.SIN, s.real()), s.number(3.0))), s.number(0.5))


STEPS: Final[tuple[Step, ...]] = (
    *(named(row) for row in (ops.SIN, ops.COS, ops.TANH, ops.ATAN, ops.SIN, ops.TANH)),
    *(mean, difference, product, product, fused, quotient, root, power, angle, length, chosen, chosen, magnitude),
    *(edged(row, 1.0) for row in (ops.LOG, ops.LOG1P, ops.RSQRT, ops.CBRT, ops.LOG2, ops.LOG10)),
    *(tame(row, 0.75) for row in (ops.EXP, ops.EXP2, ops.EXPM1, ops.SINH, ops.COSH, ops.TAN, ops.ASIN, ops.ACOS)),
    *(largest(ops.MAX, 4.0), largest(ops.MAX, -4.0), largest(ops.MIN, 4.0), largest(ops.MIN, -4.0)),
)
