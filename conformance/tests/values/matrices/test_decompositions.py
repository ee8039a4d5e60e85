"""Polar decompositions and eigenvectors, within the rounding error of their own operations."""

import numpy as np
import pytest
from roundings_kit import RANDOM, bound_of
from symbolic import Term, recorded, value_of

from adstack.errors import AdstackTypeError
from adstack.values.matrices.matrix import Matrix, Vector, eig, polar_decompose


def invertible(size):
    generator = np.random.default_rng(size)
    yield np.eye(size)
    yield -np.eye(size)
    yield np.eye(size)[::-1]
    yield np.diag(10.0 ** np.arange(-6, 2 * size - 6, 2))
    for _ in range(max(RANDOM >> 2 * max(size - 3, 0), 2)):  # large ones take long
        yield generator.normal(size=(size, size)) * 10.0 ** generator.integers(-3, 4)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_polar_decomposition(size):
    bound = bound_of(polar_decompose, size)
    for a in invertible(size):
        r, p = (x.to_numpy() for x in polar_decompose(Matrix(a)))
        allowed = bound * np.linalg.cond(a)
        assert np.linalg.norm(r @ p - a) <= allowed * np.linalg.norm(a)
        assert np.linalg.norm(r.T @ r - np.eye(size)) <= allowed
        assert np.array_equal(p, p.T)
        assert np.linalg.eigvalsh(p).min() >= -allowed * np.linalg.norm(a)
        assert np.sign(np.linalg.det(r)) == np.sign(np.linalg.det(a))


def test_the_rotation_of_a_stretched_identity_is_exactly_the_identity():
    for size in (2, 3, 4, 5):
        r, p = polar_decompose(Matrix.diag(size, 1.0))
        assert r.to_list() == p.to_list() == Matrix.diag(size, 1.0).to_list()


def test_a_plane_matrix_without_inverse_still_has_an_orthogonal_factor():
    for a in ([[0.0, 0.0], [0.0, 0.0]], [[3.0, 4.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]]):
        r, p = (x.to_numpy() for x in polar_decompose(Matrix(a)))
        bound = bound_of(polar_decompose, 2)
        assert np.linalg.norm(r.T @ r - np.eye(2)) <= bound
        assert np.linalg.norm(r @ p - a) <= bound * np.linalg.norm(a)


def test_a_space_matrix_without_inverse_gives_nan():
    r, _ = polar_decompose(Matrix.diag(3, [1.0, 1.0, 0.0]))
    assert np.isnan(r.to_numpy()).all()


def complex_columns(vectors):
    parts = vectors.to_numpy()
    return parts[0::2] + 1j * parts[1::2]


@pytest.mark.parametrize(
    "a",
    [
        [[1.0, 2.0], [3.0, 4.0]],
        [[0.0, -1.0], [1.0, 0.0]],
        [[2.0, 0.0], [0.0, 2.0]],
        [[1.0, 0.0], [0.0, 2.0]],
        [[2.0, 0.0], [0.0, 1.0]],
        [[1.0, 1.0], [0.0, 1.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[3.0, -2.0], [4.0, -1.0]],
        [[1, 2], [2, 1]],
    ],
)
def test_eigenvectors_of_plane_matrices(a):
    values, vectors = eig(Matrix(a))
    bound = bound_of(eig, 2)
    matrix, columns = np.array(a), complex_columns(vectors)
    numbers = values.to_numpy() @ [1, 1j]
    assert np.linalg.norm(matrix @ columns - columns * numbers) <= bound * np.linalg.norm(matrix)
    assert np.abs(np.linalg.norm(columns, axis=0) - 1).max() <= bound
    assert abs(numbers.sum() - np.trace(matrix)) <= bound * np.linalg.norm(matrix)


def test_eigenvalues_come_as_real_and_imaginary_parts():
    assert eig(Matrix([[0, -4], [1, 0]]))[0].to_list() == [[0.0, 2.0], [0.0, -2.0]]
    assert eig(Matrix([[1, 0], [0, 3]]))[0].to_list() == [[3.0, 0.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    ("decompose", "size"), [(polar_decompose, 2), (polar_decompose, 3), (polar_decompose, 4), (eig, 2)]
)
def test_runtime_elements_are_never_branched_on_and_give_the_same_numbers(decompose, size):
    numbers = [[float(2 + i * size + j**2) + 5 * (i == j) for j in range(size)] for i in range(size)]
    recorded()
    terms = decompose(Matrix([[Term(e) for e in row] for row in numbers]))
    assert recorded()
    assert [value_of(x) for x in terms] == [x.to_list() for x in decompose(Matrix(numbers))]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: polar_decompose(Matrix.diag(1, 1)), "polar_decompose is defined for matrices of at least 2x2"),
        (lambda: polar_decompose(Vector([1])), "polar_decompose is defined for square"),
    ],
)
def test_other_sizes_are_refused(use, message):
    with pytest.raises(AdstackTypeError, match=message):
        use()
