"""Singular values of square matrices and eigenvalues of symmetric ones, by Jacobi rotations.

One-sided Jacobi (M. R. Hestenes, "Inversion of matrices by biorthogonalization and related results", J. SIAM 6, 1958)
turns the columns of A, pair by pair, until they are orthogonal; two-sided Jacobi (C. G. J. Jacobi, 1846; G. H. Golub,
C. F. Van Loan, "Matrix Computations", 8.5) turns a symmetric matrix until it is diagonal. Angles stay within 45
degrees, which makes the cyclic order converge (G. E. Forsythe, P. Henrici, 1960). The number of sweeps is fixed, so
that there is no branch: a derivative goes through the rotations as they are.

Squares of elements must neither overflow nor underflow. Where two singular values or eigenvalues are equal, no
derivative of the vectors exists; there the rotation between them counts as constant.
"""

from __future__ import annotations

from typing import Final

from ...errors import AdstackTypeError
from ...ir.scalar_ops import ADD, DIV, EQ, GE, GT, LT, MUL, NEG, SUB
from ..calling import takes
from ..elements import Elements, describe
from ..functions import operate, select, sqrt
from ..kinds import Operand
from .algebra import cross, in_type, square_rows
from .operators import dot_entries

SWEEPS: Final = {2: 2, 3: 5, 4: 6, 5: 6}
"""How often every pair of columns is turned; measured so that f64 converges, whatever the matrix."""
SWEEPS_OF_LARGER: Final = 8

Column = list[Operand]


def _add(a: object, b: object) -> Operand:
    return operate(ADD, a, b)


def _sub(a: object, b: object) -> Operand:
    return operate(SUB, a, b)


def _mul(a: object, b: object) -> Operand:
    return operate(MUL, a, b)


def _div(a: object, b: object) -> Operand:
    return operate(DIV, a, b)


def rotation(alpha: object, beta: object, gamma: object) -> tuple[Operand, Operand]:
    """Cosine and sine of the angle of at most 45 degrees that diagonalises [[alpha, gamma], [gamma, beta]]."""
    swapped = operate(LT, alpha, beta)
    # Not abs: its derivative at a tie would be 0 and lose how the angle depends on alpha - beta.
    gap = select(swapped, _sub(beta, alpha), _sub(alpha, beta))
    twice = _mul(2.0, select(swapped, operate(NEG, gamma), gamma))
    square = _add(_mul(gap, gap), _mul(twice, twice))
    diagonal = operate(EQ, square, 0)
    length = sqrt(select(diagonal, 1.0, square))
    cosine = sqrt(_add(0.5, _div(_mul(0.5, select(diagonal, 1.0, gap)), length)))
    return cosine, _div(_mul(0.5, twice), _mul(length, cosine))


def _rotation(size: int, alpha: object, beta: object, gamma: object) -> tuple[Operand, Operand]:
    """The rotation of one pair of columns of a matrix of `size` columns.

    From four on there are so many sweeps that columns of rounding errors get shorter than their squares can show, which
    the rotation is computed from: the three numbers are divided by the largest.
    """
    if size < 4:
        return rotation(alpha, beta, gamma)
    largest = _largest(alpha, beta, gamma)
    scale = select(operate(EQ, largest, 0), 1.0, largest)
    return rotation(_div(alpha, scale), _div(beta, scale), _div(gamma, scale))


def _largest(*numbers: object) -> Operand:
    """The largest magnitude of some numbers."""
    largest, *others = (select(operate(LT, n, 0), operate(NEG, n), n) for n in numbers)
    for other in others:
        largest = select(operate(LT, largest, other), other, largest)
    return largest


def _turn(c: object, s: object, a: Column, b: Column) -> tuple[Column, Column]:
    first = [_add(_mul(c, x), _mul(s, y)) for x, y in zip(a, b, strict=True)]
    return first, [_sub(_mul(c, y), _mul(s, x)) for x, y in zip(a, b, strict=True)]


