"""What programs say of a field that they make: its type, the order and layout of its memory, its offset."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..errors import AdstackArgumentError, AdstackRuntimeTypeError
from ..ir.types import DType, from_numpy
from ..values.scalars import scalar_type

__all__ = ["Layout", "check_layout", "check_order", "element_dtype", "offsets"]

_AXES = "ijklmnopqrstuvwxyz"
"""Names of the index axes, in `order`."""


class Layout(enum.Enum):
    """How the elements of a field of vectors, matrices or structs stand in memory: accepted for existing programs."""

    AOS = 0
    SOA = 1


def check_layout(layout: object) -> None:
    """Refuse what is no `layout`: AdstackArgumentError unless it is None or a `Layout`."""
    if layout is not None and not isinstance(layout, Layout):
        raise AdstackArgumentError(f"layout={layout!r} is no layout", do="write qd.Layout.AOS or SOA, or leave it out")


def check_order(order: str | None, rank: int) -> None:
    """Refuse an `order` of a field of `rank` axes unless it names each once: "i", "j" and so on."""
    names = _AXES[:rank]
    if order is not None and not (isinstance(order, str) and sorted(order) == list(names)):
        raise AdstackArgumentError(f"order={order!r} must name each of the axes {', '.join(names)} once")


def _type_for(dtype: Any) -> str:
    """What to write for what is no scalar type: that of numpy's type, if it is one."""
    if isinstance(dtype, (tuple, int)):
        return "the type comes first: qd.field(qd.f32, shape=...)"
    if not isinstance(dtype, (type, str, np.dtype)):
        return "use one such as qd.f32"
    try:
        return f"write qd.{from_numpy(np.dtype(dtype))}"
    except (TypeError, KeyError):
        return "use one such as qd.f32"


def element_dtype(dtype: object, what: str, differentiated: bool) -> DType:
    """The scalar type that a program named.

    Args:
        dtype: the type as the program wrote it.
        what: what messages call the data, "field" or "ndarray".
        differentiated: whether a gradient or a dual was asked for beside the data.

    Raises:
        AdstackRuntimeTypeError: if it is no scalar type, or a type of integers that is to have a gradient or a dual.
    """
    scalar = scalar_type(dtype)
    if not isinstance(scalar, DType):
        raise AdstackRuntimeTypeError(f"{dtype!r} can't be the element type of the {what}", do=_type_for(dtype))
    if differentiated and not scalar.is_float:
        raise AdstackRuntimeTypeError(
            f"{scalar} is not supported for {what} with `needs_grad=True` or `needs_dual=True`",
            do="only f16, f32 and f64 have gradients",
        )
    return scalar


def offsets(offset: object, rank: int) -> tuple[int, ...]:
    """An offset as programs write it, None for zeros, as one integer per axis.

    AdstackArgumentError if there are not `rank` integers.
    """
    if offset is None:
        return (0,) * rank
    entries = tuple(offset) if isinstance(offset, (tuple, list)) else (offset,)
    if len(entries) != rank or not all(hasattr(type(o), "__index__") for o in entries):
        raise AdstackArgumentError(f"the offset {offset!r} must have one integer for each of {rank} axes")
    return tuple(int(o) for o in entries)
