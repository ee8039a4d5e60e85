"""Making vectors and matrices, copying and converting them."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from symbolic import Term

from adstack.errors import AdstackTypeError
from adstack.ir.types import f32, f64, i32
from adstack.values.elements import Elements, describe
from adstack.values.matrices.matrix import Matrix, Vector, is_matrix


def test_a_vector_has_one_axis_and_a_matrix_two():
    v, m = Vector([1, 2, 3]), Matrix([[1, 2], [3, 4], [5, 6]])
    assert (v.shape, v.n, v.m, v.ndim, v.is_vector, len(v)) == ((3,), 3, 1, 1, True, 3)
    assert (m.get_shape(), m.n, m.m, m.ndim, m.is_vector, len(m)) == ((3, 2), 3, 2, 2, False, 3)
    assert isinstance(v, Matrix)
    assert type(Matrix([1, 2])) is Vector


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((1, 2), [1, 2]),
        (range(3), [0, 1, 2]),
        (np.array([1.5, 2.5]), [1.5, 2.5]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        ([np.array([1, 2]), [3, 4]], [[1, 2], [3, 4]]),
        ([Vector([1, 2]), Vector([3, 4])], [[1, 2], [3, 4]]),
        (Matrix([[1]]), [[1]]),
        ([Fraction(1, 2)], [Fraction(1, 2)]),
        ([True, np.float32(0.5)], [True, 0.5]),
    ],
)
def test_what_vectors_and_matrices_are_made_of(values, wanted):
    assert Matrix(values).to_list() == wanted


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (None, "a vector or matrix is made of a list"),
        (3, "is made of a list"),
        ([], "is made of a list"),
        ([[]], "rows of a matrix must be equally long"),
        ([[1, 2], [3]], "rows of a matrix must be equally long"),
        ([[1, 2], 3], "rows of a matrix must be equally long"),
        ([[[1]]], "at most two axes of scalars"),
        (["a"], "takes numbers, vectors and matrices"),
        ([1j], "got a complex"),
    ],
)
def test_what_they_are_not_made_of(values, message):
    with pytest.raises(AdstackTypeError, match=message):
        Matrix(values)


def test_a_vector_is_not_made_of_rows():
    with pytest.raises(AdstackTypeError, match=r"a vector is made of a list of scalars .got 2 axes"):
        Vector([[1, 2]])


def test_elements_are_converted_to_the_type_asked_for():
    v = Vector([0.1, 2], dt=f32)
    assert v.to_list() == [float(np.float32(0.1)), 2.0]
    assert v.dtype is f32
    v[0] = 0.2
    assert v[0] == float(np.float32(0.2))
    assert Vector([1.7], int).to_list() == [1]
    assert Vector(v).dtype is f32
    assert Vector(v, i32).to_list() == [0, 2]


def test_the_type_is_that_of_runtime_elements_if_they_share_one():
    assert Vector([Term(1), Term(2)]).dtype is i32
    assert Vector([Term(1), 2]).dtype is None
    assert Vector([Term(1), Term(2.0)]).dtype is None
    assert Vector([1, 2]).dtype is None


def test_making_one_of_another_copies():
    v = Vector([1, 2])
    for w in (Vector(v), v.copy(), copy.copy(v), copy.deepcopy(v), pickle.loads(pickle.dumps(v))):
        w[0] = 9
        assert v.to_list() == [1, 2]
        assert type(w) is Vector


def test_pickling_keeps_the_type():
    m = pickle.loads(pickle.dumps(Matrix([[1, 2]], dt=f64)))
    assert (m.dtype, m.to_list()) == (f64, [[1.0, 2.0]])


def test_text_forms():
    assert str(Vector([1, 2.5])) == "[1, 2.5]"
    assert repr(Vector([1], dt=f32)) == "Vector([1.0], dt=f32)"
    assert repr(Matrix([[1], [2]])) == "Matrix([[1], [2]])"


def test_iteration_gives_elements_or_rows():
    assert list(Vector([1, 2])) == [1, 2]
    assert list(Matrix([[1, 2], [3, 4]])) == [[1, 2], [3, 4]]
    assert Vector([1, 2]).rows_of_entries() == [[1], [2]]


def test_conversion_to_numpy():
    m = Matrix([[1, 2], [3, 4]], dt=f32).to_numpy()
    assert (m.dtype, m.tolist()) == (np.float32, [[1, 2], [3, 4]])
    assert np.asarray(Vector([1, 2])).tolist() == [1, 2]
    assert np.asarray(Vector([1, 2]), dtype=np.float64).dtype == np.float64
    with pytest.raises(AdstackTypeError, match="not known while compiling"):
        Vector([Term(1)]).to_numpy()


def test_matrices_of_rows_and_columns():
    a, b = Vector([1, 2, 3]), [4, 5, 6]
    assert Matrix.rows([a, b]).to_list() == [[1, 2, 3], [4, 5, 6]]
    assert Matrix.cols([a, b]).to_list() == [[1, 4], [2, 5], [3, 6]]


def test_common_matrices():
    assert Matrix.identity(f32, 2).to_list() == [[1.0, 0.0], [0.0, 1.0]]
    assert Matrix.identity(f32, 2).dtype is f32
    assert Matrix.diag(2, 5).to_list() == [[5, 0], [0, 5]]
    assert Matrix.diag(2, [5, 6]).to_list() == [[5, 0], [0, 6]]
    assert Matrix.zero(f32, 2, 1).to_list() == [[0.0], [0.0]]
    assert Matrix.one(i32, 2).to_list() == [1, 1]
    assert Vector.zero(f32, 3).to_list() == [0.0] * 3
    assert Vector.one(f32, 2).dtype is f32
    assert Vector.unit(3, 1).to_list() == [0, 1, 0]
    assert Vector.unit(2, 0, f32).to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vector.unit(2, 2), "there is no axis 2 in 2 dimensions"),
        (lambda: Vector.unit(2, -1), "there is no axis -1"),
        (lambda: Matrix.diag(3, [1, 2]), "the diagonal has 3 elements .got 2"),
        (lambda: Matrix.zero(f32, 0), "n must be a positive compile-time integer"),
        (lambda: Matrix.zero(f32, 2, 1.5), "m must be a positive compile-time integer"),
        (lambda: Matrix.zero(f32, Term(1)), "must be a positive compile-time integer"),
        (lambda: Matrix.zero("f32", 1), "is not a scalar type"),
    ],
)
def test_common_matrices_check_their_arguments(make, message):
    with pytest.raises(AdstackTypeError, match=message):
        make()


def test_a_view_reaches_its_storage_and_a_copy_does_not():
    storage = [1, 2, 3]
    view = Elements.over(storage, (3,))
    view[1] = 20
    view.copy()[0] = 99
    assert storage == [1, 20, 3]
    storage[2] = 30
    assert view.to_list() == [1, 20, 30]


def test_descriptions_for_messages():
    named = [describe(x) for x in (Vector([1, 2]), Matrix([[1, 2]]), Term(1), "x", 2)]
    assert named == ["a 2-vector", "a 1x2 matrix", "i32", "a str", "a int"]
    assert is_matrix(Vector([1]))
    assert not is_matrix([1])
