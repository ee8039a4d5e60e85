"""The functions of the math library as others compute them: by numpy, and by mpmath to any number of digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import mpmath as mp
import numpy as np
import numpy.typing as npt

from adstack.ir import scalar_ops as ops
from adstack.ir.opdef import OpDef
from adstack.ir.ops import TABLE
from adstack.ir.ufuncs import UFUNCS

from .minimax import Real

__all__ = ["TRUTH", "Truth", "exactly"]


@dataclass(frozen=True)
class Truth:
    """One function.

    Attributes:
        wide: by numpy, in f64 or long double.
        exact: by mpmath, for finite arguments inside the domain.
    """

    wide: Callable[..., npt.NDArray[np.float64]]
    exact: Callable[..., Real]


def _cbrt(x: Real) -> Real:
    return mp.sign(x) * mp.cbrt(abs(x))


def _power(x: Real, y: Real) -> Real:
    if x >= 0:
        return mp.power(x, y)
    return mp.power(-x, y) * (-1 if int(y) % 2 else 1)


EXACT: Final[dict[OpDef, Callable[..., Real]]] = {
    ops.EXP2: lambda x: mp.power(2, x),
    ops.LOG2: lambda x: mp.log(x) / mp.log(2),
    ops.RSQRT: lambda x: 1 / mp.sqrt(x),
    ops.CBRT: _cbrt,
    ops.POW: _power,
}
"""Operations that mpmath has not, or defines otherwise; the others have the same name there."""

TRUTH: Final[dict[str, Truth]] = {
    row.name: Truth(wide, EXACT.get(row) or getattr(mp, row.name)) for row, wide in UFUNCS.items()
}

DIGITS: Final = 120
"""Bits beyond a double's, so that no cancellation in mpmath's own formulas shows."""

CANCELLING: Final = (ops.SIN, ops.COS, ops.TAN, ops.EXPM1, ops.LOG1P)
"""Operations in which as many digits cancel as the argument has before or after the point."""


def exactly(name: str, *args: float) -> Real:
    """The value by mpmath, good to far more than a double."""
    size = max((abs(mp.frexp(mp.mpf(a))[1]) for a in args), default=0)
    with mp.workprec(53 + DIGITS + (size if TABLE[name] in CANCELLING else 64)):
        return +TRUTH[name].exact(*map(mp.mpf, args))
