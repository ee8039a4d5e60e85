"""`Matrix` and `Vector`: small arrays of scalars that live in registers.

A `Vector` is a `Matrix` with one axis. On the host the elements are numbers; in kernels they are runtime values or
numbers that have not met a type yet.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import AdstackTypeError
from ..calling import methods_take, takes
from ..elements import Elements, as_elements, describe
from ..kinds import Operand, TypeLike
from ..making import factories
from ..nested import as_list, nested, size, typed
from ..protocol import is_expr
from .access import Access
from .algebra import cross
from .decompositions import polar_decompose
from .eigenvalues import eig
from .jacobi import svd, sym_eig
from .linear import Linear, cholesky, determinant, inverse, solve
from .matrix_types import MatrixType
from .swizzles import Swizzles

__all__ = [
    "Matrix",
    "Vector",
    "as_elements",
    "cholesky",
    "cross",
    "describe",
    "determinant",
    "eig",
    "inverse",
    "is_matrix",
    "polar_decompose",
    "solve",
    "svd",
    "sym_eig",
]


@methods_take
class Matrix(Linear, Swizzles, Access):
    """A matrix `Matrix([[1, 2], [3, 4]])`, or, of a list of scalars, a vector.

    Args:
        arr: rows of equal length; a list of scalars makes a vector.
        dt: type that the elements are converted to; by default they stay what they are.
    """

    __slots__ = ()

    @takes("")
    def __new__(cls, arr: object = None, dt: object = None) -> Operand:
        entries, shape = nested(arr)
        if cls is Vector and len(shape) != 1:
            raise AdstackTypeError(
                "a vector is made of a list of scalars", note=f"got {len(shape)} axes", do="use Matrix for rows"
            )
        if dt is None and isinstance(arr, Elements):
            dt = arr.dtype
        converted, dtype = typed(entries, dt)
        return cls.over(converted, shape, dtype)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.entries, self.shape, self._dtype)

    def __deepcopy__(self, memo: object) -> Operand:
        return self.copy()

    def __str__(self) -> str:
        return str(self.to_list())

    def __repr__(self) -> str:
        typed_as = f", dt={self._dtype}" if self._dtype is not None else ""
        return f"{type(self).__name__}({self.to_list()}{typed_as})"

    def to_numpy(self) -> Operand:
        """The elements as a numpy array of the same shape; AdstackTypeError in kernels, where they are not known."""
        if any(is_expr(e) for e in self.entries):
            raise AdstackTypeError("the elements are not known while compiling", do="call to_numpy outside of kernels")
        return np.asarray(self.to_list(), None if self._dtype is None else self._dtype.numpy)

    def __array__(self, dtype: object = None, copy: object = None) -> Operand:
        if any(is_expr(e) for e in self.entries):
            do = "use the language's own: v.norm(), v.dot(w), qd.sin(v), qd.max(v, w)"
            raise AdstackTypeError("numpy computes on the host, and this is a value of a kernel", do=do)
        return self.to_numpy() if dtype is None else self.to_numpy().astype(dtype)

    @staticmethod
    def rows(rows: Sequence[Operand]) -> Operand:
        """The matrix with these rows."""
        return Matrix([as_list(row) or row for row in rows])

    @staticmethod
    def cols(cols: Sequence[Operand]) -> Operand:
        """The matrix with these columns."""
        return Matrix.rows(cols).transpose()

    @staticmethod
    def diag(dim: int, val: object) -> Operand:
        """A square matrix of `dim` rows with `val` (a scalar, or one per row) on the diagonal and 0 elsewhere.

        AdstackTypeError if there is not one value for each row.
        """
        dim = size("the size of a matrix", dim)
        values = as_list(val) or [val] * dim
        if len(values) != dim:
            raise AdstackTypeError(f"the diagonal has {dim} elements", note=f"got {len(values)}")
        return Matrix([[values[i] if i == j else 0 for j in range(dim)] for i in range(dim)])

    @staticmethod
    def identity(dt: object, n: int) -> Operand:
        """The identity matrix of n rows, in type `dt`."""
        return Matrix(Matrix.diag(n, 1), dt)

    @staticmethod
    def filled(value: object, dt: object, n: int, m: int | None = None) -> Operand:
        """A vector of n elements, or a matrix of n rows and m columns, all `value`, converted to the type `dt`."""
        columns = 1 if m is None else size("m", m)
        entries, dtype = typed([value] * (size("n", n) * columns), dt)
        shape = (n,) if m is None else (n, m)
        return Elements.over(entries, shape, dtype)

    @staticmethod
    def zero(dt: object, n: int, m: int | None = None) -> Operand:
        """A vector of n zeros, or a matrix of n rows and m columns of zeros, of the type `dt`."""
        return Matrix.filled(0, dt, n, m)

    @staticmethod
    def one(dt: object, n: int, m: int | None = None) -> Operand:
        """A vector of n ones, or a matrix of n rows and m columns of ones, of the type `dt`."""
        return Matrix.filled(1, dt, n, m)

    @staticmethod
    def unit(n: int, i: int, dt: object = None) -> Operand:
        """The vector of n elements that is 1 at i, counted from 0, and 0 elsewhere; of type i32 or as `dt` says.

        AdstackTypeError if there is no such element.
        """
        n = size("n", n)
        if not 0 <= i < n:
            raise AdstackTypeError(f"there is no axis {i} in {n} dimensions", do=f"use 0 to {n - 1}")
        return Matrix([int(k == i) for k in range(n)], dt)

    @staticmethod
    @takes("Matrix.field")
    def field(n: int, m: int, dtype: object, *args: object, **options: object) -> Operand:
        """A field of n x m matrices with elements of a scalar type; the other arguments as for `field`."""
        return factories().field(_sized(dtype, n, m), *args, **options)

    @staticmethod
    @takes("Matrix.ndarray")
    def ndarray(n: int, m: int, dtype: object, *args: object, **options: object) -> Operand:
        """An ndarray of n x m matrices with elements of a scalar type; the other arguments as for `ndarray`."""
        return factories().ndarray(_sized(dtype, n, m), *args, **options)

    @staticmethod
    @takes("Matrix.tensor")
    def tensor(n: int, m: int, dtype: object, *args: object, **options: object) -> Operand:
        """A tensor of n x m matrices with elements of a scalar type; the other arguments as for `tensor`."""
        return factories().tensor(_sized(dtype, n, m), *args, **options)


class Vector(Matrix):
    """A vector `Vector([1, 2, 3])`.

    Args:
        arr: the components.
        dt: type that they are converted to; by default they stay what they are.
    """

    __slots__ = ()

    @staticmethod
    @takes("Vector.field")
    def field(n: int, dtype: object, *args: object, **options: object) -> Operand:  # type: ignore[override]
        """A field of vectors of n components of a scalar type; the other arguments as for `field`."""
        return factories().field(_sized(dtype, n), *args, **options)

    @staticmethod
    @takes("Vector.ndarray")
    def ndarray(n: int, dtype: object, *args: object, **options: object) -> Operand:  # type: ignore[override]
        """An ndarray of vectors of n components of a scalar type; the other arguments as for `ndarray`."""
        return factories().ndarray(_sized(dtype, n), *args, **options)

    @staticmethod
    @takes("Vector.tensor")
    def tensor(n: int, dtype: object, *args: object, **options: object) -> Operand:  # type: ignore[override]
        """A tensor of vectors of n components of a scalar type; the other arguments as for `tensor`."""
        return factories().tensor(_sized(dtype, n), *args, **options)


def _sized(dtype: object, *shape: int) -> MatrixType:
    """The type of the elements of a field or an array, whose maker looks at the scalar type."""
    return MatrixType(tuple(size(name, extent) for name, extent in zip("nm", shape, strict=False)), dtype)


Elements.kinds.update({1: Vector, 2: Matrix})


def is_matrix(value: object) -> bool:
    """Whether `value` is a vector or matrix."""
    return isinstance(value, Elements)


def _rebuild(entries: list[Operand], shape: tuple[int, ...], dtype: TypeLike) -> Operand:
    return Elements.over(entries, shape, dtype)