def _pairs(size: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(size) for j in range(i + 1, size)]


def _turns(size: int) -> list[tuple[int, int]]:
    """The pairs of columns that are turned, in order."""
    return _pairs(size) * SWEEPS.get(size, SWEEPS_OF_LARGER)


def _swap_columns(swap: object, columns: list[Column], i: int, j: int) -> None:
    """Exchange two columns where `swap` holds."""
    a, b = columns[i], columns[j]
    columns[i] = [select(swap, y, x) for x, y in zip(a, b, strict=True)]
    columns[j] = [select(swap, x, y) for x, y in zip(a, b, strict=True)]


def _sort(keys: list[Operand], *tables: list[Column]) -> None:
    """Put keys in descending order, and the columns of the tables with them."""
    last = len(keys) - 1
    for i, j in ((k, k + 1) for end in range(last, 0, -1) for k in range(end)):
        swap = operate(LT, keys[i], keys[j])
        keys[i], keys[j] = select(swap, keys[j], keys[i]), select(swap, keys[i], keys[j])
        for table in tables:
            _swap_columns(swap, table, i, j)


def _identity(size: int) -> list[Column]:
    return [[float(i == j) for i in range(size)] for j in range(size)]


def _from_columns(columns: list[Column]) -> Operand:
    return Elements.over([e for row in zip(*columns, strict=True) for e in row], (len(columns[0]), len(columns)))


def _square(what: str, matrix: object) -> list[list[Operand]]:
    rows = square_rows(what, matrix)
    if len(rows) < 2:
        raise AdstackTypeError(f"{what} is defined for matrices of at least 2x2", note=f"got {describe(matrix)}")
    return [[_mul(1.0, e) for e in row] for row in rows]


@takes("svd")
def svd(A: object, dt: object = None) -> tuple[Operand, Operand, Operand]:
    """U, S, V with `A == U @ S @ V.transpose()`: S diagonal, not negative, descending; U and V orthogonal.

    The matrix is square. All rotations are written out: the code grows with the third power of its size and more, which
    is felt from 6x6 on.

    `dt` is the type to compute in; by default the matrix's.
    """
    rows = _square("svd", in_type(A, dt))
    columns = [list(column) for column in zip(*rows, strict=True)]
    size = len(columns)
    right = _identity(size)
    for i, j in _turns(size):
        a, b = columns[i], columns[j]
        c, s = _rotation(size, dot_entries(a, a), dot_entries(b, b), dot_entries(a, b))
        columns[i], columns[j] = _turn(c, s, a, b)
        right[i], right[j] = _turn(c, s, right[i], right[j])
    squares = [dot_entries(c, c) for c in columns]
    _sort(squares, columns, right)
    left, values = _left_vectors(columns, squares[0])
    middle = [values[i] if i == j else 0.0 for i in range(size) for j in range(size)]
    return _from_columns(left), Elements.over(middle, (size, size)), _from_columns(right)


def _left_vectors(columns: list[Column], square: object) -> tuple[list[Column], list[Operand]]:
    """Orthogonal unit vectors along orthogonal columns that get shorter, and the columns' lengths.

    Of a matrix without full rank the last columns are zero, or rounding errors in any direction. So only the first
    unit vector is taken from its column as it is; the last is what remains orthogonal to the others.
    """
    left = [_unit(columns[0], square, [1.0] + [0.0] * (len(columns) - 1))]
    if len(columns) == 3:
        left.append(_second(left[0], columns[1]))
        left.append(list(cross(left[0], left[1]).entries))
    elif len(columns) == 2:
        left.append([operate(NEG, left[0][1]), left[0][0]])
    for column in columns[len(left) :]:
        left.append(_next(left, column))
    values = [dot_entries(u, c) for u, c in zip(left, columns, strict=True)]
    flips = [operate(LT, value, 0) for value in values]
    left = [[select(flip, operate(NEG, e), e) for e in u] for flip, u in zip(flips, left, strict=True)]
    return left, [select(flip, operate(NEG, v), v) for flip, v in zip(flips, values, strict=True)]


