"""`field`, `ndarray`, `tensor`: making data by the type of its elements."""

from __future__ import annotations

import enum
import sys
from typing import TYPE_CHECKING, Any, overload

from ..errors import AdstackArgumentError, AdstackRuntimeTypeError
from ..ir.types import DType
from ..values.calling import takes
from ..values.making import register
from ..values.matrices.struct import StructType
from ..values.matrices.types import MatrixType
from .fields import MatrixField, ScalarField, make_field
from .hostvalues import extents
from .ndarrays import Ndarray, make_ndarray
from .struct_fields import StructField

if TYPE_CHECKING:
    from ..values.matrices.matrix_types import MatrixValue

__all__ = ["Backend", "field", "make_field", "make_ndarray", "ndarray", "tensor"]


class Backend(enum.Enum):
    """What a tensor is made as."""

    FIELD = 0
    NDARRAY = 1


@overload
def field(dtype: MatrixType | type[MatrixValue], shape: Any = ..., *args: Any, **options: Any) -> MatrixField: ...
@overload
def field(dtype: StructType, shape: Any = ..., *args: Any, **options: Any) -> StructField: ...
@overload
def field(dtype: type[float] | type[int] | DType, shape: Any = ..., *args: Any, **options: Any) -> ScalarField: ...
@takes("field")
def field(
    dtype: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: object = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: object = None,
) -> Any:
    """Make a field of zeros: a global array that kernels see by name.

    Args:
        dtype: the type of its elements: a scalar type, or a vector, matrix or struct type.
        shape: the extents of the index axes, an integer or a sequence of integers; without it the field must be placed
            under `root` before its first use.
        order: the order of the axes in memory, such as "ji": accepted for existing programs, as `layout` is.
        name: what messages call it.
        offset: the least index of each axis.
        needs_grad: whether a field of gradients of the same shape stands beside it.
        needs_dual: the same for duals.
        layout: `Layout.AOS` or `Layout.SOA`: what stands where in memory is adstack's own business.

    Returns:
        a `ScalarField`, a `MatrixField` or a `StructField`.

    Raises:
        AdstackError: one of its kinds, if the type, the shape or the offset can't be used.
        AdstackMemoryError: if there can't be so many elements.
    """
    options = order, name, offset, needs_grad, needs_dual, layout
    if isinstance(dtype, StructType):
        return StructField(dtype, shape, *options)
    if isinstance(dtype, MatrixType):
        return make_field(dtype.dtype, shape, dtype.shape, *options)
    return make_field(dtype, shape, (), *options)


@takes("ndarray")
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


@takes("tensor")
def tensor(
    dtype: Any,
    shape: object,
    backend: object = Backend.NDARRAY,
    layout: tuple[int, ...] | None = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
) -> Any:
    """Make a tensor of zeros, which kernels take as an argument that is annotated with `Tensor`.

    Args:
        dtype: the type of its elements: a scalar type, or a vector or matrix type.
        shape: the extents of the index axes.
        backend: what it is made as: `Backend.NDARRAY` or `Backend.FIELD`.
        layout: the order of the axes in memory, such as (1, 0): accepted for existing programs, and changes nothing.
        needs_grad: whether gradients of the same shape stand beside it.
        needs_dual: the same for duals.

    Raises:
        AdstackRuntimeTypeError: if there is no such backend.
        AdstackArgumentError: if the layout does not name each axis once.
    """
    if backend not in (Backend.FIELD, Backend.NDARRAY):
        raise AdstackRuntimeTypeError(
            f"tensor() has no backend {backend!r}", do="use qd.Backend.FIELD or qd.Backend.NDARRAY"
        )
    if layout is not None and sorted(layout) != list(range(len(extents("a tensor", shape, least=0)))):
        raise AdstackArgumentError(
            f"layout={layout!r} of a tensor must have the number of each axis once", do="write (1, 0) for two axes"
        )
    make = field if backend is Backend.FIELD else ndarray
    return make(dtype, shape, needs_grad=needs_grad, needs_dual=needs_dual)


register(sys.modules[__name__])
