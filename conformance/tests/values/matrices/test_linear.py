"""Determinants, inverses and solutions, exact over rationals."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from symbolic import Term, value_of

from adstack.errors import AdstackTypeError
from adstack.values.matrices.matrix import Matrix, Vector, determinant, inverse, solve

exact = st.fractions(-9, 9, max_denominator=5)


def squares(size):
    return st.lists(st.lists(exact, min_size=size, max_size=size), min_size=size, max_size=size).map(Matrix)


any_square = st.integers(1, 4).flatmap(squares)


def leibniz(matrix):
    """The determinant as the sum over all permutations."""
    total = Fraction(0)
    for order in itertools.permutations(range(matrix.n)):
        inversions = sum(a > b for a, b in itertools.combinations(order, 2))
        product = Fraction(-1) ** inversions
        for i, j in enumerate(order):
            product *= matrix[i, j]
        total += product
    return total


@given(any_square)
def test_the_determinant_is_the_sum_over_permutations(a):
    assert a.determinant() == leibniz(a)
    assert determinant(a.transpose()) == leibniz(a)


@given(any_square)
def test_a_matrix_times_its_inverse_is_the_identity_exactly(a):
    assume(a.determinant() != 0)
    one = Matrix.diag(a.n, 1).to_list()
    assert (a @ a.inverse()).to_list() == one
    assert (inverse(a) @ a).to_list() == one


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(squares(n), squares(n))))
def test_determinants_multiply(pair):
    a, b = pair
    assert (a @ b).determinant() == a.determinant() * b.determinant()


@given(squares(3), st.lists(exact, min_size=3, max_size=3))
def test_solve_gives_the_exact_solution(a, right):
    assume(a.determinant() != 0)
    assert (a @ solve(a.to_list(), right)).to_list() == right
    assert (a @ solve(a, a)).to_list() == a.to_list()


def test_the_inverse_of_runtime_elements_divides_once():
    a = Matrix([[Term(1.0), Term(2.0)], [Term(3.0), Term(4.0)]])
    assert value_of(a.inverse()) == [[-2.0, 1.0], [1.5, -0.5]]
    assert value_of(a.determinant()) == -2.0


def test_the_inverse_of_integers_is_of_floats():
    assert Matrix([[2, 0], [0, 4]]).inverse().to_list() == [[0.5, 0.0], [0.0, 0.25]]


def test_a_singular_matrix_gives_no_exception():
    assert not any(e == e and abs(e) < 1e300 for e in Matrix([[1.0, 2.0], [2.0, 4.0]]).inverse().entries)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Matrix([[1, 2]]).determinant(), "determinant is defined for square matrices"),
        (lambda: Vector([1]).inverse(), "inverse is defined for square matrices .got a 1-vector"),
        (lambda: solve(Matrix.diag(2, 1), Vector([1, 2, 3])), "right side of solve must have as many rows"),
        (lambda: solve(Matrix.diag(2, 1), 3), "right side of solve must have as many rows"),
        (lambda: solve(3, Vector([1])), "solve is defined for square matrices"),
    ],
)
def test_wrong_shapes_are_refused(use, message):
    with pytest.raises(AdstackTypeError, match=message):
        use()
