"""Identities of vector algebra, exact over rationals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from symbolic import Term, recorded, value_of

from adstack.errors import AdstackTypeError
from adstack.ir.types import f32, i32
from adstack.values.matrices.matrix import Matrix, Vector, cross

exact = st.fractions(-9, 9, max_denominator=9)
triple = st.lists(exact, min_size=3, max_size=3).map(Vector)
square = st.lists(st.lists(exact, min_size=3, max_size=3), min_size=3, max_size=3).map(Matrix)


@given(triple, triple, triple)
def test_triple_products(a, b, c):
    assert a.cross(b).dot(a) == 0
    assert a.cross(b).to_list() == (-b.cross(a)).to_list()
    assert a.dot(b.cross(c)) == Matrix.rows([a, b, c]).determinant()
    assert a.cross(b.cross(c)).to_list() == (b * a.dot(c) - c * a.dot(b)).to_list()


@given(triple, triple)
def test_lagranges_identity(a, b):
    assert a.norm_sqr() * b.norm_sqr() == a.dot(b) ** 2 + a.cross(b).norm_sqr()
    assert a.outer_product(b).trace() == a.dot(b)
    assert (a.outer_product(b) @ b).to_list() == (a * b.norm_sqr()).to_list()


@given(square, square)
def test_traces_and_transposes(a, b):
    assert (a @ b).trace() == (b @ a).trace()
    assert (a @ b).transpose().to_list() == (b.transpose() @ a.transpose()).to_list()
    assert a.frobenius_inner(b) == (a.transpose() @ b).trace()
    assert a.norm_sqr() == a.frobenius_inner(a)


def test_the_cross_product_of_the_plane_is_a_number():
    assert Vector([1, 2]).cross([3, 4]) == -2
    assert cross([1, 0, 0], [0, 1, 0]).to_list() == [0, 0, 1]


def test_norms():
    v = Vector([3.0, 4.0])
    assert (v.norm(), v.norm_sqr(), v.norm_inv()) == (5.0, 25.0, 0.2)
    assert (v.norm(11.0), v.norm_inv(11.0)) == (6.0, 1 / 6.0)
    assert v.normalized().to_list() == [3.0 * (1 / 5.0), 4.0 * (1 / 5.0)]
    assert v.normalized(5.0).to_list() == [3.0 * 0.1, 4.0 * 0.1]
    assert Matrix([[1, 2], [2, 4]]).norm() == 5.0


def test_the_norm_of_zero_gives_no_exception():
    zero = Vector([0.0, 0.0])
    assert (zero.norm(), zero.norm_inv()) == (0.0, math.inf)
    assert all(math.isnan(e) for e in zero.normalized())


def test_an_eps_of_zero_costs_no_operation():
    recorded()
    Vector([Term(1.0), Term(2.0)]).norm()
    assert recorded() == ["mul", "mul", "add", "sqrt"]
    Vector([Term(1.0), Term(2.0)]).norm(Term(0.0))
    assert recorded() == ["mul", "mul", "add", "add", "sqrt"]


def test_reductions():
    m = Matrix([[3, 1], [0, 2]])
    assert (m.sum(), m.max(), m.min()) == (6, 3, 0)
    assert (m.any(), m.all()) == (True, False)
    assert (Vector([0, 0]).any(), Vector([1, -1]).all()) == (False, True)
    assert Vector([Fraction(1, 3), Fraction(1, 6)]).sum() == Fraction(1, 2)
    assert value_of(Vector([Term(0), Term(2)]).any()) is True


def test_extremes_ignore_nan_and_prefer_the_right_at_a_tie():
    assert Vector([math.nan, 1.0, math.nan]).max() == 1.0
    assert math.copysign(1, Vector([0.0, -0.0]).max()) == -1


def test_transposes_of_vectors_and_matrices():
    assert Matrix([[1, 2, 3], [4, 5, 6]]).transpose().to_list() == [[1, 4], [2, 5], [3, 6]]
    assert Vector([1, 2]).transpose().to_list() == [[1, 2]]


def test_the_outer_product_need_not_be_square():
    assert Vector([1, 2]).outer_product([3, 4, 5]).to_list() == [[3, 4, 5], [6, 8, 10]]


def test_cast_declares_the_type():
    v = Vector([1.5, 2.5]).cast(i32)
    assert (v.to_list(), v.dtype) == ([1, 2], i32)
    assert Vector([1, 2]).cast(float).dtype is None
    assert [e.dtype for e in Vector([Term(1)]).cast(f32).entries] == [f32]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Vector([1, 2]).dot([1, 2, 3]), "operands of dot must have the same length"),
        (lambda: Vector([1, 2]).dot(3), "operands of dot must be vectors"),
        (lambda: Matrix([[1]]).dot(Matrix([[1]])), "operands of dot must be vectors"),
        (lambda: Vector([1, 2]).cross([1, 2, 3]), "operands of cross must have the same length"),
        (lambda: Vector([1]).cross([1]), "the cross product is defined for 2 and 3 components"),
        (lambda: Vector([1]).outer_product(Matrix([[1]])), "operands of outer_product must be vectors"),
        (lambda: Matrix([[1, 2]]).trace(), "trace is defined for square matrices .got a 1x2 matrix"),
        (lambda: Vector([1]).trace(), "trace is defined for square matrices"),
    ],
)
def test_wrong_shapes_are_refused(use, message):
    with pytest.raises(AdstackTypeError, match=message):
        use()
