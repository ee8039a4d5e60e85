"""Determinants, inverses, systems and Cholesky factors of matrices of any size, beside numpy."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from adstack.errors import AdstackTypeError
from adstack.values.matrices.linear import cholesky, determinant, inverse, solve
from adstack.values.matrices.matrix import Matrix, Vector


def array(value):
    return np.array(value.to_list(), float)


def backward_error(n):
    """The relative change of a matrix whose exact solution elimination with pivoting computes, at most.

    N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, theorem 9.5, with the largest growth
    factor.
    """
    return n**2 * gamma(3 * n) * 2 ** (n - 1)


def gamma(n):
    """The relative error of n roundings of float64."""
    u = 2.0**-53
    return n * u / (1 - n * u)


@hypothesis.given(strategies.integers(5, 9), strategies.integers(0, 2**32 - 1))
def test_random_systems_are_solved_as_numpy_solves_them(n, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, n)), rng.normal(size=(n, 2))
    change = backward_error(n) * np.linalg.cond(a, np.inf)
    hypothesis.assume(change < 0.1)
    error = 2 * change / (1 - change)  # numpy's, too
    matrix = Matrix(a.tolist())
    for ours, theirs in [
        (array(solve(matrix, Matrix(b.tolist()))), np.linalg.solve(a, b)),
        (array(inverse(matrix)), np.linalg.inv(a)),
    ]:
        assert (abs(ours - theirs).max(axis=0) <= error * abs(theirs).max(axis=0) / (1 - error)).all()
    theirs = np.linalg.det(a)
    assert (
        abs(determinant(matrix) - theirs)
        <= 2 * ((1 + change) ** n * (1 + gamma(n)) - 1) * abs(theirs) * (1 + change) ** n
    )


@hypothesis.given(strategies.integers(5, 8), strategies.randoms(use_true_random=False))
def test_permutations_are_inverted_exactly_and_have_their_sign(n, random):
    order = list(range(n))
    random.shuffle(order)
    p = np.eye(n)[order]
    matrix = Matrix(p.tolist())
    assert (array(inverse(matrix)) == p.T).all()
    assert determinant(matrix) == round(np.linalg.det(p))
    assert solve(matrix, Vector(list(range(n)))).to_list() == (p.T @ np.arange(n)).tolist()


@hypothesis.given(strategies.integers(1, 7), strategies.integers(0, 2**32 - 1))
def test_the_factor_of_a_product_is_found_and_the_upper_half_is_not_read(n, seed):
    rng = np.random.default_rng(seed)
    lower = np.tril(rng.integers(-3, 4, (n, n))) + 4 * np.eye(n)
    product = lower @ lower.T
    product[np.triu_indices(n, 1)] = np.nan
    factor = array(cholesky(Matrix(product.tolist())))
    # Higham, theorem 10.3 for the change of the product, and J.-G. Sun's bound (10.7) for the change of its factor.
    change = n * gamma(n + 1) * np.linalg.cond(lower) ** 2
    assert np.linalg.norm(factor - lower) <= change / (1 - change) / 2**0.5 * np.linalg.norm(lower, 2)
    assert (np.triu(factor, 1) == 0).all()


def test_integers_give_real_numbers_and_singular_matrices_no_exception():
    assert inverse(Matrix.diag(5, 4)).to_list()[4][4] == 0.25
    assert determinant(Matrix.diag(5, 2)) == 32.0
    assert not np.isfinite(array(inverse(Matrix([[1.0] * 5] * 5)))).all()
    assert np.isnan(array(cholesky(Matrix([[-1.0]])))).all()


@pytest.mark.parametrize("use", [cholesky, determinant, inverse])
def test_other_shapes_are_refused(use):
    with pytest.raises(AdstackTypeError, match="is defined for square matrices"):
        use(Matrix([[1, 2]]))
