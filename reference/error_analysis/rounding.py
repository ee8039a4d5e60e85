"""How far rounding can carry one operation's result from what exact arithmetic would give.

Running error analysis: J. H. Wilkinson, "Error analysis revisited", IMA Bulletin 22 (1986); N. J. Higham, "Accuracy and
Stability of Numerical Algorithms", 2nd ed., section 3.3. Beside each computed number y' stands a bound e with
|y' - y| <= e, where y is what the same path computes without rounding. An operation y = f(x1, ..., xn) adds to what its
operands bring what it does itself:

    e  =  sum over k of  L_k e_k   +   r

L_k is the largest |df/dx_k|, by the table of derivatives, at the computed operands and at the corners of the box
x' +- e; where that is infinite (the root near 0), the largest change of f from the middle of the box to a corner stands
for the sum. r is half a unit in the last place of y', and the operation's budget more if it is lowered to an algorithm.
Where a pole or a peak of the derivative lies inside the box, `INSIDE` says how far f can move.

The commonest operations need no table: x'y' - xy = x' dy + y' dx - dx dy, whatever dx and dy; `FUNCTIONS` has others.
Choices bring the larger of their errors, and steps (floor, ...) their jumps inside the box. So the bound is of first
order in one respect alone: that of the other functions |df/dx_k| is largest in the middle or at a corner. It is
computed in f64, whose own rounding is 2^-29 of f32's; for f64 kernels it is of second order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Final

import numpy as np

from ..interpreter.lanes import Array
from ..ir import scalar_ops as ops
from ..ir.opdef import OpDef
from ..ir.ops import TABLE
from ..ir.pulls import Saved
from ..ir.types import DType, f64
from ..ir.ufuncs import UFUNCS
from ..oracle.numbers import Num

__all__ = ["Bounded", "gamma", "half_ulp", "result_error"]


class Bounded(Num):
    """Numbers with a bound on the error of each."""

    def __init__(
        self, dtype: DType, value: Array, error: Array, decide: Array | None = None, live: Array | None = None
    ) -> None:
        super().__init__(dtype, value, decide, live)
        self.error = error

    def literal(self, number: float) -> Bounded:
        """A constant, with the error that storing it makes; those with a fraction other than a half were rounded."""
        value = np.array([number], self.dtype.numpy)
        error = np.abs(value.astype(np.float64) - number)
        if np.isfinite(number) and not (2 * number).is_integer():
            error = error + np.spacing(abs(number)) / 2
        return Bounded(self.dtype, value, error)

    def result(self, row: OpDef, to: DType, value: Array, args: tuple[Num, ...]) -> Num:
        """The result of an operation with its bound: what the operands bring, and the operation's own rounding."""
        plain = super().result(row, to, value, args)
        error = result_error(row, to, value, [arg.value for arg in args], [error_of(arg) for arg in args])
        return Bounded(to, value, error, live=plain.live)

    def chosen(self, condition: Array, yes: Num, no: Num) -> Num:
        """One of two numbers by a condition, with the bound of the one that was chosen."""
        plain = super().chosen(condition, yes, no)
        error = np.where(condition, error_of(yes), error_of(no))
        return Bounded(plain.dtype, plain.value, error, live=plain.live)


def error_of(number: Num) -> Array:
    """The bound on a number's error; none if it carries none."""
    return number.error if isinstance(number, Bounded) else np.zeros(1)


def gamma(count: Array, dtype: DType) -> Array:
    """n u / (1 - n u): the relative error of n rounding steps in any order; infinite where n u reaches 1."""
    nu = count * (float(np.finfo(dtype.numpy).eps) / 2)
    if (nu < 1).all():
        return np.asarray(nu / (1 - nu))
    return np.where(nu < 1, nu / np.where(nu < 1, 1 - nu, 1), np.inf)


def half_ulp(value: Array) -> Array:
    """Half the distance to the next larger number of the type, in f64; infinite for infinities and NaN."""
    size = np.abs(value)
    step = np.spacing(np.nextafter(size, size.dtype.type(np.inf))).astype(np.float64)
    if np.isfinite(step).all():
        return np.asarray(step / 2)
    largest = np.isfinite(size) & ~np.isfinite(step)
    step = np.where(largest, (size - np.nextafter(size, size.dtype.type(0))).astype(np.float64), step)
    return np.where(np.isfinite(size), step / 2, np.inf)


