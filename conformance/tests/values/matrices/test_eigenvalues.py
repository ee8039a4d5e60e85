"""Eigenvalues and eigenvectors from 3x3 on, within the rounding error of the operations that one matrix takes.

The number of steps depends on the matrix, so that the operations are counted of one that takes more than most.
"""

import numpy as np
import pytest
from roundings_kit import gamma
from symbolic import Term, recorded, value_of

import adstack as qd
from adstack.errors import AdstackTypeError
from adstack.values.matrices.matrix import Matrix, eig

SPECIAL = {
    "zero": lambda n: np.zeros((n, n)),
    "identity": np.eye,
    "ones": lambda n: np.ones((n, n)),
    "diagonal": lambda n: np.diag(np.arange(1.0, n + 1)),
    "reflection": lambda n: np.eye(n)[::-1],
    "cycle, of which the usual shifts change nothing": lambda n: np.roll(np.eye(n), 1, axis=0),
    "cycle the other way": lambda n: np.roll(np.eye(n), -1, axis=0),
    "one vector": lambda n: np.eye(n, k=1),
    "one vector, below": lambda n: np.eye(n, k=-1),
    "skew": lambda n: np.tri(n, k=-1) - np.tri(n, k=-1).T,
    "nearly equal": lambda n: np.eye(n) + 2.0**-50 * np.outer(np.arange(n), np.ones(n)),
    "graded": lambda n: np.fromfunction(lambda i, j: 10.0 ** (2 * i - 3 * j) * (1 + i * j), (n, n)),
    "a real pair in one block": lambda n: np.array([[1.0, 3.0, 0.0], [1e-9, 1.0, 2.0], [0.0, 0.0, 5.0]]),
}


def matrices(size):
    for make in SPECIAL.values():
        yield make(size)
    generator = np.random.default_rng(size)
    for k in range(16 if size == 3 else 6):
        a = generator.normal(size=(size, size)) * 10.0 ** generator.integers(-3, 4)
        yield np.rint(a) if k % 3 == 0 else a


def numbers(parts):
    """Eigenvalues as complex numbers, and vectors as columns of them."""
    values, vectors = (part.to_numpy() for part in parts)
    return values @ [1, 1j], vectors[0::2] + 1j * vectors[1::2]


@pytest.fixture
def branching(monkeypatch):
    """How many steps are taken depends on the numbers: whether to take one is the only branch there is."""
    monkeypatch.setattr(Term, "__bool__", lambda term: bool(term.value))


def operations(size):
    """How many the decomposition of a random matrix takes."""
    recorded()
    a = np.random.default_rng(0).normal(size=(size, size)).tolist()
    eig(Matrix([[Term(e) for e in row] for row in a]))
    return len(recorded())


@pytest.mark.parametrize("size", [3, 4])
def test_values_and_vectors(size, branching):
    bound = gamma(operations(size))
    for a in matrices(size):
        values, vectors = numbers(eig(Matrix(a)))
        norm = np.linalg.norm(a)
        assert np.linalg.norm(a @ vectors - vectors * values) <= bound * norm
        assert np.abs(np.linalg.norm(vectors, axis=0) - 1).max() <= bound
        assert abs(values.sum() - np.trace(a)) <= bound * norm


@pytest.mark.parametrize("size", [3, 4, 5])
def test_complex_values_come_in_pairs_that_are_exact_and_in_order(size):
    for a in matrices(size) if size < 5 else (np.roll(np.eye(5), 1, axis=0),):
        values, vectors = numbers(eig(Matrix(a)))
        assert sorted(values.conj().tolist(), key=lambda z: (-z.real, -z.imag)) == values.tolist()
        assert not vectors[:, values.imag == 0].imag.any()
        largest = np.take_along_axis(vectors, np.abs(vectors).argmax(0)[None], 0)
        assert np.all(largest.real > 0)


def test_equal_eigenvalues_of_a_diagonal_matrix_have_independent_vectors():
    _, vectors = numbers(eig(Matrix(np.diag([2.0, 1.0, 2.0]))))
    assert abs(np.linalg.det(vectors)) == 1.0


def test_other_sizes_are_refused():
    with pytest.raises(AdstackTypeError, match="eig is defined for matrices of at least 2x2"):
        eig(Matrix.diag(1, 1))
    with pytest.raises(AdstackTypeError, match="eig is defined for square matrices"):
        eig(Matrix([[1, 2, 3], [4, 5, 6]]))


# ---- in kernels

