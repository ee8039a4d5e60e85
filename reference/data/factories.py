"""`field`, `ndarray`, `tensor`: making data by the type of its elements."""

from __future__ import annotations

import enum
import sys
from typing import Any

from ..errors import AdstackRuntimeTypeError
from ..values.making import register
from ..values.matrices.struct import StructType
from ..values.matrices.types import MatrixType
from .fields import make_field
from .ndarrays import Ndarray, make_ndarray
from .struct_fields import StructField

__all__ = ["Backend", "field", "make_field", "make_ndarray", "ndarray", "struct_field", "tensor"]


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
        return struct_field(dtype, shape, name=name, **options)
    return make_field(dtype, shape, name=name, **options)


def struct_field(dtype: StructType, shape: Any = None, **options: Any) -> StructField:
    """A field of structs of a type; options as for `field`."""
    return StructField(dtype, shape, **options)


def ndarray(dtype: object, shape: object, needs_grad: bool = False, needs_dual: bool = False) -> Ndarray:
    """An ndarray of zeros; `dtype` is a scalar type, or a vector or matrix type."""
    element = dtype.shape if isinstance(dtype, MatrixType) else ()
    scalar = dtype.dtype if isinstance(dtype, MatrixType) else dtype
    return make_ndarray(scalar, shape, element, needs_grad=needs_grad, needs_dual=needs_dual)


def tensor(
    dtype: object, shape: object, backend: object = Backend.NDARRAY, needs_grad: bool = False, needs_dual: bool = False
) -> Any:
    """A field or an ndarray, by `backend`; kernels take either as a `Tensor`."""
    if backend not in (Backend.FIELD, Backend.NDARRAY):
        raise AdstackRuntimeTypeError(
            f"tensor() has no backend {backend!r}", do="use qd.Backend.FIELD or qd.Backend.NDARRAY"
        )
    make = field if backend is Backend.FIELD else ndarray
    return make(dtype, shape, needs_grad=needs_grad, needs_dual=needs_dual)


register(sys.modules[__name__])
