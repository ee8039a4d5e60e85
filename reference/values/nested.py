"""Making vectors and matrices of nested sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..errors import AdstackTypeError
from ..ir.types import DType
from .elements import Elements, describe, is_array
from .functions import cast
from .kinds import Operand
from .scalars import PLAIN, check_number, dtype_of, plain, settled


def as_list(value: object) -> list[Operand] | None:
    """The items of a list, tuple, numpy array, vector or matrix; None of anything else."""
    if value.__class__ in PLAIN:
        return None
    if isinstance(value, Elements):
        return value.to_list()
    if isinstance(value, (list, tuple, range)):
        return list(value)
    if not is_array(value):
        return None
    array: Operand = value
    return list(array.tolist())


def nested(value: object) -> tuple[list[Operand], tuple[int, ...]]:
    """Elements row by row, and the shape, of a list of scalars or of equally long lists of scalars.

    AdstackTypeError for anything else.
    """
    items = as_list(value)
    if not items:
        raise AdstackTypeError(
            "a vector or matrix is made of a list", note=f"got {value!r}", do="write Vector([1, 2]) or Matrix([[1, 2]])"
        )
    rows = [as_list(item) for item in items]
    if all(row is None for row in rows):
        return [_scalar(e) for e in items], (len(items),)
    widths = {len(row) if row is not None else 0 for row in rows}
    if len(widths) > 1 or widths == {0}:
        raise AdstackTypeError(
            "rows of a matrix must be equally long", note=f"got {items!r}", do="write as many in each"
        )
    return [_scalar(e) for row in rows if row is not None for e in row], (len(rows), widths.pop())


def _scalar(value: object) -> Operand:
    if value.__class__ in PLAIN:
        return value
    if as_list(value) is not None:
        raise AdstackTypeError(
            "a vector or matrix has at most two axes of scalars", note=f"got {describe(value)} as an element"
        )
    check_number("a vector or matrix", value)
    return plain(value)


MOST: Final = 1024
"""Components along an axis: each is a value of its own in what is compiled."""


def typed(entries: Sequence[Operand], dtype: object) -> tuple[list[Operand], DType | None]:
    """The elements converted to `dtype`, and it if it is a type of fixed width; as they are for None."""
    if dtype is None:
        return list(entries), None
    to = settled(dtype_of(dtype))
    return [cast(e, to) for e in entries], to if isinstance(to, DType) else None


def size(what: str, value: Operand) -> int:
    """An extent given by the user; AdstackTypeError, which names `what` it is of, if it can't be one."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__") or value.__index__() < 1:
        do = "write extents, then the type: vector(3, qd.f32), matrix(2, 3, qd.f32)"
        raise AdstackTypeError(f"{what} must be a positive compile-time integer", note=f"got {value!r}", do=do)
    if value.__index__() > MOST:
        raise AdstackTypeError(
            f"{what} is {value.__index__()}, and a vector or matrix has at most {MOST} elements along an axis",
            do="use a field or an array with one more axis",
        )
    return int(value.__index__())
