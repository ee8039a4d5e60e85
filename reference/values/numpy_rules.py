"""Derivatives of numpy's functions of single numbers, by their names: what host numbers keep their links through."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from ..ir.opdef import OpDef
from ..ir.scalar_ops import ABS, ADD, DIV, MAX, MIN, MUL, NEG, POW, SQRT, SUB
from ..ir.ufuncs import UFUNCS
from .slopes import slopes

__all__ = ["CONSTANTS", "RULES", "gives_real"]

Rule: TypeAlias = Callable[[Sequence[float], float], Sequence[float]]
"""Takes the operands and the result; how a change of each operand reaches the result."""


def _of_row(row: OpDef) -> Rule:
    return partial(slopes, row)


def _direct(formula: Callable[..., tuple[Any, ...]]) -> Rule:
    """A rule by a formula of the operands and, behind them, the result, which numpy computes in f64."""

    def rule(operands: Sequence[float], result: float) -> Sequence[float]:
        with np.errstate(all="ignore"):
            return [float(slope) for slope in formula(*map(np.float64, operands), np.float64(result))]

    return rule


def _artanh(x: Any, r: Any) -> tuple[Any]:
    return (np.nan if abs(x) > 1 else 1 / ((1 - x) * (1 + x)),)


def _sinc(x: Any, r: Any) -> tuple[Any]:
    return (0.0 if x == 0 else (np.cos(np.pi * x) - r) / x,)


def _whole_times(x: Any, y: Any, r: Any) -> tuple[Any, Any]:
    """Of what is left of x, less a whole number of times y."""
    return 1.0, -np.rint((x - r) / y)


_ROWS: Final = {
    np.add: ADD,
    np.subtract: SUB,
    np.multiply: MUL,
    np.divide: DIV,
    np.float_power: POW,
    np.negative: NEG,
    np.absolute: ABS,
    np.fabs: ABS,
    np.maximum: MAX,
    np.minimum: MIN,
    np.fmax: MAX,
    np.fmin: MIN,
    np.sqrt: SQRT,
} | {function: row for row, function in UFUNCS.items() if isinstance(function, np.ufunc)}
"""Functions that are operations of the language."""

_FORMULAS: Final[dict[Any, Callable[..., tuple[Any, ...]]]] = {
    np.square: lambda x, r: (2 * x,),
    np.reciprocal: lambda x, r: (-r * r,),
    np.positive: lambda x, r: (1.0,),
    np.conjugate: lambda x, r: (1.0,),
    np.remainder: _whole_times,
    np.fmod: _whole_times,
    np.logaddexp: lambda x, y, r: (np.exp(x - r), np.exp(y - r)),
    np.logaddexp2: lambda x, y, r: (np.exp2(x - r), np.exp2(y - r)),
    np.arcsinh: lambda x, r: (1 / np.hypot(x, 1.0),),
    np.arccosh: lambda x, r: (1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    np.arctanh: _artanh,
    np.deg2rad: lambda x, r: (math.pi / 180,),
    np.radians: lambda x, r: (math.pi / 180,),
    np.rad2deg: lambda x, r: (180 / math.pi,),
    np.degrees: lambda x, r: (180 / math.pi,),
    np.copysign: lambda x, y, r: (np.sign(x) * np.copysign(1.0, y), 0.0),
    np.heaviside: lambda x, y, r: (0.0, float(x == 0)),
    np.real: lambda x, r: (1.0,),
    np.sinc: _sinc,
}

RULES: Final[dict[str, Rule]] = {
    **{function.__name__: _of_row(row) for function, row in _ROWS.items()},
    "true_divide": _of_row(DIV),  # `np.divide` has been called both
    **{function.__name__: _direct(formula) for function, formula in _FORMULAS.items()},
}

_STEPS: Final = ("floor", "ceil", "trunc", "rint", "fix", "round", "around", "round_", "sign", "floor_divide")
_SHAPES: Final = ("zeros_like", "ones_like", "empty_like", "full_like")
CONSTANTS: Final = frozenset((*_STEPS, *_SHAPES, "imag"))
"""Functions whose derivative is 0 wherever there is one: they give plain numbers."""


def gives_real(result: object) -> bool:
    """Whether a result is a real number, or has one among several: arrays are not, nor is what is only compared."""
    if isinstance(result, tuple):
        return any(map(gives_real, result))
    if isinstance(result, np.ndarray):
        return result.ndim == 0 and result.dtype.kind in "fc"
    return isinstance(result, (float, complex, np.inexact))
