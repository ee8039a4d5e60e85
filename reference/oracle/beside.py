"""What a recorded run carries beside the kernel's own numbers: nothing, or the same values in f64.

In f64, decisions stay those of the kernel's own run: conditions, indices, trip counts, what `min`, `max`, `abs` and
`select` take, and everything that is constant between jumps (`floor`, casts to integers). So both runs are the same
program, and the f64 one has rounding errors about 2^29 times smaller than f32's. (`rounding.py` carries error bounds.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np

from ..interpreter.lanes import Array
from ..ir import scalar_ops as ops
from ..ir.opdef import OpDef
from ..ir.types import DType, f64
from .adjoints import Adjoint
from .numbers import Num
from .trace import Arg, Cells

__all__ = ["Beside", "Own", "Wide"]


class Beside(Protocol):
    """A way of carrying numbers along."""

    def exact(self, own: Array) -> Array | None:
        """Beside numbers of a float type that are what they are."""

    def result(self, row: OpDef, to: DType, own: Array, args: Sequence[Arg]) -> Array | None:
        """Beside the result of a scalar op with a float result."""

    def cells(self, dtype: DType, own: Array) -> Cells | None:
        """Beside a storage of floats."""

    def number(self, arg: Arg) -> Num:
        """What the table of derivatives gets to see."""

    def adjoint(self, dtype: DType, size: int) -> Adjoint:
        """Adjoints of `size` numbers of this type."""


class Own:
    """Nothing beside."""

    def exact(self, own: Array) -> None:
        """Nothing."""

    def result(self, row: OpDef, to: DType, own: Array, args: Sequence[Arg]) -> None:
        """Nothing."""

    def cells(self, dtype: DType, own: Array) -> None:
        """Nothing."""

    def number(self, arg: Arg) -> Num:
        """The kernel's own number."""
        return Num(arg.dtype, arg.own)

    def adjoint(self, dtype: DType, size: int) -> Adjoint:
        """An adjoint has the type of its primal."""
        return Adjoint(dtype, size)


class WideCells:
    """The elements of a storage in f64."""

    def __init__(self, own: Array) -> None:
        self.wide = own.astype(np.float64)

    def read(self, at: Array) -> Array:
        """The elements at these positions."""
        return np.asarray(self.wide[at])

    def write(self, at: Array, arg: Arg) -> None:
        """Overwrite them."""
        self.wide[at] = arg.beside

    def add(self, at: Array, arg: Arg) -> None:
        """Add to them."""
        np.add.at(self.wide, at, _wide(arg))


class Wide:
    """The same values in f64."""

    def exact(self, own: Array) -> Array:
        """The number itself."""
        return own.astype(np.float64)

    def result(self, row: OpDef, to: DType, own: Array, args: Sequence[Arg]) -> Array:
        """The op in f64; where it decides, as the kernel's own run did."""
        if not row.pulls:
            return self.exact(own)
        choose = CHOICES.get(row)
        if choose is not None:
            return choose(*args)
        assert row.meaning is not None
        return np.asarray(row.meaning(f64, *(arg.beside for arg in args)))

    def cells(self, dtype: DType, own: Array) -> WideCells:
        """The storage in f64."""
        return WideCells(own)

    def number(self, arg: Arg) -> Num:
        """Worth its f64 value; in the case of the kernel's own."""
        return Num(arg.dtype, arg.own) if arg.beside is None else Num(f64, arg.beside, arg.own)

    def adjoint(self, dtype: DType, size: int) -> Adjoint:
        """Adjoints are f64."""
        return Adjoint(f64, size)


def _wide(arg: Arg) -> Array:
    return arg.own.astype(np.float64) if arg.beside is None else arg.beside


def _larger(x: Arg, y: Arg) -> Array:
    return np.where((x.own > y.own) | (y.own != y.own), _wide(x), _wide(y))


def _smaller(x: Arg, y: Arg) -> Array:
    return np.where((x.own < y.own) | (y.own != y.own), _wide(x), _wide(y))


def _magnitude(x: Arg) -> Array:
    return np.where(np.signbit(x.own), -_wide(x), _wide(x))


def _selected(condition: Arg, x: Arg, y: Arg) -> Array:
    return np.where(condition.own, _wide(x), _wide(y))


CHOICES: Final[dict[OpDef, Callable[..., Array]]] = {
    ops.MAX: _larger,
    ops.MIN: _smaller,
    ops.ABS: _magnitude,
    ops.SELECT: _selected,
    ops.CAST: _wide,
}
"""Ops whose f64 value follows a decision, or is no rounding at all."""
