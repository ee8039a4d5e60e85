"""Derivatives of eigenvalues and eigenvectors that are known as constants.

Newton's method on A V = V L, for all eigenvalues L and vectors V at once: with W the inverse of V and the residual
R = A V - V L, the eigenvalues change by the diagonal of W R and the vectors by V E, with E = (W R) / (l_k - l_j) beside
the diagonal (G. W. Stewart, J. Sun, "Matrix Perturbation Theory", V.2). The error is squared by a step, and so are
powers of changes of A: after two steps the derivatives up to the third are right. The numbers stay what they were, but
for their derivatives: what is added is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from ...ir.scalar_ops import DIV, LE, LT
from ...ir.types import by_name
from ..functions import bit_cast, operate, select
from ..kinds import Operand
from ..protocol import is_expr

__all__ = [
    "Complex",
    "Spectrum",
    "conjugate",
    "constant",
    "difference",
    "product",
    "quotient",
    "refined",
    "square_of",
    "total",
]

Complex = tuple[Operand, Operand]
"""Real and imaginary part."""
Rows = list[list[Operand]]

STEPS = 2


class Spectrum(NamedTuple):
    """Eigenvalues, their vectors, and their left vectors: the rows of the inverse of the matrix of vectors."""

    values: list[Complex]
    vectors: list[list[Complex]]
    left: list[list[Complex]]


def constant(x: Operand) -> Operand:
    """The same number, as one that no derivative passes through: integers, here its bits, have none."""
    return bit_cast(bit_cast(x, by_name(f"i{x.dtype.bits}")), x.dtype) if is_expr(x) else x


def product(a: Complex, b: Complex) -> Complex:
    """a * b."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def difference(a: Complex, b: Complex) -> Complex:
    """a - b."""
    return a[0] - b[0], a[1] - b[1]


def conjugate(a: Complex) -> Complex:
    """The number with its imaginary part turned round."""
    return a[0], -a[1]


def square_of(a: Complex) -> Operand:
    """The square of the magnitude."""
    return a[0] * a[0] + a[1] * a[1]


def quotient(a: Complex, b: Complex) -> Complex:
    """a / b."""
    re, im = product(a, conjugate(b))
    square = square_of(b)
    return operate(DIV, re, square), operate(DIV, im, square)


def total(numbers: list[Complex]) -> Complex:
    """The sum, from the left."""
    re, im = numbers[0]
    for more in numbers[1:]:
        re, im = re + more[0], im + more[1]
    return re, im


def _change(a: Complex) -> Complex:
    """0, with the derivative of a."""
    return a[0] - constant(a[0]), a[1] - constant(a[1])


def refined(rows: Rows, spectrum: Spectrum, epsilon: float) -> Spectrum:
    """The spectrum of a matrix with its derivatives.

    Args:
        rows: of the matrix.
        spectrum: constants.
        epsilon: the distance from 1 to the next number. Eigenvalues that differ by less of the largest one are equal.
    """
    for _ in range(STEPS):
        spectrum = _step(rows, spectrum, epsilon)
    return spectrum


def _step(rows: Rows, spectrum: Spectrum, epsilon: float) -> Spectrum:
    values, vectors, left = spectrum
    residuals = [_residual(rows, value, vector) for value, vector in zip(values, vectors, strict=True)]
    changes = [[total([product(a, b) for a, b in zip(row, r, strict=True)]) for r in residuals] for row in left]
    changed = [(v[0] + d[0], v[1] + d[1]) for v, d in ((v, changes[k][k]) for k, v in enumerate(values))]
    close = _closeness(values, epsilon)
    mixing = [[_mixing(changes[j][k], values, j, k, close) for k in range(len(values))] for j in range(len(values))]
    return Spectrum(changed, _mixed_vectors(vectors, mixing), _mixed_left(left, mixing))


def _residual(rows: Rows, value: Complex, vector: list[Complex]) -> list[Complex]:
    """A v - l v, of which only the change counts."""
    residual = []
    for row, number in zip(rows, vector, strict=True):
        image = total([(a * v[0], a * v[1]) for a, v in zip(row, vector, strict=True)])
        residual.append(_change(difference(image, product(value, number))))
    return residual


def _closeness(values: list[Complex], epsilon: float) -> Operand:
    """The square of the distance up to which eigenvalues count as equal."""
    largest = square_of(values[0])
    for value in values[1:]:
        square = square_of(value)
        largest = select(operate(LT, largest, square), square, largest)
    return constant(largest) * (epsilon * epsilon)


def _mixing(change: Complex, values: list[Complex], j: int, k: int, close: Operand) -> Complex | None:
    """How much of vector j changes vector k; None on the diagonal."""
    if j == k:
        return None
    gap = difference(values[k], values[j])
    equal = operate(LE, square_of(gap), close)
    re, im = quotient(change, (select(equal, 1.0, gap[0]), select(equal, 0.0, gap[1])))
    return select(equal, 0.0, re), select(equal, 0.0, im)


def _mixed_vectors(vectors: list[list[Complex]], mixing: list[list[Complex | None]]) -> list[list[Complex]]:
    """V + V E, by columns."""
    out = []
    for k, vector in enumerate(vectors):
        shares = [(other, row[k]) for other, row in zip(vectors, mixing, strict=True)]
        mixed = [(other, share) for other, share in shares if share is not None]
        out.append([total([e, *(product(other[i], share) for other, share in mixed)]) for i, e in enumerate(vector)])
    return out


def _mixed_left(left: list[list[Complex]], mixing: list[list[Complex | None]]) -> list[list[Complex]]:
    """W - E W, by rows."""
    out = []
    for row, shares in zip(left, mixing, strict=True):
        mixed = [(other, share) for other, share in zip(left, shares, strict=True) if share is not None]
        parts = [total([product(other[i], share) for other, share in mixed]) for i in range(len(row))]
        out.append([difference(e, part) for e, part in zip(row, parts, strict=True)])
    return out
