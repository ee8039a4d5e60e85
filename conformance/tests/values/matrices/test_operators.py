"""Operators of vectors and matrices go element by element, on the host and while compiling."""

import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from symbolic import Term, recorded, value_of

from adstack.errors import AdstackTypeError, AdstackValueError
from adstack.values.matrices.matrix import Matrix, Vector

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
small = st.integers(-5, 5)
square = st.lists(st.lists(small.map(Fraction), min_size=3, max_size=3), min_size=3, max_size=3).map(Matrix)


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_operators_go_element_by_element_and_broadcast_scalars_from_both_sides(name):
    function = getattr(operator, name)
    a, b = [5, 3], [2, 1]
    assert function(Vector(a), Vector(b)).to_list() == [function(5, 2), function(3, 1)]
    assert function(Vector(a), 2).to_list() == [function(5, 2), function(3, 2)]
    assert function(2, Vector(b)).to_list() == [function(2, 2), function(2, 1)]
    assert function(a, Vector(b)).to_list() == [function(5, 2), function(3, 1)]
    assert function(np.array(a), Vector(b)).to_list() == [function(5, 2), function(3, 1)]


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_operators_with_runtime_elements_are_recorded_one_per_element(name):
    recorded()
    result = getattr(operator, name)(Vector([Term(5), Term(3)]), Vector([2, Term(1)]))
    assert len(recorded()) == 2
    assert value_of(result) == getattr(operator, name)(Vector([5, 3]), Vector([2, 1])).to_list()


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "mod", "lt", "and_"])
def test_a_runtime_scalar_is_broadcast_from_both_sides(name):
    function = getattr(operator, name)
    assert value_of(function(Term(6), Vector([4, 2]))) == [function(6, 4), function(6, 2)]
    assert value_of(function(Vector([4, 2]), Term(6))) == [function(4, 6), function(2, 6)]


def test_unary_operators():
    v = Vector([1, -2])
    assert [(-v).to_list(), (+v).to_list(), (~v).to_list(), abs(v).to_list()] == [[-1, 2], [1, -2], [-2, 1], [1, 2]]


def test_operators_do_not_change_their_operands():
    v = Vector([1, 2])
    w = v
    w += 1
    assert (v.to_list(), w.to_list()) == ([1, 2], [2, 3])


@pytest.mark.parametrize("other", [Vector([1, 2, 3]), [1], Matrix([[1], [2]])])
def test_shapes_must_be_equal(other):
    with pytest.raises(AdstackTypeError, match=r"operands of add must share a shape .got a 2-vector and"):
        Vector([1, 2]) + other


@pytest.mark.parametrize("other", ["x", None, {}])
def test_other_operands_are_refused(other):
    with pytest.raises(AdstackTypeError, match="mul takes numbers, vectors and matrices"):
        Vector([1, 2]) * other


def test_a_vector_is_no_condition_and_no_key():
    with pytest.raises(AdstackValueError, match="a 2-vector is not a condition"):
        bool(Vector([1, 2]))
    with pytest.raises(TypeError):
        hash(Vector([1, 2]))


def test_matrix_products():
    a, b, v = Matrix([[1, 2], [3, 4], [5, 6]]), Matrix([[1, 0, 2], [0, 1, 1]]), Vector([1, 10])
    assert (a @ b).to_list() == (a.to_numpy() @ b.to_numpy()).tolist()
    assert (b @ a).to_list() == (b.to_numpy() @ a.to_numpy()).tolist()
    assert (a @ v).to_list() == [21, 43, 65]
    assert ([[0, 1], [1, 0]] @ v).to_list() == [10, 1]
    assert type(a @ v) is Vector


def test_a_vector_on_the_left_of_a_product_is_a_row():
    v, m = Vector([1, 2]), Matrix([[1, 2, 3], [4, 5, 6]])
    assert (v @ m).to_list() == [9, 12, 15]
    assert type(v @ m) is Vector
    assert v @ Vector([3, 4]) == 11
    assert [1, 2] @ v == 5


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Vector([1, 2]), Vector([1, 2, 3])),
        (Vector([1, 2, 3]), Matrix([[1, 2], [3, 4]])),
        (Matrix([[1, 2]]), Matrix([[1, 2]])),
        (Matrix([[1, 2]]), 3),
        (3, Matrix([[1, 2]])),
    ],
)
def test_matrix_products_of_other_shapes_are_refused(left, right):
    with pytest.raises(AdstackTypeError, match="operands of @ must be matrices or vectors, with rows"):
        left @ right


@given(square, square, square)
def test_the_matrix_product_is_associative_and_distributes(a, b, c):
    assert ((a @ b) @ c).to_list() == (a @ (b @ c)).to_list()
    assert (a @ (b + c)).to_list() == (a @ b + a @ c).to_list()


@given(square, small)
def test_a_scalar_moves_through_a_product(a, s):
    assert ((s * a) @ a).to_list() == (s * (a @ a)).to_list()
