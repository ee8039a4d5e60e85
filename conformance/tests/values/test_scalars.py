"""Operators and functions of single host numbers mean what they mean in kernels."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from symbolic import Term, recorded, value_of

from adstack.errors import AdstackTypeError, AdstackValueError
from adstack.ir import types as t
from adstack.values.scalars import HOST, OPERATORS, dtype_of, host_cast, width_type

op = {row.name: function for row, function in OPERATORS.items()}
host = {row.name: function for row, function in HOST.items()}


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("div", (1, 0), math.inf),
        ("div", (-1.0, 0.0), -math.inf),
        ("div", (7, 2), 3.5),
        ("div", (Fraction(1), Fraction(3)), Fraction(1, 3)),
        ("floordiv", (-7, 2), -4),
        ("floordiv", (7, 0), 0),
        ("floordiv", (7.5, 2.0), 3.0),
        ("floordiv", (-7.0, 0.0), -math.inf),
        ("mod", (-7, 2), 1),
        ("mod", (7, 0), 0),
        ("mod", (-7.5, 2.0), 0.5),
        ("pow", (3, 4), 81),
        ("pow", (2, -1), 0),
        ("pow", (1, -3), 1),
        ("pow", (-1, -3), -1),
        ("pow", (-1, -2), 1),
        ("pow", (2.0, -1), 0.5),
        ("pow", (0.0, -1.0), math.inf),
        ("pow", (Fraction(1, 2), 2), Fraction(1, 4)),
        ("shl", (3, 2), 12),
        ("shl", (3, -1), 0),
        ("shr", (-8, 1), -4),
        ("shr", (8, -1), 0),
        ("not", (5,), -6),
        ("not", (True,), False),
        ("add", (True, True), 2),
        ("neg", (2.5,), -2.5),
        ("pos", (2,), 2),
        ("lt", (1, 2), True),
    ],
)
def test_operators_on_host_numbers_mean_what_they_mean_in_kernels(name, args, wanted):
    got = op[name](*args)
    assert got == wanted
    assert type(got) is type(wanted)


@pytest.mark.parametrize("name", ["mod", "div"])
def test_floats_by_zero_give_nan_where_ieee_says_so(name):
    assert math.isnan(op[name](0.0, 0.0))


def test_operators_leave_runtime_values_to_their_own_operators():
    recorded()
    result = op["div"](1, Term(4.0))
    assert result.value == 0.25
    assert recorded() == ["div"]


@pytest.mark.parametrize("wrong", ["a", None, 1j, [1]])
def test_what_is_no_number_is_refused_by_name(wrong):
    with pytest.raises(
        AdstackTypeError, match=f"add takes numbers, vectors and matrices .got a {type(wrong).__name__}"
    ):
        op["add"](1, wrong)


@pytest.mark.parametrize(
    ("name", "args", "wanted"),
    [
        ("floor", (-1.5,), -2.0),
        ("floor", (3,), 3),
        ("floor", (Fraction(-3, 2),), Fraction(-2)),
        ("ceil", (1.2,), 2.0),
        ("trunc", (-1.7,), -1.0),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (Fraction(5, 2),), Fraction(3)),
        ("round", (Fraction(-5, 2),), Fraction(-3)),
        ("abs", (-3,), 3),
        ("max", (1, math.nan), 1),
        ("max", (math.nan, 1), 1),
        ("min", (1, math.nan), 1),
        ("min", (2, 3), 2),
        ("select", (0, 1, 2), 2),
        ("raw_div", (-7, 2), -3),
        ("raw_div", (7, 0), 0),
        ("raw_div", (7.0, 2), 3.5),
        ("raw_mod", (-7, 2), -1),
        ("raw_mod", (7, 0), 0),
        ("bit_shr", (-1, 28), 15),
        ("bit_shr", (-(2**40), 60), 15),
        ("bit_shr", (1, -1), 0),
        ("bit_shr", (1, 32), 0),
        ("popcnt", (-1,), 32),
        ("popcnt", (2**40 - 1,), 40),
        ("clz", (1,), 31),
        ("clz", (2**40,), 23),
        ("sqrt", (2,), math.sqrt(2)),
        ("sqrt", (Fraction(1, 4),), 0.5),
        ("logical_not", (3,), False),
        ("logical_and", (3, 0), False),
        ("logical_or", (3, 0), True),
        ("pow", (2, 3), 8),
    ],
)
def test_functions_on_host_numbers(name, args, wanted):
    got = host[name](*args)
    assert got == wanted
    assert type(got) is type(wanted)


def test_maximum_takes_the_right_operand_at_a_tie():
    assert math.copysign(1, host["max"](0.0, -0.0)) == -1
    assert math.copysign(1, host["min"](-0.0, 0.0)) == 1


@pytest.mark.parametrize("name", ["raw_mod", "popcnt", "clz"])
def test_functions_of_integers_refuse_floats(name):
    with pytest.raises(AdstackTypeError, match="must be an integer"):
        host[name](*([1.5] * (2 if name == "raw_mod" else 1)))


@pytest.mark.parametrize(
    ("value", "wanted"), [(1, t.i32), (2**31, t.u32), (-(2**31) - 1, t.i64), (2**63, t.u64), (-(2**63), t.i64)]
)
def test_a_host_integer_has_the_narrowest_type_it_fits_where_bits_count(value, wanted):
    assert width_type(value) is wanted


def test_an_integer_of_more_than_64_bits_has_no_bits_to_count():
    with pytest.raises(AdstackValueError, match="does not fit in 64 bits"):
        width_type(2**64)


@pytest.mark.parametrize("value", [1.5, -0.0, 3.0e38, 1e-45])
def test_bits_of_a_float_and_back(value):
    bits = host["bitcast"](value, t.i32)
    assert bits == int(np.float32(value).view(np.int32))
    assert host["bitcast"](bits, t.f32) == float(np.float32(value))


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_keep_their_bits_when_their_sign_is_reinterpreted(value):
    assert host["bitcast"](value, t.u64) == value % 2**64


@pytest.mark.parametrize(("value", "to"), [(1.0, t.i8), (1, t.u1), (1, int)])
def test_bit_cast_needs_a_type_of_the_same_width(value, to):
    with pytest.raises(AdstackTypeError, match=r"not defined|as narrow"):
        host["bitcast"](value, to)


@pytest.mark.parametrize(
    ("value", "to", "wanted"),
    [
        (0.1, t.f32, float(np.float32(0.1))),
        (300, t.u8, 44),
        (-1.9, t.i32, -1),
        (1e30, t.i32, 2**31 - 1),
        (2, float, 2.0),
        (-1.9, int, -1),
        (math.inf, int, 2**63 - 1),
        (2, bool, True),
        (np.float64(0.1), t.f32, float(np.float32(0.1))),
    ],
)
def test_host_cast(value, to, wanted):
    assert host_cast(value, to) == wanted


def test_a_type_is_named_by_a_scalar_type_or_by_int_float_bool():
    assert [dtype_of(x) for x in (t.f16, int, float, bool)] == [t.f16, int, float, bool]
    with pytest.raises(AdstackTypeError, match="'f32' is not a scalar type"):
        dtype_of("f32")
    with pytest.raises(AdstackTypeError, match="is not a scalar type"):
        dtype_of(Term(1))


def test_the_stand_in_is_not_a_number_to_python():
    with pytest.raises(AssertionError):
        bool(Term(1))
    assert value_of(Term(3)) == 3
