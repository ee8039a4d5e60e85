"""Eigenvalues and eigenvectors of square matrices, real or complex.

Those of 2x2 matrices have formulas. Beyond, the Schur form (`schur.py`) gives eigenvalues, and vectors by substitution
(G. H. Golub, C. F. Van Loan, "Matrix Computations", 7.5 and 7.6). No derivative passes through the steps that lead
there: `refining.py` gives the results their derivatives.

Squares of elements must neither overflow nor underflow.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from ...errors import AdstackTypeError
from ...ir.scalar_ops import ADD, DIV, EQ, GE, GT, LE, LT, MUL, NE, NEG, SUB
from ..calling import takes
from ..elements import Elements, describe
from ..functions import abs_, operate, select, sqrt
from ..kinds import Operand
from ..protocol import is_expr
from .algebra import in_type, square_rows
from .elimination import solution
from .refining import Complex, Spectrum, conjugate, constant, difference, product, quotient, refined, square_of, total
from .schur import Rows, like, real_schur

__all__ = ["eig"]

_FRACTION_BITS: Final = {16: 10, 32: 23, 64: 52}
"""Bits of a float type -> bits of its fraction."""


@takes("eig")
def eig(A: object, dt: object = None) -> tuple[Operand, Operand]:
    """Eigenvalues and eigenvectors of a square matrix of real numbers, from 2x2 on; they may be complex.

    The first result has one row (real part, imaginary part) per eigenvalue, in descending order of real parts, those
    with equal ones in descending order of imaginary parts. The second has one column per unit eigenvector: real and
    imaginary part of its first component, then of its second, and so on. From 3x3 on, its component of largest
    magnitude, the first of equal ones, is real and positive. `dt` is the type to compute in; by default the matrix's.

    Both have derivatives where no two eigenvalues are equal. Where vectors are not independent, those of eigenvalues
    are not finite; where equal eigenvalues have independent vectors, these count as constant to each other.

    Raises:
        AdstackTypeError: the matrix is not square, or 1x1.
    """
    rows = square_rows("eig", in_type(A, dt))
    if len(rows) < 2:
        raise AdstackTypeError("eig is defined for matrices of at least 2x2", note=f"got {describe(A)}")
    rows = [[operate(MUL, 1.0, e) for e in row] for row in rows]
    return _of_plane(rows) if len(rows) == 2 else _of_space(rows)


def _of_plane(rows: Rows) -> tuple[Operand, Operand]:
    (a, b), (c, d) = rows
    values = _plane_values(a, b, c, d)
    first = _eigenvector(a, b, c, d, *values[0], 0)
    second = _eigenvector(a, b, c, d, *values[1], 1)
    return Elements.over([part for value in values for part in value], (2, 2)), Elements.over(
        [e for pair in zip(first, second, strict=True) for e in pair], (4, 2)
    )


def _plane_values(a: Operand, b: Operand, c: Operand, d: Operand) -> tuple[Complex, Complex]:
    """The eigenvalues of [[a, b], [c, d]]."""
    half = 0.5 * (a - d)
    inside = half * half + b * c
    real = operate(GE, inside, 0)
    root = sqrt(select(real, inside, operate(NEG, inside)))
    middle = 0.5 * (a + d)
    spread, turn = select(real, root, 0.0), select(real, 0.0, root)
    return (middle + spread, turn), (middle - spread, operate(NEG, turn))


def _eigenvector(a: object, b: object, c: object, d: object, re: object, im: object, which: int) -> list[Operand]:
    """A unit vector v with (A - (re + i im)) v == 0: of (re + i im - d, c) and (b, re + i im - a) the longer one."""
    first = [operate(SUB, re, d), im, c, 0.0]
    second = [b, 0.0, operate(SUB, re, a), im]
    lengths = [Elements.over(v, (4,)).norm_sqr() for v in (first, second)]
    longer = [select(operate(GE, lengths[0], lengths[1]), x, y) for x, y in zip(first, second, strict=True)]
    square = Elements.over(longer, (4,)).norm_sqr()
    scalar = operate(EQ, square, 0)
    length = sqrt(select(scalar, 1.0, square))
    axis = [float(k == 2 * which) for k in range(4)]
    return [select(scalar, unit, operate(DIV, e, length)) for unit, e in zip(axis, longer, strict=True)]


# ---- from 3x3 on


def _of_space(rows: Rows) -> tuple[Operand, Operand]:
    size, rows = len(rows), _of_one_type(rows)
    fixed = [[constant(e) for e in row] for row in rows]
    table, turns, settled = real_schur(fixed)
    schur = _Schur(table, turns, _block_values(table))
    vectors = _eigenvectors(schur, _epsilon(rows[0][0]))
    inverse = _left_vectors(schur.values, vectors)
    epsilon = _epsilon(rows[0][0])
    largest = _largest([part for row in inverse for number in row for part in number])
    independent = settled & operate(LT, 8.0 * size * epsilon * largest, 1.0)
    left = [[(select(independent, re, 0.0), select(independent, im, 0.0)) for re, im in row] for row in inverse]
    spectrum = refined(rows, _sorted(Spectrum(schur.values, vectors, left)), epsilon)
    unsound = select(independent, 0.0, _steep(rows))
    columns = [_normalized(column, value) for column, value in zip(spectrum.vectors, spectrum.values, strict=True)]
    numbers = [select(settled, part + unsound, math.nan) for value in spectrum.values for part in value]
    entries = [column[i][part] + unsound for i in range(size) for part in (0, 1) for column in columns]
    return Elements.over(numbers, (size, 2)), Elements.over(entries, (2 * size, size))


class _Schur(NamedTuple):
    """A Schur form with its orthogonal matrix, and the eigenvalues of its blocks, in their order."""

    table: Rows
    turns: Rows
    values: list[Complex]


def _of_one_type(rows: Rows) -> Rows:
    """The rows with plain numbers in the type of the others."""
    typed = next((e for row in rows for e in row if is_expr(e)), 0.0)
    return [[e if is_expr(e) else like(typed, e) for e in row] for row in rows]


def _epsilon(number: Operand) -> float:
    """The distance from 1 to the next number of its type."""
    return 2.0 ** -_FRACTION_BITS[number.dtype.bits if is_expr(number) else 64]


def _largest(numbers: list[Operand]) -> Operand:
    """The largest magnitude; NaN if one of the numbers is not finite."""
    largest: Operand = abs_(numbers[0])
    for number in numbers[1:]:
        larger = operate(LT, largest, abs_(number))
        largest = select(larger, abs_(number), largest)
    unknown = operate(MUL, 0.0, numbers[0])
    for number in numbers[1:]:
        unknown = operate(ADD, unknown, operate(MUL, 0.0, number))
    return operate(ADD, largest, unknown)


def _steep(rows: Rows) -> Operand:
    """0, whose derivative by every element is infinite."""
    together = rows[0][0]
    for e in [e for row in rows for e in row][1:]:
        together = operate(ADD, together, e)
    return sqrt(operate(SUB, together, constant(together)))


def _block_values(table: Rows) -> list[Complex]:
    """The eigenvalues of the blocks on the diagonal, each of one row or two."""
    size = len(table)
    values: list[Complex] = [(table[k][k], like(table[k][k], 0)) for k in range(size)]
    for k in range(size - 1):
        (a, b), (c, d) = table[k][k : k + 2], table[k + 1][k : k + 2]
        block = operate(NE, c, 0)
        for at, (re, im) in zip((k, k + 1), _plane_values(a, b, c, d), strict=True):
            values[at] = select(block, re, values[at][0]), select(block, im, values[at][1])
    return values


def _triangular(schur: _Schur) -> tuple[list[list[Complex]], list[list[Complex]]]:
    """S, Z with `Z @ S @ Z^H` the matrix, S triangular and Z unitary: each block of two rows is turned."""
    table, size = schur.table, len(schur.table)
    zero = like(table[0][0], 0)
    upper: list[list[Complex]] = [[(e, zero) for e in row] for row in table]
    turns: list[list[Complex]] = [[(e, zero) for e in row] for row in schur.turns]
    for k in range(size - 1):
        cosine, sine = _turn(table[k][k : k + 2], table[k + 1][k : k + 2], schur.values[k])
        above, under = upper[k], upper[k + 1]
        upper[k] = [_mixed(conjugate(cosine), a, sine, b) for a, b in zip(above, under, strict=True)]
        upper[k + 1] = [_mixed(cosine, b, -sine, a) for a, b in zip(above, under, strict=True)]
        for row in (*upper, *turns):
            row[k], row[k + 1] = (
                _mixed(cosine, row[k], sine, row[k + 1]),
                _mixed(conjugate(cosine), row[k + 1], -sine, row[k]),
            )
    return upper, turns


def _turn(upper: list[Operand], lower: list[Operand], value: Complex) -> tuple[Complex, Operand]:
    """The unit eigenvector of a block, its second component real; (1, 0) where the block is triangular already."""
    (a, b), (c, d), (re, im) = upper, lower, value
    first, second = (re - d, im), (b, like(b, 0))
    longer = square_of(second) + (re - a) * (re - a)
    other = operate(EQ, im, 0) & operate(LT, square_of(first) + c * c, longer)
    along, below = _chosen(other, [second], [first])[0], select(other, re - a, c)
    block = operate(NE, c, 0)
    length = sqrt(select(block, square_of(along) + below * below, 1.0))
    cosine = select(block, operate(DIV, along[0], length), 1.0), select(block, operate(DIV, along[1], length), 0.0)
    return cosine, select(block, operate(DIV, below, length), 0.0)


def _mixed(cosine: Complex, a: Complex, sine: Operand, b: Complex) -> Complex:
    """cosine * a + sine * b, with a real sine."""
    re, im = product(cosine, a)
    return re + sine * b[0], im + sine * b[1]


def _eigenvectors(schur: _Schur, epsilon: float) -> list[list[Complex]]:
    """The normalized eigenvectors, by substitution in the triangular form."""
    size, values = len(schur.values), schur.values
    upper, turns = _triangular(schur)
    norm = _largest([e for row in schur.table for e in row])
    least = select(operate(EQ, norm, 0), 1.0, epsilon * norm)
    vectors: list[list[Complex]] = []
    for k in range(size):
        parts = _substituted(upper, values, k, least)
        vector = [total([product(turns[i][j], parts[j]) for j in range(k + 1)]) for i in range(size)]
        if k:  # the second one of a pair
            second = operate(LT, values[k][1], 0)
            vector = [
                (select(second, a[0], b[0]), select(second, operate(NEG, a[1]), b[1]))
                for a, b in zip(vectors[k - 1], vector, strict=True)
            ]
        vectors.append(_normalized(vector, values[k]))
    return vectors


def _substituted(upper: list[list[Complex]], values: list[Complex], k: int, least: Operand) -> list[Complex]:
    """y with (S - the k-th eigenvalue) y == 0, its components after the k-th being 0.

    What would be divided by less than `least` is divided by that. The components are kept from growing too large.
    """
    one = like(values[k][0], 1)
    parts: list[Complex] = [(one, like(one, 0))]
    for i in reversed(range(k)):
        along = total([product(upper[i][i + 1 + n], part) for n, part in enumerate(parts)])
        gap = difference(values[k], values[i])
        equal = operate(LE, square_of(gap), least * least)
        component = quotient(along, (select(equal, least, gap[0]), select(equal, 0.0, gap[1])))
        parts = [component, *parts]
        size = abs_(component[0]) + abs_(component[1])
        scale = select(operate(LT, size, 1.0), 1.0, size)
        parts = [(operate(DIV, re, scale), operate(DIV, im, scale)) for re, im in parts]
    return parts


def _normalized(vector: list[Complex], value: Complex) -> list[Complex]:
    """The unit vector along this one whose component of largest magnitude is positive; real for a real eigenvalue."""
    lead, square = vector[0], square_of(vector[0])
    for number in vector[1:]:
        larger = operate(LT, square, square_of(number))
        lead = select(larger, number[0], lead[0]), select(larger, number[1], lead[1])
        square = select(larger, square_of(number), square)
    turned = [product(number, conjugate(lead)) for number in vector]
    together = square_of(turned[0])
    for number in turned[1:]:
        together = together + square_of(number)
    length, real = sqrt(together), operate(EQ, value[1], 0)
    return [(operate(DIV, re, length), select(real, 0.0, operate(DIV, im, length))) for re, im in turned]


def _left_vectors(values: list[Complex], vectors: list[list[Complex]]) -> list[list[Complex]]:
    """The rows of the inverse of the matrix of eigenvectors.

    Real and imaginary parts of one vector of a pair are a real basis; its inverse, r and s, gives (r - i s) / 2.
    """
    size = len(values)
    columns: list[list[Operand]] = []
    for k, (_, im) in enumerate(values):
        second = operate(LT, im, 0)
        partner = vectors[k - 1] if k else vectors[k]
        columns.append([select(second, b[1], a[0]) for a, b in zip(vectors[k], partner, strict=True)])
    real = solution(
        [list(row) for row in zip(*columns, strict=True)], [[float(i == j) for j in range(size)] for i in range(size)]
    )
    left: list[list[Complex]] = []
    for k, (_, im) in enumerate(values):
        first, second = operate(GT, im, 0), operate(LT, im, 0)
        after, before = real[min(k + 1, size - 1)], real[max(k - 1, 0)]
        row = []
        for mine, following, preceding in zip(real[k], after, before, strict=True):
            re = select(first, 0.5 * mine, select(second, 0.5 * preceding, mine))
            row.append((re, select(first, -0.5 * following, select(second, 0.5 * mine, 0.0))))
        left.append(row)
    return left


def _sorted(spectrum: Spectrum) -> Spectrum:
    """The same in descending order of real parts, then of imaginary parts."""
    values, vectors, left = list(spectrum.values), list(spectrum.vectors), list(spectrum.left)
    last = len(values) - 1
    for i in (k for end in range(last, 0, -1) for k in range(end)):
        (re, im), (other_re, other_im) = values[i], values[i + 1]
        swap = operate(LT, re, other_re) | (operate(EQ, re, other_re) & operate(LT, im, other_im))
        (values[i],), (values[i + 1],) = _exchanged(swap, [values[i]], [values[i + 1]])
        for table in (vectors, left):
            table[i], table[i + 1] = _exchanged(swap, table[i], table[i + 1])
    return Spectrum(values, vectors, left)


def _exchanged(swap: Operand, a: list[Complex], b: list[Complex]) -> tuple[list[Complex], list[Complex]]:
    """b and a where `swap` holds, else a and b."""
    return _chosen(swap, b, a), _chosen(swap, a, b)


def _chosen(condition: Operand, a: list[Complex], b: list[Complex]) -> list[Complex]:
    return [(select(condition, x[0], y[0]), select(condition, x[1], y[1])) for x, y in zip(a, b, strict=True)]
