"""The table's operations with 60 digits, on object arrays: what bounds and gradients are measured against."""

from __future__ import annotations

import mpmath
import numpy as np

from adstack.ir.types import f64
from adstack.oracle.adjoints import Adjoint
from adstack.oracle.beside import CHOICES
from adstack.oracle.numbers import Num

mp = mpmath.mp.clone()
mp.dps = 60


def cbrt(x):
    return mp.cbrt(x) if x >= 0 else -mp.cbrt(-x)


FUNCTIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "abs": abs,
    "max": max,
    "min": min,
    "fma": lambda a, b, c: a * b + c,
    "sqrt": mp.sqrt,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "cbrt": cbrt,
    "hypot": mp.hypot,
    **{name: getattr(mp, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2")},
    **{name: getattr(mp, name) for name in ("sinh", "cosh", "tanh", "exp", "expm1", "log", "log10")},
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x, 2),
    "log1p": lambda x: mp.log(1 + x),
    "pow": mp.power,
}


def precise(array):
    """The numbers of an array, exactly."""
    numbers = np.asarray(array, object) if array.dtype == object else array
    out = np.empty(numbers.shape, object)
    out[...] = [mp.mpf(float(x)) if array.dtype != object else x for x in numbers.ravel()]
    return out


def elementwise(row, *args):
    return np.array([FUNCTIONS[row.name](*point) for point in zip(*np.broadcast_arrays(*args), strict=True)], object)


class ExactNum(Num):
    """Numbers of 60 digits for the table of derivatives."""

    def literal(self, number):
        return ExactNum(self.dtype, np.array([mp.mpf(number)], object), np.array([number]))

    def op(self, row, *others):
        args = [self, *(self.lift(other) for other in others)]
        value = elementwise(row, *(arg.value for arg in args))
        return ExactNum(f64, value, value.astype(float), super().result(row, f64, value, tuple(args)).live)

    def chosen(self, condition, yes, no):
        plain = super().chosen(condition, yes, no)
        return ExactNum(f64, plain.value, live=plain.live)


class ExactAdjoint(Adjoint):
    """Sums of 60 digits."""

    def __init__(self, size):
        super().__init__(f64, size)
        self.value = precise(self.value)

    def load(self, values):
        super().load(precise(values))

    def read(self, at):
        return ExactNum(f64, self.value[at], live=self.live[at])

    def add(self, at, change):
        spots, values = self.connected(at, change.live, change.value)
        for spot, value in zip(spots, values, strict=True):
            self.value[spot] += value
        self.live[spots] = True

    def clear(self, at):
        self.value[at] = mp.mpf(0)
        self.live[at] = False


class ExactCells:
    """A storage with 60 digits."""

    def __init__(self, own):
        self.numbers = precise(own)

    def read(self, at):
        return self.numbers[at]

    def write(self, at, arg):
        self.numbers[at] = arg.beside

    def add(self, at, arg):
        for spot, value in zip(at, arg.beside, strict=True):
            self.numbers[spot] += value


class Exactly:
    """Carries 60 digits beside a run, along its own path."""

    def exact(self, own):
        return precise(own)

    def result(self, row, to, own, args):
        if not row.pulls:
            return precise(own)
        if row in CHOICES:
            shown = [arg if arg.beside is not None else _plain(arg) for arg in args]
            return CHOICES[row](*shown)
        return elementwise(row, *(arg.beside for arg in args))

    def cells(self, dtype, own):
        return ExactCells(own)

    def number(self, arg):
        return Num(arg.dtype, arg.own) if arg.beside is None else ExactNum(f64, arg.beside, arg.own)

    def adjoint(self, dtype, size):
        return ExactAdjoint(size)


def _plain(arg):
    return type(arg)(arg.dtype, arg.own, precise(arg.own))