def _unit(vector: Column, square: object, instead: Column) -> Column:
    """The vector over the root of `square`, or another one where that is 0."""
    empty = operate(EQ, square, 0)
    length = sqrt(select(empty, 1.0, square))
    return [select(empty, other, _div(e, length)) for e, other in zip(vector, instead, strict=True)]


def _second(first: Column, column: Column) -> Column:
    """A unit vector orthogonal to the unit vector `first`, along `column` if that points there at all."""
    along = dot_entries(first, column)
    rest = [_sub(e, _mul(along, u)) for e, u in zip(column, first, strict=True)]
    square = dot_entries(rest, rest)
    # A column that was mostly along the first was a rounding error: what is left of it has no direction.
    meant = operate(GE, square, _mul(along, along))
    return _unit(rest, select(meant, square, 0.0), _any_orthogonal(first))


def _next(before: list[Column], column: Column) -> Column:
    """A unit vector orthogonal to those before, along `column` if that points there at all: Gram and Schmidt, twice."""
    rest = _without(before, _without(before, column))
    square = dot_entries(rest, rest)
    meant = operate(GE, _mul(2.0, square), dot_entries(column, column))
    return _unit(rest, select(meant, square, 0.0), _farthest_axis(before))


def _without(directions: list[Column], column: Column) -> Column:
    for u in directions:
        along = dot_entries(u, column)
        column = [_sub(e, _mul(along, x)) for e, x in zip(column, u, strict=True)]
    return column


def _farthest_axis(before: list[Column]) -> Column:
    """A unit vector: the axis that leans least to the unit vectors `before`, without its parts along them."""
    size = len(before[0])
    leanings = [dot_entries(entries, entries) for entries in ([u[k] for u in before] for k in range(size))]
    least, chosen = leanings[0], [float(k == 0) for k in range(size)]
    for k in range(1, size):
        closer = operate(LT, leanings[k], least)
        least = select(closer, leanings[k], least)
        chosen = [select(closer, float(k == n), e) for n, e in enumerate(chosen)]
    rest = _without(before, chosen)
    length = sqrt(dot_entries(rest, rest))
    return [_div(e, length) for e in rest]


def _any_orthogonal(u: Column) -> Column:
    """A unit vector orthogonal to a unit 3-vector: the cross product with the axis x, or y if u leans to x."""
    leaning = operate(GT, _mul(u[0], u[0]), 0.5)
    with_x = [0.0, u[2], operate(NEG, u[1])]
    with_y = [operate(NEG, u[2]), 0.0, u[0]]
    chosen = [select(leaning, y, x) for x, y in zip(with_x, with_y, strict=True)]
    length = sqrt(dot_entries(chosen, chosen))
    return [_div(e, length) for e in chosen]


@takes("sym_eig")
def sym_eig(A: object, dt: object = None) -> tuple[Operand, Operand]:
    """Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix; only its upper triangle is read.

    `dt` is the type to compute in; by default the matrix's.
    """
    upper = _square("sym_eig", in_type(A, dt))
    size = len(upper)
    rows = [[upper[min(i, j)][max(i, j)] for j in range(size)] for i in range(size)]
    vectors = _identity(size)
    for i, j in _turns(size):
        c, s = _rotation(size, rows[i][i], rows[j][j], rows[i][j])
        rows[i], rows[j] = _turn(c, s, rows[i], rows[j])
        turned = [list(column) for column in zip(*rows, strict=True)]
        turned[i], turned[j] = _turn(c, s, turned[i], turned[j])
        rows = turned
        vectors[i], vectors[j] = _turn(c, s, vectors[i], vectors[j])
    values = [rows[k][k] for k in range(size)]
    _sort(values, vectors)
    return Elements.over(values[::-1], (size,)), _from_columns(vectors[::-1])