def result_error(row: OpDef, to: DType, own: Array, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The bound for the result `own` of an operation, from its operands and the bounds on theirs."""
    brought = BROUGHT.get(row, by_derivatives)(row, args, errors)
    total = brought + rounding_error(row, to, own, args)
    if np.isnan(total).any():
        total = np.where(np.isnan(total), np.inf, total)
    return total if total.shape == own.shape else np.broadcast_to(total, own.shape)


# ---- what an operation makes itself


def rounding_error(row: OpDef, to: DType, own: Array, args: Sequence[Array]) -> Array:
    """The rounding error of the operation."""
    if not row.rounds or (row is ops.CAST and widens(args[0], to)):
        return np.zeros(1)
    units = 1 + 2 * row.budget.of(to)
    error = units * half_ulp(own)
    if own.all():
        return error
    if row in (ops.ADD, ops.SUB):
        return np.where(own == 0, 0.0, error)
    return np.where((args[0] == 0) | (args[1] == 0), 0.0, error) if row is ops.MUL else error


def widens(source: Array, to: DType) -> bool:
    """Whether a cast keeps every value."""
    return bool(np.can_cast(source.dtype, to.numpy, "safe"))


# ---- what operands bring


Bringer = Callable[[OpDef, Sequence[Array], Sequence[Array]], Array]


def summed(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The bound of a result that moves no further than all operands together: the sum of their bounds."""
    return np.asarray(sum(errors[1:], errors[0]))


def larger(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The bound of a result that is one of the operands, and which one is not certain: the largest of their bounds."""
    return np.maximum(errors[0], errors[1])


def selected(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The bound of the operand that the condition chooses; the condition itself counts as exact."""
    return np.where(args[0], errors[1], errors[2])


def nothing(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """No error: a bitcast takes the bits as they are."""
    return np.zeros(1)


def jump(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """How far a step function (floor, ceil, ...) moves inside the box of its operand."""
    meaning = row.meaning
    assert meaning is not None
    middle = args[0].astype(np.float64)
    here = meaning(f64, middle)
    below, above = (np.abs(meaning(f64, middle + side * errors[0]) - here) for side in (-1, 1))
    return np.asarray(np.maximum(below, above))


def multiplied(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The error of a product of two operands, from their errors; that of a third operand is added."""
    (x, y), (dx, dy) = (np.abs(arg) for arg in args[:2]), errors[:2]
    brought = carried(y, dx) + carried(x, dy) + dx * dy
    return np.asarray(brought + errors[2] if len(errors) > 2 else brought)


def divided(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """What both operands bring to the numerator of the difference, over the least divisor."""
    (x, y), (dx, dy) = (np.abs(arg.astype(np.float64)) for arg in args), errors
    least = y - dy
    moved = (dx + carried(x / y, dy)) / np.where(least > 0, least, np.nan)
    return np.where((dx == 0) & (dy == 0), 0.0, moved)


def carried(factor: Array, error: Array) -> Array:
    """An error times a factor; none stays none, however large the factor is."""
    brought = factor * error
    return brought if error.all() else np.where(error == 0, 0.0, brought)


def of_one(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """How far a smooth function of one operand moves."""
    moved = FUNCTIONS[row](args[0].astype(np.float64), errors[0])
    return np.where(errors[0] == 0, 0.0, moved)


def by_derivatives(row: OpDef, args: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The largest derivative in the box times the error, summed over operands."""
    if not any(error.any() for error in errors):
        return np.zeros(1)
    middle = [arg.astype(np.float64) for arg in args]
    corners = [
        [x + side * error for x, side, error in zip(middle, sides, errors, strict=True)]
        for sides in product((-1, 1), repeat=len(args))
    ]
    total = np.zeros(1)
    for k, error in enumerate(errors):
        slopes = [slope(row, k, point) for point in (middle, *corners)]
        total = total + np.where(error == 0, 0.0, np.maximum.reduce(np.broadcast_arrays(*slopes)) * error)
    if not np.isfinite(total).all():
        total = np.where(np.isfinite(total), total, deviation(row, middle, corners))
    if row not in INSIDE:
        return total
    there, reach = INSIDE[row](middle, errors)
    return np.where(there, reach, total)


def slope(row: OpDef, k: int, point: Sequence[Array]) -> Array:
    """|df/dx_k| at a point; infinite where there is none."""
    pull = (row.pulls or ())[k]
    assert pull is not None
    numbers = [Rough(f64, x) for x in point]
    shown = dict(zip("xyz", numbers, strict=False))
    saved = Saved(**shown, r=numbers[0].op(row, *numbers[1:]) if "r" in pull.needs else None)
    size = np.abs(pull.map(Rough(f64, np.ones(1)), saved).value)
    return np.where(np.isnan(size), np.inf, size)


def deviation(row: OpDef, middle: Sequence[Array], corners: Sequence[Sequence[Array]]) -> Array:
    """How far f moves from the middle of the box to its corners."""
    here, *there = (Rough(f64, x[0]).op(row, *(Rough(f64, y) for y in x[1:])).value for x in (middle, *corners))
    furthest = np.maximum.reduce([np.abs(value - here) for value in there])
    return np.asarray(furthest + half_ulp(np.asarray(here)) * 2)


Inside = Callable[[Sequence[Array], Sequence[Array]], tuple[Array, Array | float]]


def around_zero(k: int, reach: Callable[[Array], Array | float]) -> Inside:
    """Where operand k may be 0, f moves as far as `reach` of that operand's error."""
    return lambda x, e: (np.asarray((np.abs(x[k]) <= e[k]) & (e[k] > 0)), reach(e[k]))


def _periods(x: Sequence[Array], e: Sequence[Array]) -> tuple[Array, Array | float]:
    """The tangent has a pole in the interval if its ends lie in different periods."""
    return np.asarray(np.rint((x[0] - e[0]) / np.pi) != np.rint((x[0] + e[0]) / np.pi)), np.inf


def _cut(x: Sequence[Array], e: Sequence[Array]) -> tuple[Array, Array | float]:
    """The angle jumps by a turn where the first operand may change its sign while the second one is negative."""
    return np.asarray((np.abs(x[0]) <= e[0]) & (x[1] <= e[1]) & (e[0] + e[1] > 0)), 2 * np.pi


def _short(x: Sequence[Array], e: Sequence[Array]) -> tuple[Array, Array | float]:
    """A length near an axis moves no further than its operands: no derivative is above 1."""
    return np.asarray((np.abs(x[0]) <= e[0]) | (np.abs(x[1]) <= e[1])), e[0] + e[1]


class Rough(Num):
    """Numbers whose functions are numpy's: good enough for the size of a derivative."""

    def literal(self, number: float) -> Num:
        """A constant."""
        return Rough(self.dtype, np.array([number]))

    def op(self, row: OpDef, *others: Num | float) -> Num:
        """The result of an operation on rough numbers."""
        if row not in ROUGH:
            return super().op(row, *others)
        args = [self.value, *(self.lift(other).value for other in others)]
        return Rough(f64, np.asarray(ROUGH[row](*args)))

    def result(self, row: OpDef, to: DType, value: Array, args: tuple[Num, ...]) -> Num:
        """The result of an operation as a rough number."""
        return Rough(to, value)

    def chosen(self, condition: Array, yes: Num, no: Num) -> Num:
        """One of two rough numbers by a condition."""
        return Rough(f64, np.where(condition, yes.value, no.value))


ROUGH: Final[dict[OpDef, Callable[..., Array]]] = {
    ops.SQRT: np.sqrt,
    **UFUNCS,
}

FUNCTIONS: Final[dict[OpDef, Callable[[Array, Array], Array]]] = {
    ops.SIN: lambda x, e: e * np.minimum(np.abs(np.cos(x)) + e / 2, 1.0),
    ops.COS: lambda x, e: e * np.minimum(np.abs(np.sin(x)) + e / 2, 1.0),
    ops.EXP: lambda x, e: np.exp(x) * np.expm1(e),
    ops.LOG: lambda x, e: e / np.where(e < x, x - e, np.nan),
    ops.SQRT: lambda x, e: e / (np.sqrt(x) + np.sqrt(x - e)),
    ops.TANH: lambda x, e: e * (1 - np.tanh(np.maximum(np.abs(x) - e, 0.0)) ** 2),
    ops.ATAN: lambda x, e: e / (1 + np.maximum(np.abs(x) - e, 0.0) ** 2),
}
"""The largest change of a function in an interval, by its largest derivative there (sin, cos: Taylor's theorem)."""

INSIDE: Final[dict[OpDef, Inside]] = {
    ops.POW: around_zero(0, lambda e: np.inf),
    ops.CBRT: around_zero(0, lambda e: np.cbrt(4 * e)),
    ops.TAN: _periods,
    ops.ATAN2: _cut,
    ops.HYPOT: _short,
}
"""Where the derivative has a pole or its peak inside the box, and how far the function can move there."""

BROUGHT: Final[dict[OpDef, Bringer]] = {
    **dict.fromkeys((ops.ADD, ops.SUB, ops.NEG, ops.ABS, ops.CAST), summed),
    **dict.fromkeys((ops.MUL, ops.FMA), multiplied),
    ops.DIV: divided,
    **dict.fromkeys(FUNCTIONS, of_one),
    **dict.fromkeys((ops.MAX, ops.MIN), larger),
    **dict.fromkeys((row for row in TABLE.values() if row.step), jump),
    ops.SELECT: selected,
    ops.BITCAST: nothing,
}
