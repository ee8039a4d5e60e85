"""Matrices of any size: elimination with partial pivoting, and the factor of Cholesky.

Gaussian elimination brings the largest element of each column, by magnitude, to the diagonal, and the algorithm of
Cholesky and Banachiewicz goes row by row (G. H. Golub, C. F. Van Loan, "Matrix Computations", 3.4 and 4.2). Loops are
unrolled, about n**3 operations, and rows are exchanged by `select`: there is no branch, and a derivative goes through
the elimination as it is. Which row is exchanged has no derivative, and needs none: the result does not depend on it.
"""

from __future__ import annotations

from ...ir.scalar_ops import DIV, LT, MUL, NEG, SUB
from ..functions import abs_, operate, select, sqrt
from ..kinds import Operand

__all__ = ["cholesky_of", "determinant_by_elimination", "solution"]

Rows = list[list[Operand]]


def _real(rows: Rows) -> Rows:
    """The rows with integers as real numbers of the default type, as `/` gives them."""
    return [[operate(DIV, e, 1) for e in row] for row in rows]


def _less(a: object, b: object, c: object) -> Operand:
    """a - b * c."""
    return operate(SUB, a, operate(MUL, b, c))


def _bring_largest_up(rows: Rows, k: int, sign: object) -> Operand:
    """Exchange row k with rows below until its element of column k is the largest; `sign` turns with each exchange."""
    for i in range(k + 1, len(rows)):
        larger = operate(LT, abs_(rows[k][k]), abs_(rows[i][k]))
        upper, lower = rows[k], rows[i]
        rows[k] = upper[:k] + [select(larger, b, a) for a, b in zip(upper[k:], lower[k:], strict=True)]
        rows[i] = lower[:k] + [select(larger, a, b) for a, b in zip(upper[k:], lower[k:], strict=True)]
        sign = select(larger, operate(NEG, sign), sign)
    return sign


def _triangular(rows: Rows) -> tuple[Rows, Operand]:
    """Rows whose left square is upper triangular, where it is read, and the sign of the exchanges of rows."""
    rows, sign = _real(rows), 1.0
    for k in range(len(rows)):
        sign = _bring_largest_up(rows, k, sign)
        for i in range(k + 1, len(rows)):
            factor = operate(DIV, rows[i][k], rows[k][k])
            pairs = zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)
            rows[i] = [*rows[i][: k + 1], *(_less(a, factor, b) for a, b in pairs)]
    return rows, sign


def determinant_by_elimination(rows: Rows) -> Operand:
    """The product of the pivots."""
    rows, product = _triangular(rows)
    for k, row in enumerate(rows):
        product = operate(MUL, product, row[k])
    return product


def solution(rows: Rows, right: Rows) -> Rows:
    """The rows of x with `rows @ x == right`; infinities and NaN where the matrix is singular."""
    size = len(rows)
    rows, _ = _triangular([[*row, *others] for row, others in zip(rows, right, strict=True)])
    solved: Rows = [[] for _ in rows]
    for i in reversed(range(size)):
        entries = rows[i][size:]
        for j in range(i + 1, size):
            entries = [_less(e, rows[i][j], x) for e, x in zip(entries, solved[j], strict=True)]
        solved[i] = [operate(DIV, e, rows[i][i]) for e in entries]
    return solved


def cholesky_of(rows: Rows) -> Rows:
    """The rows of the lower triangular L with `L @ L.transpose()` the matrix, of which the lower half is read."""
    rows = _real(rows)
    size = len(rows)
    factor: Rows = [[0.0] * size for _ in rows]
    for i in range(size):
        for j in range(i + 1):
            rest = rows[i][j]
            for k in range(j):
                rest = _less(rest, factor[i][k], factor[j][k])
            factor[i][j] = sqrt(rest) if i == j else operate(DIV, rest, factor[j][j])
    return factor