A = [[1.0, 2.0, 0.5], [-1.5, 0.25, 1.0], [0.75, -0.5, 2.0]]
WEIGHTS = np.random.default_rng(1).normal(size=(8, 3))


def weighted(a):
    """A sum over all that `eig` gives; with one pair of complex eigenvalues."""
    values, vectors = (part.to_numpy() for part in eig(Matrix(a)))
    return (WEIGHTS[:2].T * values).sum() + (WEIGHTS[2:] * vectors).sum()


def made(arch):
    """A field of one matrix, the sum as a field, and the kernel that computes it."""
    qd.init(arch, default_fp=qd.f64)
    m, out = qd.Matrix.field(3, 3, qd.f64, shape=(), needs_grad=True), qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for _ in range(1):
            values, vectors = qd.eig(m[None])
            for i, j in qd.static(qd.ndrange(3, 2)):
                out[None] += WEIGHTS[j, i] * values[i, j]
            for i, j in qd.static(qd.ndrange(6, 3)):
                out[None] += WEIGHTS[2 + i, j] * vectors[i, j]

    return m, out, k


def slopes(function, a, step):
    """Central differences by each element."""
    a = np.array(a)
    out = np.zeros((*a.shape, *np.shape(function(a))))
    for at in np.ndindex(a.shape):
        change = np.zeros(a.shape)
        change[at] = step
        out[at] = (function(a + change) - function(a - change)) / (2 * step)
    return out


def test_the_gradient_in_a_kernel_is_that_of_values_and_vectors():
    m, out, k = made(qd.cpu)
    m[None] = A
    with qd.ad.Tape(out):
        k()
    assert out[None] == pytest.approx(weighted(A), rel=1e-12)
    # differences of second order err by the third derivative times the square of the step
    assert np.abs(m.grad.to_numpy() - slopes(weighted, A, 1e-5)).max() < 1e-7


def plain(a):
    """The sum of the third powers of the eigenvalues' real parts."""
    return (eig(Matrix(a))[0].to_numpy()[:, 0] ** 3).sum()


def test_second_derivatives_pass_through_eigenvalues():
    qd.init(qd.cpu, default_fp=qd.f64)
    x, out = (qd.field(qd.f64, shape=shape, needs_grad=True, needs_dual=True) for shape in (2, ()))

    @qd.kernel
    def k():
        for _ in range(1):
            values, _vectors = qd.eig(qd.Matrix([[2.0, x[0], 0.5], [x[1], 1.0, -0.25], [0.5, 0.75, -1.0]]))
            for i in qd.static(range(3)):
                out[None] += values[i, 0] ** 3

    def on_host(at):
        return plain([[2.0, at[0], 0.5], [at[1], 1.0, -0.25], [0.5, 0.75, -1.0]])

    x.from_numpy(np.array([0.5, 1.5]))
    hessian = qd.ad.hessian(k, out, x)
    expected = slopes(lambda b: slopes(on_host, b, 1e-4), [0.5, 1.5], 1e-4)
    assert np.abs(np.asarray(hessian).reshape(2, 2) - expected).max() < 1e-5


def test_where_vectors_are_not_independent_the_gradient_is_not_finite():
    qd.init(qd.reference, default_fp=qd.f64)
    m, out = qd.Matrix.field(3, 3, qd.f64, shape=(), needs_grad=True), qd.field(qd.f64, shape=(), needs_grad=True)

    @qd.kernel
    def k():
        for _ in range(1):
            out[None] += qd.eig(m[None])[0][0, 0]

    m[None] = [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]
    with qd.ad.Tape(out):
        k()
    assert out[None] == 2.0
    assert not np.isfinite(m.grad.to_numpy()).any()


def test_runtime_elements_give_the_numbers_of_the_host(branching):
    parts = eig(Matrix([[Term(e) for e in row] for row in A]))
    assert [value_of(x) for x in parts] == [x.to_list() for x in eig(Matrix(A))]


def test_a_number_that_was_an_integer_for_a_while_is_a_constant():
    """As `matrices/refining.py` relies on it: no simplification may take the integer out."""
    qd.init(qd.reference)
    x, y = (qd.field(qd.f32, shape=(), needs_grad=True) for _ in range(2))

    @qd.kernel
    def k():
        y[None] += x[None] * qd.bit_cast(qd.bit_cast(x[None], qd.i32), qd.f32)

    x[None] = 3.0
    with qd.ad.Tape(y):
        k()
    assert (y[None], x.grad[None]) == (9.0, 3.0)
