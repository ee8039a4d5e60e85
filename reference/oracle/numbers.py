"""Numbers that the table of derivatives computes with: arrays, one element per lane.

A pull asks two kinds of things of a primal: what it is worth, and which case it falls in (`x > 0`). The cases are
those of the kernel's own run even when values are carried in f64. An adjoint also knows in which lanes it is connected:
what a pull replaces by a literal 0 is no contribution at all, so that an infinite derivative can't turn it into NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..interpreter.lanes import Array
from ..ir import scalar_ops as ops
from ..ir.opdef import OpDef
from ..ir.types import DType, u1

__all__ = ["Num"]


class Num:
    """An array of numbers of one type.

    Attributes:
        dtype: what operations round to.
        value: what it is worth.
        decide: what comparisons look at; the value, unless the kernel's own run had another.
        live: where an adjoint is connected; None for everywhere.
    """

    def __init__(self, dtype: DType, value: Array, decide: Array | None = None, live: Array | None = None) -> None:
        self.dtype = dtype
        self.value = value
        self.decide = value if decide is None else decide
        self.live = live

    # ---- what a subclass that carries more than values overrides

    def literal(self, number: float) -> Num:
        """A constant beside this number."""
        return Num(self.dtype, np.array([number], self.dtype.numpy))

    def result(self, row: OpDef, to: DType, value: Array, args: tuple[Num, ...]) -> Num:
        """The number that an operation gave for `args`."""
        return Num(to, value, live=_meet([arg.live for arg in args]))

    def chosen(self, condition: Array, yes: Num, no: Num) -> Num:
        """`yes` where the condition holds, else `no`."""
        live = np.where(condition, _connected(yes), _connected(no))
        return Num(yes.dtype, np.where(condition, yes.value, no.value), live=live)

    # ---- operations

    def op(self, row: OpDef, *others: Num | float) -> Num:
        """An operation of the table, in this number's type."""
        args = (self, *(self.lift(other) for other in others))
        assert row.meaning is not None
        return self.result(row, self.dtype, row.meaning(self.dtype, *(arg.value for arg in args)), args)

    def lift(self, other: Num | float) -> Num:
        """A number as it is, a literal as a constant."""
        return other if isinstance(other, Num) else self.literal(other)

    def __add__(self, other: Num | float) -> Num:
        return self.op(ops.ADD, other)

    def __radd__(self, other: Num | float) -> Num:
        return self.lift(other).op(ops.ADD, self)

    def __sub__(self, other: Num | float) -> Num:
        return self.op(ops.SUB, other)

    def __rsub__(self, other: Num | float) -> Num:
        return self.lift(other).op(ops.SUB, self)

    def __mul__(self, other: Num | float) -> Num:
        return self.op(ops.MUL, other)

    def __rmul__(self, other: Num | float) -> Num:
        return self.lift(other).op(ops.MUL, self)

    def __truediv__(self, other: Num | float) -> Num:
        return self.op(ops.DIV, other)

    def __neg__(self) -> Num:
        return self.op(ops.NEG)

    # ---- cases

    def _compared(self, ufunc: Callable[..., object], other: Num | float) -> Num:
        against = other.decide if isinstance(other, Num) else np.array([other], self.decide.dtype)
        return Num(u1, np.asarray(ufunc(self.decide, against)))

    def __lt__(self, other: Num | float) -> Num:
        return self._compared(np.less, other)

    def __gt__(self, other: Num | float) -> Num:
        return self._compared(np.greater, other)

    def eq(self, other: Num | float) -> Num:
        """Where both are equal."""
        return self._compared(np.equal, other)

    def ne(self, other: Num | float) -> Num:
        """Where they differ."""
        return self._compared(np.not_equal, other)

    def __or__(self, other: Num) -> Num:
        return Num(u1, self.value | other.value)

    def where(self, yes: Num | float, no: Num | float) -> Num:
        """`yes` where this condition holds, else `no`; a literal 0 is no contribution."""
        number = yes if isinstance(yes, Num) else no
        assert isinstance(number, Num)
        return number.chosen(self.value, _side(number, yes), _side(number, no))


def _side(other: Num, side: Num | float) -> Num:
    if isinstance(side, Num):
        return side
    number = other.literal(side)
    number.live = np.array([side != 0])
    return number


def _connected(number: Num) -> Array:
    return np.array([True]) if number.live is None else number.live


def _meet(masks: list[Array | None]) -> Array | None:
    masked = [mask for mask in masks if mask is not None]
    return np.logical_and.reduce(np.broadcast_arrays(*masked)) if masked else None
