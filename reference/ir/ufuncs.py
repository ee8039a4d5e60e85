"""numpy's functions for the rows that the library computes: fast, and near its results, not equal to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from .opdef import OpDef
from .ops import TABLE
from .scalar_ops import ACOS, ASIN, ATAN, ATAN2, POW, RSQRT

__all__ = ["UFUNCS"]

Floats = npt.NDArray[np.float64]
_CALLED: Final = {ASIN: np.arcsin, ACOS: np.arccos, ATAN: np.arctan, ATAN2: np.arctan2, POW: np.power}
"""Rows to which numpy gives another name."""


def _reciprocal_root(x: Floats) -> Floats:
    return 1 / np.sqrt(x)


def _of_numpy(row: OpDef) -> Callable[..., Floats]:
    function: Callable[..., Floats] = _CALLED[row] if row in _CALLED else getattr(np, row.name)
    return function


UFUNCS: Final[dict[OpDef, Callable[..., Floats]]] = {
    row: _reciprocal_root if row is RSQRT else _of_numpy(row) for row in TABLE.values() if row.transcendental
}
"""By row: a function of arrays of f64; all but that of RSQRT are ufuncs."""
