"""Determinant, inverse, linear systems and the factor of Cholesky.

Up to 4x4 determinants and inverses are closed forms, beyond they come from `elimination`. Neither has branches, so that
they vectorise and differentiate as they stand.
"""

from __future__ import annotations

from ...errors import AdstackTypeError
from ...ir.scalar_ops import ADD, DIV, MUL, NEG, SUB
from ..calling import methods_take, takes
from ..elements import Elements, as_elements, describe
from ..functions import operate
from ..kinds import Operand
from .algebra import Algebra, in_type, square_rows
from .elimination import cholesky_of, determinant_by_elimination, solution
from .operators import matmul

Rows = list[list[Operand]]
LARGEST = 4
"""The most rows of matrices with closed forms: beyond them expansion takes more operations than elimination."""


def _mul(a: object, b: object) -> Operand:
    return operate(MUL, a, b)


def _minor_rows(rows: Rows, i: int, j: int) -> Rows:
    return [[e for column, e in enumerate(row) if column != j] for line, row in enumerate(rows) if line != i]


def _alternating_sum(terms: list[Operand]) -> Operand:
    total = terms[0]
    for k, term in enumerate(terms[1:], 1):
        total = operate(SUB if k % 2 else ADD, total, term)
    return total


def determinant_of(rows: Rows) -> Operand:
    """The determinant of a square matrix, given by its `rows`, by expansion along the first one."""
    if len(rows) == 1:
        return rows[0][0]
    return _alternating_sum([_mul(e, determinant_of(_minor_rows(rows, 0, j))) for j, e in enumerate(rows[0])])


def _cofactor(rows: Rows, i: int, j: int) -> Operand:
    minor = determinant_of(_minor_rows(rows, i, j)) if len(rows) > 1 else 1
    return operate(NEG, minor) if (i + j) % 2 else minor


@takes("determinant")
def determinant(m: object) -> Operand:
    """The determinant of a square matrix, by expansion; of more than 4x4 elements the product of the pivots, a real.

    AdstackTypeError if `m` is no square matrix.
    """
    rows = square_rows("determinant", m)
    return determinant_of(rows) if len(rows) <= LARGEST else determinant_by_elimination(rows)


@takes("inverse")
def inverse(mat: object) -> Operand:
    """The inverse of a square matrix: the transposed cofactors over the determinant, or by elimination beyond 4x4.

    Infinities and NaN where the matrix is singular.
    """
    rows = square_rows("inverse", mat)
    size = len(rows)
    if size > LARGEST:
        return _matrix(solution(rows, [[float(i == j) for j in range(size)] for i in range(size)]))
    cofactors = [[_cofactor(rows, i, j) for j in range(size)] for i in range(size)]
    scale = operate(DIV, 1, dot(rows[0], cofactors[0]))
    return Elements.over([_mul(scale, cofactors[j][i]) for i in range(size) for j in range(size)], (size, size))


def dot(left: list[Operand], right: list[Operand]) -> Operand:
    """The sum of products, from the left."""
    total = _mul(left[0], right[0])
    for a, b in zip(left[1:], right[1:], strict=True):
        total = operate(ADD, total, _mul(a, b))
    return total


@takes("solve")
def solve(A: Operand, b: Operand, dt: object = None) -> Operand:
    """x with `A @ x == b`, for a square matrix and a vector or matrix on the right: `inverse(A) @ b`.

    Beyond 4x4 it is found by elimination, which is more exact than the product. `dt` is the type to compute in; by
    default that of the operands. AdstackTypeError where rows differ.
    """
    matrix, right = as_elements(in_type(A, dt)), as_elements(in_type(b, dt))
    rows = square_rows("solve", matrix)
    if not isinstance(right, Elements) or right.n != matrix.n:
        raise AdstackTypeError(
            "the right side of solve must have as many rows as the matrix",
            note=f"got {describe(matrix)} and {describe(right)}",
            do="give one number for each row",
        )
    if len(rows) <= LARGEST:
        return matmul(inverse(matrix), right)
    solved = solution(rows, right.rows_of_entries())
    return Elements.over([e for row in solved for e in row], right.shape)


@takes("cholesky")
def cholesky(value: object) -> Operand:
    """The lower triangular L with `L @ L.transpose()` the symmetric, positive definite matrix `value`, of any size.

    The lower half of the matrix is read, and has the derivative. Of other matrices L has NaN.
    """
    return _matrix(cholesky_of(square_rows("cholesky", value)))


def _matrix(rows: Rows) -> Operand:
    return Elements.over([e for row in rows for e in row], (len(rows), len(rows)))


@methods_take
class Linear(Algebra):
    """Methods of square matrices."""

    __slots__ = ()

    def determinant(self) -> Operand:
        """The determinant of a square matrix."""
        return determinant(self)

    def inverse(self) -> Operand:
        """The inverse of a square matrix."""
        return inverse(self)
