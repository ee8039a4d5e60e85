"""The functions of the math library as others compute them: by numpy, and by mpmath to any number of digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import mpmath as mp
import numpy as np

__all__ = ["TRUTH", "Truth", "exactly"]


@dataclass(frozen=True)
class Truth:
    """One function.

    Attributes:
        wide: by numpy, in f64 or long double.
        exact: by mpmath, for finite arguments inside the domain.
    """

    wide: Callable[..., Any]
    exact: Callable[..., Any]


def _cbrt(x: Any) -> Any:
    return mp.sign(x) * mp.cbrt(abs(x))


def _power(x: Any, y: Any) -> Any:
    if x >= 0:
        return mp.power(x, y)
    return mp.power(-x, y) * (-1 if int(y) % 2 else 1)


TRUTH: Final[dict[str, Truth]] = {
    "sin": Truth(np.sin, mp.sin),
    "cos": Truth(np.cos, mp.cos),
    "tan": Truth(np.tan, mp.tan),
    "asin": Truth(np.arcsin, mp.asin),
    "acos": Truth(np.arccos, mp.acos),
    "atan": Truth(np.arctan, mp.atan),
    "sinh": Truth(np.sinh, mp.sinh),
    "cosh": Truth(np.cosh, mp.cosh),
    "tanh": Truth(np.tanh, mp.tanh),
    "exp": Truth(np.exp, mp.exp),
    "exp2": Truth(np.exp2, lambda x: mp.power(2, x)),
    "expm1": Truth(np.expm1, mp.expm1),
    "log": Truth(np.log, mp.log),
    "log2": Truth(np.log2, lambda x: mp.log(x) / mp.log(2)),
    "log10": Truth(np.log10, mp.log10),
    "log1p": Truth(np.log1p, mp.log1p),
    "rsqrt": Truth(lambda x: 1 / np.sqrt(x), lambda x: 1 / mp.sqrt(x)),
    "cbrt": Truth(np.cbrt, _cbrt),
    "atan2": Truth(np.arctan2, mp.atan2),
    "hypot": Truth(np.hypot, mp.hypot),
    "pow": Truth(np.power, _power),
}

DIGITS: Final = 120
"""Bits beyond a double's, so that no cancellation in mpmath's own formulas shows."""


def exactly(name: str, *args: float) -> Any:
    """The value by mpmath, good to far more than a double."""
    size = max((abs(mp.frexp(mp.mpf(a))[1]) for a in args), default=0)
    with mp.workprec(53 + DIGITS + (size if name in ("sin", "cos", "tan", "expm1", "log1p") else 64)):
        return +TRUTH[name].exact(*map(mp.mpf, args))
