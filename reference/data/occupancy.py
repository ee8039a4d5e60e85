"""How much of sparse fields is active, and how they take memory, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable

from .fields import Field
from .used import active_cells

__all__ = ["occupancies"]


def occupancies(data: Iterable[object]) -> list[str]:
    """One line about each sparse field among the memory of a kernel, and about its gradient if that has memory."""
    fields = dict.fromkeys(field for field in data if isinstance(field, Field) and field.cells)
    return [
        _occupancy(one)
        for field in fields
        for one in (field, field.grad)
        if one is field or (one is not None and one.has_data())
    ]


def _occupancy(field: Field) -> str:
    """Its active elements, and the bytes of these and of all."""
    shape, bytes_of_all = field.shape, math.prod(field.shape + field.element_shape) * field.dtype.size
    total, active = math.prod(shape), _active(field)
    share = f"{field.label}: {active:,} of {total:,} elements are active"
    sizes = f"{bytes_of_all // total * active:,} of {bytes_of_all:,} bytes"
    if field.buffer.is_by_page:
        return f"{share}, {sizes}; pages in which nothing was ever written take no memory"
    return f"{share}, {sizes}; all of these are taken"


def _active(field: Field) -> int:
    """How many elements are active."""
    cells = field.cells[-1]
    within = math.prod(field.shape) // math.prod(cells.level.shape)
    return len(active_cells(field)[0]) * within if cells.level.words.has_data() else 0
