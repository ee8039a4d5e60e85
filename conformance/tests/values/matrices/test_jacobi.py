"""Decompositions are compared with their definition, within the rounding error that their own operations may make.

The bound is Higham's gamma_n = n u / (1 - n u) of f64, with n the number of operations recorded while decomposing: no
result of n roundings of backward stable steps is further off, relative to the norm of the matrix.
"""

import numpy as np
import pytest
from roundings_kit import RANDOM, bound_of
from symbolic import Term, value_of

from adstack.errors import AdstackTypeError
from adstack.values.matrices.jacobi import rotation
from adstack.values.matrices.matrix import Matrix, svd, sym_eig

SPECIAL = {
    "zero": lambda n: np.zeros((n, n)),
    "identity": np.eye,
    "negative identity": lambda n: -np.eye(n),
    "ones": lambda n: np.ones((n, n)),
    "ascending diagonal": lambda n: np.diag(np.arange(1.0, n + 1)),
    "one element": lambda n: np.eye(n, k=1),
    "one row": lambda n: np.outer(np.eye(n)[1], np.arange(1.0, n + 1)),
    "one column": lambda n: np.outer(np.arange(1.0, n + 1), np.eye(n)[0]),
    "reflection": lambda n: np.eye(n)[::-1],
    "cycle": lambda n: np.roll(np.eye(n), 1, axis=0),
    "nearly singular": lambda n: np.ones((n, n)) + 2.0**-40 * np.eye(n),
    "equal columns of different rows": lambda n: np.outer(10.0 ** (5 * np.arange(n)), np.ones(n)),
    "graded": lambda n: np.fromfunction(lambda i, j: 10.0 ** (4 * i - 6 * j) * (1 + i * j), (n, n)),
    "a row of zeros": lambda n: np.vstack([np.zeros(n), np.arange(1.0, n * (n - 1) + 1).reshape(n - 1, n) ** 2]),
}


def matrices(size):
    generator = np.random.default_rng(size)
    for make in SPECIAL.values():
        yield make(size)
    for k in range(RANDOM if size < 4 else 5):
        a = generator.normal(size=(size, size)) * 10.0 ** generator.integers(-6, 7, size=(size, 1 + k % 2 * (size - 1)))
        if k % 4 == 0:
            a[:, -1] = a[:, 0]
        yield np.rint(a) if k % 5 == 0 else a


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_singular_value_decomposition(size):
    bound = bound_of(svd, size)
    for a in matrices(size):
        u, s, v = (x.to_numpy() for x in svd(Matrix(a)))
        values = np.diag(s)
        norm = np.linalg.norm(a)
        assert np.linalg.norm(u @ s @ v.T - a) <= bound * norm
        assert np.linalg.norm(u.T @ u - np.eye(size)) <= bound
        assert np.linalg.norm(v.T @ v - np.eye(size)) <= bound
        assert np.array_equal(s, np.diag(values))
        assert np.abs(values - np.linalg.svd(a)[1]).max() <= bound * norm
        assert values.min() >= 0
        assert np.all(np.diff(values) <= bound * norm)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_eigenvalues_of_symmetric_matrices(size):
    bound = bound_of(sym_eig, size)
    for square in matrices(size):
        a = square + square.T
        values, vectors = (x.to_numpy() for x in sym_eig(Matrix(a)))
        norm = np.linalg.norm(a)
        assert np.linalg.norm(a @ vectors - vectors * values) <= bound * norm
        assert np.linalg.norm(vectors.T @ vectors - np.eye(size)) <= bound
        assert np.abs(values - np.linalg.eigvalsh(a)).max() <= bound * norm
        assert np.all(np.diff(values) >= 0)


def test_only_the_upper_triangle_of_a_symmetric_matrix_is_read():
    full, upper = Matrix([[1.0, 2.0], [2.0, 5.0]]), Matrix([[1.0, 2.0], [99.0, 5.0]])
    assert sym_eig(full)[0].to_list() == sym_eig(upper)[0].to_list()


@pytest.mark.parametrize("decompose", [svd, sym_eig])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_runtime_elements_are_never_branched_on_and_give_the_same_numbers(decompose, size):
    numbers = [[float(1 + i * size + j**2) for j in range(size)] for i in range(size)]
    terms = decompose(Matrix([[Term(e) for e in row] for row in numbers]))
    plain = decompose(Matrix(numbers))
    assert [value_of(x) for x in terms] == [x.to_list() for x in plain]


def test_integers_are_decomposed_as_reals():
    assert svd(Matrix([[3, 0], [0, -4]]))[1].to_list() == [[4.0, 0.0], [0.0, 3.0]]


@pytest.mark.parametrize(("alpha", "beta", "gamma"), [(2.0, 1.0, 0.5), (1.0, 2.0, 0.5), (1.0, 1.0, -3.0)])
def test_a_rotation_diagonalises_and_stays_within_45_degrees(alpha, beta, gamma):
    c, s = rotation(alpha, beta, gamma)
    turned = np.array([[c, s], [-s, c]]) @ np.array([[alpha, gamma], [gamma, beta]]) @ np.array([[c, -s], [s, c]])
    assert abs(turned[0, 1]) <= np.finfo(np.float64).eps * np.linalg.norm(turned)
    assert c >= abs(s)


def test_nothing_to_diagonalise_is_no_rotation():
    assert rotation(1.0, 1.0, 0.0) == (1.0, 0.0)
    assert rotation(0.0, 0.0, 0.0) == (1.0, 0.0)


@pytest.mark.parametrize("decompose", [svd, sym_eig])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3)])
def test_other_sizes_are_refused(decompose, shape):
    with pytest.raises(AdstackTypeError, match=r"is defined for (matrices of at least 2x2|square matrices)"):
        decompose(Matrix(np.ones(shape)))
