"""Derivatives go through norms and decompositions as they are composed, also at the points that programs start from.

Dual numbers (value, derivative) take the place of runtime values; each rule below is that of the language. What a
decomposition's derivative must be follows from differentiating its definition.
"""

import math

import numpy as np
import pytest
from roundings_kit import bound_of

from adstack.ir.scalar_ops import SELECT, SQRT
from adstack.values.matrices.matrix import Matrix, Vector, polar_decompose, svd, sym_eig


class Dual:
    """A number and its derivative along one direction; comparisons compare the numbers."""

    dtype = None

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __adstack_emit__(self, row, args, /):
        if row is SELECT:
            condition, a, b = args
            return dual(a if condition else b)
        (x,) = args
        assert row is SQRT
        root = math.sqrt(x.value)
        return Dual(root, x.slope / (2 * root) if root else math.inf * x.slope)

    def __add__(self, other):
        return Dual(self.value + dual(other).value, self.slope + dual(other).slope)

    def __sub__(self, other):
        return Dual(self.value - dual(other).value, self.slope - dual(other).slope)

    def __rsub__(self, other):
        return dual(other) - self

    def __mul__(self, other):
        if isinstance(other, Matrix):
            return NotImplemented
        o = dual(other)
        return Dual(self.value * o.value, self.slope * o.value + self.value * o.slope)

    def __truediv__(self, other):
        o = dual(other)
        quotient = self.value / o.value
        return Dual(quotient, (self.slope - quotient * o.slope) / o.value)

    def __rtruediv__(self, other):
        return dual(other) / self

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __lt__(self, other):
        return self.value < dual(other).value

    def __gt__(self, other):
        return self.value > dual(other).value

    def __ge__(self, other):
        return self.value >= dual(other).value

    def __eq__(self, other):
        return self.value == dual(other).value

    __hash__ = None
    __radd__, __rmul__ = __add__, __mul__


def dual(x):
    return x if isinstance(x, Dual) else Dual(float(x))


def split(matrix):
    """The values and the derivatives of a decomposition's result, as numpy arrays."""
    entries = [dual(e) for e in matrix.entries]
    return [np.reshape([getattr(e, part) for e in entries], matrix.shape) for part in ("value", "slope")]


def along(a, direction):
    return Matrix([[Dual(x, d) for x, d in zip(*rows, strict=True)] for rows in zip(a, direction, strict=True)])


POINTS = {
    "two": [[2.0, 0.5], [-0.25, 1.0]],
    "two, symmetric": [[1.0, 0.5], [0.5, 1.0]],
    "two, diagonal": [[3.0, 0.0], [0.0, 1.0]],
    "two, ascending": [[1.0, 0.0], [0.0, 3.0]],
    "two, reflecting": [[1.0, 0.25], [0.5, -2.0]],
    "three": [[2.0, 0.5, 0.0], [-0.25, 1.0, 0.5], [0.25, 0.0, 0.5]],
    "three, diagonal": [[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]],
    "three, symmetric": [[2.0, 0.5, 0.0], [0.5, 2.0, 0.25], [0.0, 0.25, 1.0]],
}
FOUR = {"four": [[3.0, 0.5, 0.0, 0.25], [-0.25, 2.0, 0.5, 0.0], [0.25, 0.0, 1.0, 0.5], [0.0, 0.5, -0.25, 0.5]]}


def direction_of(a):
    size = len(a)
    return [[0.5 - 0.25 * i + 0.375 * j * (i + 1) for j in range(size)] for i in range(size)]


def gap(values):
    """How much closer than the largest of them two of these numbers, or one and zero, are."""
    others = [abs(x - y) for k, x in enumerate(values) for y in values[:k]]
    return min(others) / max(abs(values))


@pytest.mark.parametrize("name", [*POINTS, *FOUR])
def test_derivatives_of_singular_values_and_vectors(name):
    a, da = np.array((POINTS | FOUR)[name]), np.array(direction_of((POINTS | FOUR)[name]))
    (u, du), (s, ds), (v, dv) = (split(x) for x in svd(along(a, da)))
    allowed = bound_of(svd, len(a)) * np.linalg.norm(da) / gap(np.diag(s) ** 2)
    assert np.linalg.norm(du @ s @ v.T + u @ ds @ v.T + u @ s @ dv.T - da) <= allowed
    assert np.linalg.norm(u.T @ du + du.T @ u) <= allowed
    assert np.linalg.norm(v.T @ dv + dv.T @ v) <= allowed
    assert np.abs(np.diag(ds) - np.diag(u.T @ da @ v)).max() <= allowed


@pytest.mark.parametrize("name", [*POINTS, *FOUR])
def test_derivatives_of_eigenvalues_and_vectors(name):
    half = np.array((POINTS | FOUR)[name])
    a, da = half + half.T, np.array(direction_of(half)) + np.array(direction_of(half)).T
    (w, dw), (q, dq) = (split(x) for x in sym_eig(along(a, da)))
    allowed = bound_of(sym_eig, len(a)) * np.linalg.norm(da) / gap(w)
    assert np.linalg.norm(da @ q + a @ dq - dq * w - q * dw) <= allowed
    assert np.abs(dw - np.diag(q.T @ da @ q)).max() <= allowed


@pytest.mark.parametrize(
    "a", [*POINTS.values(), *FOUR.values(), *(np.eye(n).tolist() for n in (2, 3, 4)), (-np.eye(2)).tolist()]
)
def test_derivatives_of_the_polar_factors_also_at_the_identity(a):
    da = np.array(direction_of(a))
    (r, dr), (p, dp) = (split(x) for x in polar_decompose(along(a, da)))
    allowed = bound_of(polar_decompose, len(a)) * np.linalg.norm(da) * np.linalg.cond(a) ** 2
    assert np.linalg.norm(dr @ p + r @ dp - da) <= allowed
    assert np.linalg.norm(r.T @ dr + dr.T @ r) <= allowed
    assert np.array_equal(dp, dp.T)


def test_equal_singular_values_leave_their_rotation_constant():
    (_, du), (_, ds), (_, dv) = (split(x) for x in svd(along(np.eye(2), [[1.0, 0.0], [0.0, 2.0]])))
    assert not dv.any()
    assert np.diag(ds).tolist() == [1.0, 2.0]
    assert np.isfinite(du).all()


def test_a_norm_with_eps_has_a_derivative_at_zero():
    zero = Vector([Dual(0.0, 1.0), Dual(0.0, 2.0)])
    assert zero.norm(1.0).slope == 0.0
    assert math.isnan((zero.norm()).slope)


def test_the_derivative_of_a_normalized_vector_is_orthogonal_to_it():
    unit, slope = split(Vector([Dual(3.0, 1.0), Dual(4.0, 2.0)]).normalized())
    assert abs(unit @ slope) <= bound_of(lambda m: m[0, :].normalized(), 2)
