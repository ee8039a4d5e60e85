"""Types that a user names: scalar types, `vector`, `matrix`, `struct`, and array annotations."""

from __future__ import annotations

from ...absent import missing as _missing
from ...ir.types import DType
from ..annotations import NDArray, ndarray
from ..scalar_types import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..scalars import dtype_of, resolve
from ..templates import Template, template
from .matrix_types import MatrixType, matrix, vector
from .struct import StructType, convert, struct

__all__ = [
    "MatrixType",
    "NDArray",
    "StructType",
    "Template",
    "convert",
    "f16",
    "f32",
    "f64",
    "float16",
    "float32",
    "float64",
    "i8",
    "i16",
    "i32",
    "i64",
    "int8",
    "int16",
    "int32",
    "int64",
    "matrix",
    "ndarray",
    "resolve",
    "struct",
    "template",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "uint1",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vector",
]


def is_float(dtype: object) -> bool:
    """Whether a scalar type, or Python's float, holds reals."""
    return dtype is float or (isinstance(dtype, DType) and dtype.is_float)


def is_real(dtype: object) -> bool:
    """Whether a type holds floating-point numbers."""
    return is_float(dtype)


def is_integral(dtype: object) -> bool:
    """Whether a type holds integers."""
    return not is_float(dtype_of(dtype))


def is_signed(dtype: object) -> bool:
    """Whether an integer type has negative values."""
    return dtype is int or (isinstance(dtype, DType) and dtype.kind == "i")


def __getattr__(name: str) -> object:
    """The error for a name that is not there, which says what to use."""
    raise _missing("qd.types", name, __all__)
