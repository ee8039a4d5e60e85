"""The types of vectors and matrices: `types.vector(3, f32)`, `types.matrix(2, 2, f64)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...absent import with_absent
from ...errors import AdstackTypeError
from ...ir import types as ir
from ...ir.types import DType
from ..calling import takes
from ..elements import Elements, describe
from ..kinds import Operand, TypeLike
from ..making import factories
from ..nested import as_list, size, typed
from ..scalars import check_number, dtype_of, resolve
from ..specs import MatrixSpec

__all__ = ["MatrixType", "matrix", "vector"]


@with_absent("a vector or matrix type")
@dataclass(frozen=True)
class MatrixType:
    """The type of vectors or matrices of one shape and element type: an annotation, and a constructor.

    Called with scalars, vectors or lists it lines up their elements: `vec4(v2, 0, 1)`. One scalar fills all.
    """

    shape: tuple[int, ...]
    dtype: TypeLike

    @property
    def n(self) -> int:
        """How many rows, or components of a vector."""
        return self.shape[0]

    @property
    def m(self) -> int:
        """How many columns; 1 of a vector."""
        return self.shape[1] if len(self.shape) == 2 else 1

    @property
    def ndim(self) -> int:
        """1 of vectors, 2 of matrices."""
        return len(self.shape)

    @takes("")
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
        """A vector, matrix or nested list of exactly this shape, converted to this type; a scalar fills it.

        AdstackTypeError if `value` has another shape.
        """
        converted = Elements.kinds[2](value) if as_list(value) is not None else self(value)
        if converted.shape != self.shape:
            raise AdstackTypeError(f"{describe(converted)} is no {self!r}", do="make the shapes equal")
        return converted.cast(self.dtype)

    def spec(self, default_fp: DType = ir.f32, default_ip: DType = ir.i32) -> MatrixSpec:
        """What the frontend is told of a parameter with this annotation, where float and int mean the default types."""
        return MatrixSpec(resolve(self.dtype, default_fp, default_ip), self.shape)

    def field(self, *args: object, **options: object) -> Operand:
        """A field of elements of this type; the arguments are those of `field` after the type."""
        return factories().field(self, *args, **options)

    def ndarray(self, *args: object, **options: object) -> Operand:
        """An ndarray of elements of this type; the arguments are those of `ndarray` after the type."""
        return factories().ndarray(self, *args, **options)

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


if TYPE_CHECKING:

    class MatrixValue(Any):  # type: ignore[misc]
        """`qd.math.vec3` for type checkers: the annotation of a vector or matrix, and what makes one."""

        def __init__(self, *values: object) -> None: ...


@takes("types.vector")
def vector(n: int, dtype: object) -> MatrixType:
    """The type of vectors of n components of a scalar type `dtype`."""
    return MatrixType((size("n", n),), dtype_of(dtype))


@takes("types.matrix")
def matrix(n: int, m: int, dtype: object) -> MatrixType:
    """The type of matrices of n rows and m columns, with elements of a scalar type `dtype`."""
    return MatrixType((size("n", n), size("m", m)), dtype_of(dtype))
