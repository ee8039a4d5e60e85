"""Subscripts as values and constants that are added to them, and how far the constants move the element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from adstack.analysis.subscripts import is_wide, moved
from adstack.ir.structure import Place, Value

__all__ = ["position", "without_constants"]

_ELEMENTS: Final = 1 << 30
_FAR: Final = 1 << 20
"""Elements of a place and the greatest constant in a subscript, at most. So a sum that wraps around is no element, and
the number of an element without the constants is an i32.
"""


def without_constants(place: Place, subscripts: Sequence[Value]) -> tuple[tuple[Value | None, ...], int]:
    """What is left of subscripts without constants that are added to them, None where that is nothing.

    Returns:
        That, and by how many bytes the constants move the element; all of the subscripts, and 0, where extents are not
        known, or so large that an element might be at a sum that wraps around.
    """
    extents = [extent for extent in place.shape if extent is not None]
    if len(extents) < place.rank or math.prod(extents) > _ELEMENTS:
        return tuple(subscripts), 0
    split = [moved(value) if is_wide(value) else (value, 0) for value in subscripts]
    near = [
        (value, 0) if abs(number) >= _FAR else (base, number)
        for value, (base, number) in zip(subscripts, split, strict=True)
    ]
    return tuple(base for base, _ in near), position(place, [number for _, number in near]) * place.dtype.size


def position(place: Place, subscripts: Sequence[int]) -> int:
    """The number of the element with such subscripts, of a place whose extents are known."""
    number = 0
    for subscript, extent in zip(subscripts, place.shape, strict=True):
        assert extent is not None
        number = number * extent + subscript
    return number
