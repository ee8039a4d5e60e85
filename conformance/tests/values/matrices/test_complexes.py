"""Complex arithmetic on 2-vectors: exact over rationals, and within counted roundings of Python's own."""

import cmath
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.errors import AdstackTypeError
from adstack.values.matrices import complexes as c
from adstack.values.matrices.matrix import Vector

exact = st.fractions(-9, 9, max_denominator=9)
pairs = st.tuples(exact, exact)
SAMPLES = [1 + 2j, -3 + 0.5j, -2 - 1j, 0.25j, -4 + 0j]


def number(z):
    re, im = z
    return complex(re, im)


def vector(z):
    return Vector([z.real, z.imag])


def product(a, b):
    return [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]


@given(pairs, pairs)
def test_products_and_quotients_are_exact_over_rationals(a, b):
    assert c.cmul(a, b).to_list() == product(a, b)
    assert c.cmul(a, c.cconj(a)).to_list() == [a[0] ** 2 + a[1] ** 2, 0]
    if b != (0, 0):
        assert c.cmul(c.cdiv(a, b), b).to_list() == list(a)
        assert c.cmul(c.cinv(b), b).to_list() == [1, 0]


def within(got, wanted, roundings):
    """Whether a complex result is off by no more than that many roundings of its magnitude."""
    return abs(number(got) - wanted) <= roundings * math.ulp(abs(wanted))


@pytest.mark.parametrize("z", SAMPLES)
def test_exponential_and_logarithm(z):
    # exp, a cosine or sine, a product: each within the two units of its row, and the argument's
    assert within(c.cexp(vector(z)), cmath.exp(z), 8)
    assert within(c.clog(vector(z)), cmath.log(z), 8)


@pytest.mark.parametrize("z", SAMPLES)
@pytest.mark.parametrize("n", [0.5, 2.0, 3.0, -1.0])
def test_powers_take_the_principal_value(z, n):
    # the angle times n is rounded, and the power and the sine each are within the two units of their rows
    assert within(c.cpow(vector(z), n), cmath.rect(abs(z) ** n, cmath.phase(z) * n), 16)
    assert within(c.csqrt(vector(z)), cmath.sqrt(z), 16)


def test_the_square_root_of_zero_is_zero():
    assert c.csqrt(Vector([0.0, 0.0])).to_list() == [0.0, 0.0]


@pytest.mark.parametrize("wrong", [[1, 2, 3], 3, [[1, 2], [3, 4]]])
def test_a_complex_number_is_a_2_vector(wrong):
    with pytest.raises(AdstackTypeError, match=r"complex number is a 2-vector|must be vectors"):
        c.cconj(wrong)
