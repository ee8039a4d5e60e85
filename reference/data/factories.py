"""`field`, `ndarray`, `tensor`: making data by the type of its elements."""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Any, overload

from ..errors import AdstackRuntimeTypeError
from ..ir.types import DType
from ..values.making import register
from ..values.matrices.struct import StructType
from ..values.matrices.types import MatrixType
from .fields import MatrixField, ScalarField, make_field
from .ndarrays import Ndarray, make_ndarray
from .struct_fields import StructField

if TYPE_CHECKING:
    from ..values.matrices.matrix_types import MatrixValue

__all__ = ["Backend", "field", "make_field", "make_ndarray", "ndarray", "struct_field", "tensor"]


class Backend(enum.Enum):
    """What a tensor is made as."""

    FIELD = 0
    NDARRAY = 1


@overload
def field(dtype: MatrixType | type[MatrixValue], shape: Any = ..., name: str = ..., **options: Any) -> MatrixField: ...
@overload
def field(dtype: StructType, shape: Any = ..., name: str = ..., **options: Any) -> StructField: ...
@overload
def field(dtype: type[float] | type[int] | DType, shape: Any = ..., name: str = ..., **options: Any) -> ScalarField: ...
def field(dtype: Any, shape: Any = None, name: str = "", **options: Any) -> Any:
    """Make a field of zeros: a global array that kernels see by name.

    Args:
        dtype: the type of its elements: a scalar type, or a vector, matrix or struct type.
        shape: the extents of the index axes, an integer or a sequence of integers; without it the field must be placed
            under `root` before its first use.
        name: what messages call it.
        options: `offset`, the least index of each axis; `needs_grad` and `needs_dual`, whether a field of gradients or
            duals of the same shape stands beside it.

    Returns:
        a `ScalarField`, a `MatrixField` or a `StructField`.

    Raises:
        AdstackError: one of its kinds, if the type, the shape or the offset can't be used.
        AdstackMemoryError: if there can't be so many elements.
    """
    if isinstance(dtype, MatrixType):
        return make_field(dtype.dtype, shape, dtype.shape, name=name, **options)
    if isinstance(dtype, StructType):
        return struct_field(dtype, shape, name=name, **options)
    return make_field(dtype, shape, name=name, **options)


def struct_field(dtype: StructType, shape: Any = None, **options: Any) -> StructField:
    """A field of structs of a type, with the shape and the options of `field`, which also says what it raises."""
    return StructField(dtype, shape, **options)


def ndarray(dtype: object, shape: object, needs_grad: bool = False, needs_dual: bool = False) -> Ndarray:
    """Make an ndarray of zeros: an array that is passed to kernels as an argument.

    Args:
        dtype: the type of its elements: a scalar type, or a vector or matrix type.
        shape: the extents of the index axes, an integer or a sequence of integers.
        needs_grad: whether an array of gradients of the same shape stands beside it.
        needs_dual: the same for duals.

    Raises:
        AdstackError: one of its kinds, if the type or the shape can't be used.
        AdstackMemoryError: if there can't be so many elements.
    """
    element = dtype.shape if isinstance(dtype, MatrixType) else ()
    scalar = dtype.dtype if isinstance(dtype, MatrixType) else dtype
    return make_ndarray(scalar, shape, element, needs_grad=needs_grad, needs_dual=needs_dual)


def tensor(
    dtype: Any, shape: object, backend: object = Backend.NDARRAY, needs_grad: bool = False, needs_dual: bool = False
) -> Any:
    """Make a tensor of zeros, which kernels take as an argument that is annotated with `Tensor`.

    Args:
        dtype: the type of its elements: a scalar type, or a vector or matrix type.
        shape: the extents of the index axes.
        backend: what it is made as: `Backend.NDARRAY` or `Backend.FIELD`.
        needs_grad: whether gradients of the same shape stand beside it.
        needs_dual: the same for duals.

    Raises:
        AdstackRuntimeTypeError: if there is no such backend.
    """
    if backend not in (Backend.FIELD, Backend.NDARRAY):
        raise AdstackRuntimeTypeError(
            f"tensor() has no backend {backend!r}", do="use qd.Backend.FIELD or qd.Backend.NDARRAY"
        )
    make = field if backend is Backend.FIELD else ndarray
    return make(dtype, shape, needs_grad=needs_grad, needs_dual=needs_dual)


register(sys.modules[__name__])
