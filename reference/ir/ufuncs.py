"""numpy's functions for the rows that the library computes: fast, and near its results, not equal to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from .ops import TABLE

__all__ = ["UFUNCS"]

Floats = npt.NDArray[np.float64]
_CALLED: Final = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
"""Rows to which numpy gives another name."""


def _reciprocal_root(x: Floats) -> Floats:
    return 1 / np.sqrt(x)


def _of_numpy(name: str) -> Callable[..., Floats]:
    function: Callable[..., Floats] = getattr(np, _CALLED.get(name, name))
    return function


UFUNCS: Final[dict[str, Callable[..., Floats]]] = {
    name: _reciprocal_root if name == "rsqrt" else _of_numpy(name) for name, row in TABLE.items() if row.transcendental
}
"""By the name of the row: a function of arrays of f64; all but that of "rsqrt" are ufuncs."""
