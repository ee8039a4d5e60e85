"""`field`, `ndarray`, `tensor`: making data by the type of its elements."""

from __future__ import annotations

import enum
from typing import Any

from ..errors import AdstackRuntimeTypeError
from .fields import make_field
from .ndarrays import Ndarray, make_ndarray
from .struct import StructType
from .types import MatrixType

__all__ = ["Backend", "field", "ndarray", "tensor"]


class Backend(enum.Enum):
    """What a tensor is made as."""

    FIELD = 0
    NDARRAY = 1


def field(dtype: Any, shape: Any = None, name: str = "", **options: Any) -> Any:
    """A field of zeros.

    Args:
        dtype: a scalar type, or a vector, matrix or struct type.
        shape: extents of the index axes; without it the field is placed under `root` before its first use.
        name: for messages.
        options: offset (the least index of each axis), needs_grad, needs_dual.
    """
    if isinstance(dtype, MatrixType):
        return make_field(dtype.dtype, shape, dtype.shape, name=name, **options)
    if isinstance(dtype, StructType):
        return dtype.field(shape, name=name, **options)
    return make_field(dtype, shape, name=name, **options)


def ndarray(dtype: Any, shape: Any, needs_grad: bool = False, needs_dual: bool = False) -> Ndarray:
    """An ndarray of zeros; `dtype` is a scalar type, or a vector or matrix type."""
    element = dtype.shape if isinstance(dtype, MatrixType) else ()
    scalar = dtype.dtype if isinstance(dtype, MatrixType) else dtype
    return make_ndarray(scalar, shape, element, needs_grad=needs_grad, needs_dual=needs_dual)


def tensor(
    dtype: Any, shape: Any, backend: Any = Backend.NDARRAY, needs_grad: bool = False, needs_dual: bool = False
) -> Any:
    """A field or an ndarray, by `backend`; kernels take either as a `Tensor`."""
    if backend not in (Backend.FIELD, Backend.NDARRAY):
        raise AdstackRuntimeTypeError(
            f"tensor() has no backend {backend!r}", do="use qd.Backend.FIELD or qd.Backend.NDARRAY"
        )
    make = field if backend is Backend.FIELD else ndarray
    return make(dtype, shape, needs_grad=needs_grad, needs_dual=needs_dual)
