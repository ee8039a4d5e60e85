"""Polar decomposition."""

from __future__ import annotations

from typing import Final

from ...errors import AdstackTypeError
from ...ir.scalar_ops import ADD, DIV, EQ, GE, MUL, NEG, SUB
from ..calling import takes
from ..elements import Elements, describe
from ..functions import operate, select, sqrt
from ..kinds import Operand
from .algebra import in_type, square_rows
from .linear import inverse

NEWTON_STEPS: Final = 10
"""With scaling, 9 steps reach f64 accuracy for condition numbers up to 1e16 (R. Byers, H. Xu, 2008)."""


@takes("polar_decompose")
def polar_decompose(A: object, dt: object = None) -> tuple[Operand, Operand]:
    """R, P with `A == R @ P`: R orthogonal, P symmetric with eigenvalues not below 0.

    An invertible square matrix has exactly one; its R turns without reflecting if the determinant is positive, and
    depends smoothly on the matrix, also at the identity. A matrix from 3x3 on that is not invertible gives NaN. All
    steps are written out: the code grows with the third power of the size, which is felt in compiling from 5x5 on.

    `dt` is the type to compute in; by default the matrix's.

    Raises:
        AdstackTypeError: the matrix is not square, or 1x1.
    """
    rows = square_rows("polar_decompose", in_type(A, dt))
    if len(rows) < 2:
        raise AdstackTypeError("polar_decompose is defined for matrices of at least 2x2", note=f"got {describe(A)}")
    original = Elements.over([operate(MUL, 1.0, e) for row in rows for e in row], (len(rows), len(rows)))
    turned = _closest_2x2(original) if len(rows) == 2 else _closest(original)
    stretch = turned.transpose() @ original
    return turned, operate(MUL, 0.5, operate(ADD, stretch, stretch.transpose()))


def _closest_2x2(matrix: Operand) -> Operand:
    """The orthogonal matrix closest to a 2x2 matrix; the identity for zero.

    A matrix is a multiple of a rotation plus a multiple of a reflection; the larger part decides, and it is the
    rotation exactly if the determinant is positive.
    """
    a, b, c, d = matrix.entries
    turning = operate(GE, operate(MUL, a, d), operate(MUL, b, c))
    x = select(turning, operate(ADD, a, d), operate(SUB, a, d))
    y = select(turning, operate(SUB, c, b), operate(ADD, c, b))
    square = operate(ADD, operate(MUL, x, x), operate(MUL, y, y))
    zero = operate(EQ, square, 0)
    length = sqrt(select(zero, 1.0, square))
    cosine = operate(DIV, select(zero, 1.0, x), length)
    sine = operate(DIV, y, length)
    upper = select(turning, operate(NEG, sine), sine)
    lower = select(turning, cosine, operate(NEG, cosine))
    return Elements.over([cosine, upper, sine, lower], (2, 2))


def _closest(matrix: Operand) -> Operand:
    """The orthogonal matrix closest to an invertible matrix, by Newton's iteration.

    X becomes the mean of s X and the inverse of (s X) transposed, s chosen so that both have the same Frobenius norm:
    N. J. Higham, "Computing the polar decomposition - with applications", SIAM J. Sci. Stat. Comput. 7, 1986.
    """
    for _ in range(NEWTON_STEPS):
        opposite = inverse(matrix).transpose()
        ratio = operate(DIV, opposite.norm_sqr(), matrix.norm_sqr())
        scale = sqrt(sqrt(ratio))
        matrix = 0.5 * (scale * matrix + opposite / scale)
    return matrix
