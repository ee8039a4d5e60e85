"""Literals are rounded once, correctly; distances count the floats in between."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adstack.conformance.case import CaseError
from adstack.conformance.harness.compare import measure_within, sum_and_bound
from adstack.conformance.harness.exact import exact_value, nested, rounded, ulp_distance, unit_roundoff

F16, F32, F64 = (np.dtype(name) for name in ("float16", "float32", "float64"))
FLOATS = pytest.mark.parametrize("dtype", [F16, F32, F64], ids=str)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_rounds_like_the_hardware(value):
    with np.errstate(over="ignore", under="ignore"):
        for dtype in (F16, F32, F64):
            assert rounded(exact_value(value), dtype).tobytes() == dtype.type(value).tobytes()


@given(st.fractions())
def test_a_fraction_rounds_to_the_nearest_double(value):
    assert rounded(value, F64).item() == value.numerator / value.denominator


@FLOATS
def test_ties_go_to_even(dtype):
    step = Fraction(1, 2 ** int(np.finfo(dtype).nmant))
    assert rounded(1 + step / 2, dtype).item() == 1
    assert rounded(1 + 3 * step / 2, dtype).item() == 1 + 2 * step


@FLOATS
def test_the_least_subnormal_and_half_of_it(dtype):
    least = Fraction(float(np.finfo(dtype).smallest_subnormal))
    assert rounded(least, dtype).item() == least
    assert rounded(least / 2, dtype).item() == 0
    assert rounded(least * 3 / 4, dtype).item() == least


@FLOATS
def test_what_is_too_large_becomes_infinite_only_past_the_halfway_point(dtype):
    info = np.finfo(dtype)
    most, ulp = Fraction(float(info.max)), Fraction(2) ** (int(info.maxexp) - 1 - int(info.nmant))
    assert rounded(most + ulp / 2 - 1 / ulp**9, dtype).item() == most
    assert rounded(most + ulp / 2, dtype).item() == math.inf
    assert rounded(-most - ulp, dtype).item() == -math.inf


def test_a_decimal_with_many_digits_is_not_rounded_twice():
    # Just above the halfway point between two f32; the nearest f64 is the halfway point itself.
    text = "1.000000059604644775390625000000000000000001"
    assert float(text) == 1 + 2**-24
    assert rounded(exact_value(text), F32).item() == 1 + 2**-23


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/3", Fraction(1, 3)),
        ("-inf", -math.inf),
        ("1e-3", Fraction(1, 1000)),
        ("0", Fraction(0)),
        (True, Fraction(1)),
    ],
)
def test_what_a_literal_means(text, value):
    assert exact_value(text) == value


@pytest.mark.parametrize("text", ["-0", "-0.0", -0.0, np.float32(-0.0)])
def test_minus_zero_keeps_its_sign(text):
    assert math.copysign(1, rounded(exact_value(text), F32)) == -1


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 0.5, "nan"])
def test_an_integer_type_must_hold_the_number(value):
    with pytest.raises(CaseError):
        rounded(exact_value(value), np.dtype(np.int32))


def test_nested_lists_have_a_shape():
    assert nested([[1, 2, 3], (4, 5, 6)]) == ((2, 3), [1, 2, 3, 4, 5, 6])
    assert nested(7) == ((), [7])
    assert nested([]) == ((0,), [])
    assert nested(np.eye(2)) == ((2, 2), [1, 0, 0, 1])


@FLOATS
def test_neighbours_are_one_apart_across_zero_and_at_every_scale(dtype):
    values = np.array([1.0, -1.0, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny, 1000], dtype)
    assert ulp_distance(values, np.nextafter(values, dtype.type(math.inf))).tolist() == [1] * 5
    least = np.array([np.finfo(dtype).smallest_subnormal], dtype)
    assert ulp_distance(least, -least).tolist() == [2]
    most = np.array([np.finfo(dtype).max], dtype)
    assert ulp_distance(most, np.array([math.inf], dtype)).tolist() == [1]


@FLOATS
def test_zeros_of_different_sign_and_nans_are_infinitely_far(dtype):
    got = np.array([0.0, -0.0, math.nan, 1.0, math.nan], dtype)
    want = np.array([-0.0, -0.0, 1.0, math.nan, math.nan], dtype)
    assert ulp_distance(got, want).tolist() == [math.inf, 0, math.inf, math.inf, 0]


def test_every_nan_is_the_same_whatever_its_bits():
    got = np.array([0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    assert ulp_distance(got, np.array([math.nan] * 2, np.float32)).tolist() == [0, 0]


def test_unequal_integers_are_infinitely_far():
    assert ulp_distance(np.array([1, 2]), np.array([1, 3])).tolist() == [0, math.inf]


def test_the_bound_of_a_sum_is_gamma_times_the_sum_of_magnitudes():
    total, bound = sum_and_bound([1, -2, 0.5], F32)
    u = unit_roundoff(F32)
    assert u == Fraction(1, 2**24)
    assert total == Fraction(-1, 2)
    assert bound == 2 * u / (1 - 2 * u) * Fraction(7, 2)


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=40), st.randoms(use_true_random=False))
def test_no_order_of_addition_leaves_the_bound(terms, random):
    total, bound = sum_and_bound(terms, F32)
    random.shuffle(terms)
    running = np.float32(0)
    for term in terms:
        running = running + np.float32(term)
    assert abs(Fraction(float(running)) - total) <= bound


def test_of_a_value_without_a_bound_nothing_is_said_unless_it_is_exact():
    got, unknown = np.array([1.0, 2.0], np.float32), np.array([0.5, np.inf])
    assert measure_within("y", got, [1.25, 2], unknown).within
    assert not measure_within("y", got, [2, 2], unknown).within
    with pytest.raises(CaseError, match="y: no error bound is known for 2"):
        measure_within("y", got, [1, 2.5], unknown)
    assert not measure_within("y", np.array([1.0, np.nan], np.float32), [1, 2.5], unknown).within
