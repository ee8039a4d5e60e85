"""Types that a user names: scalar types, `vector`, `matrix`, `struct`, and array annotations."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import AdstackTypeError
from ...ir import types as ir
from ...ir.types import DType, unsigned
from ..annotations import NDArray, ndarray
from ..elements import Elements, describe
from ..kinds import Operand, TypeLike
from ..nested import as_list, size, typed
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
from ..scalars import check_number, dtype_of, uint
from ..specs import MatrixSpec
from ..templates import Template, template
from .matrix import Matrix, Vector
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


def resolve(dtype: object, default_fp: DType, default_ip: DType) -> DType:
    """The scalar type that an annotation means: Python's float and int are the defaults, `uint` unsigned, bool u1."""
    named = dtype_of(dtype)
    if isinstance(named, DType):
        return named
    if named is uint:
        return unsigned(default_ip)
    return default_fp if named is float else default_ip if named is int else ir.u1


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


@dataclass(frozen=True)
class MatrixType:
    """The type of vectors or matrices of one shape and element type: an annotation, and a constructor.

    Called with scalars, vectors or lists it lines up their elements: `vec4(v2, 0, 1)`. One scalar fills all.
    """

    shape: tuple[int, ...]
    dtype: TypeLike

    @property
    def n(self) -> int:
        return self.shape[0]

    @property
    def m(self) -> int:
        return self.shape[1] if len(self.shape) == 2 else 1

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __call__(self, *values: object) -> Operand:
        flat = [e for value in values or (0,) for e in _flat(value)]
        count = self.n * self.m
        if len(flat) == 1:
            flat *= count
        if len(flat) != count:
            raise AdstackTypeError(
                f"{self!r} takes {count} elements, got {len(flat)}", do="pass one scalar, or as many as elements"
            )
        entries, dtype = typed(flat, self.dtype)
        return Elements.over(entries, self.shape, dtype)

    def cast(self, value: object) -> Operand:
        """A vector, matrix or nested list of exactly this shape, converted to this type; a scalar fills it."""
        made = Matrix(value) if as_list(value) is not None else self(value)
        if made.shape != self.shape:
            raise AdstackTypeError(f"{describe(made)} is no {self!r}", do="make the shapes equal")
        return made.cast(self.dtype)

    def spec(self, default_fp: DType = ir.f32, default_ip: DType = ir.i32) -> MatrixSpec:
        """What the frontend is told of a parameter with this annotation."""
        return MatrixSpec(resolve(self.dtype, default_fp, default_ip), self.shape)

    def field(self, shape: object = None, **options: object) -> Operand:
        """A field of elements of this type."""
        if self.ndim == 1:
            return Vector.field(self.n, self.dtype, shape, **options)
        return Matrix.field(self.n, self.m, self.dtype, shape, **options)

    def ndarray(self, shape: object, needs_grad: bool = False, needs_dual: bool = False) -> Operand:
        """An ndarray of elements of this type."""
        if self.ndim == 1:
            return Vector.ndarray(self.n, self.dtype, shape, needs_grad, needs_dual)
        return Matrix.ndarray(self.n, self.m, self.dtype, shape, needs_grad, needs_dual)

    def __repr__(self) -> str:
        name = self.dtype.name if isinstance(self.dtype, DType) else self.dtype.__name__
        if self.ndim == 1:
            return f"types.vector({self.n}, {name})"
        return f"types.matrix({self.n}, {self.m}, {name})"


def _flat(value: object) -> list[Operand]:
    items = as_list(value)
    if items is None:
        check_number("a vector or matrix", value)
        return [value]
    return [e for item in items for e in _flat(item)]


def vector(n: int, dtype: object) -> MatrixType:
    """The type of vectors of n components."""
    return MatrixType((size("n", n),), dtype_of(dtype))


def matrix(n: int, m: int, dtype: object) -> MatrixType:
    """The type of matrices of n rows and m columns."""
    return MatrixType((size("n", n), size("m", m)), dtype_of(dtype))
