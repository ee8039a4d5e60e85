"""Scalar types (types.scalars), their ranges, and what two of them have in common."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from adstack.ir.types import (
    ALL,
    FLOATS,
    INTS,
    NUMERIC,
    SIGNED,
    UNSIGNED,
    ArrayType,
    StackType,
    by_name,
    f16,
    f32,
    f64,
    from_numpy,
    i8,
    i16,
    i32,
    i64,
    promote,
    u1,
    u8,
    u16,
    u32,
    u64,
)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_type_is_found_by_its_name_and_by_its_numpy_type_and_survives_pickling(dtype):
    assert by_name(repr(dtype)) is dtype
    assert from_numpy(dtype.numpy) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize("unknown", ["f8", "int", ""])
def test_an_unknown_name_is_a_key_error(unknown):
    with pytest.raises(KeyError):
        by_name(unknown)


def test_a_numpy_type_without_a_counterpart_is_a_key_error():
    with pytest.raises(KeyError):
        from_numpy(np.complex64)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_ranges_are_those_of_the_width(dtype):
    assert (dtype.min, dtype.max) == (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
    assert dtype.bits == 8 * dtype.size


def test_there_are_twelve_scalar_types():
    assert [t.name for t in ALL] == ["u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]


def test_u1_holds_two_values_in_one_byte():
    assert (u1.min, u1.max, u1.bits, u1.size) == (0, 1, 1, 1)
    assert u1.is_bool
    assert u1.is_integer
    assert not u1.is_signed


def test_the_families_part_all_types():
    assert set(ALL) == {u1, *SIGNED, *UNSIGNED, *FLOATS}
    assert set(NUMERIC) == set(ALL) - {u1}
    assert all(t.is_signed for t in (*SIGNED, *FLOATS))
    assert not any(t.is_signed for t in UNSIGNED)
    assert [t.is_float for t in FLOATS] == [True] * 3
    assert not any(t.is_integer for t in FLOATS)


@pytest.mark.parametrize("a", ALL, ids=str)
@pytest.mark.parametrize("b", ALL, ids=str)
def test_promotion_is_symmetric_and_keeps_what_is_equal(a, b):
    common = promote(a, b)
    assert common is promote(b, a)
    assert promote(common, a) is common
    assert not common.is_bool
    assert common.is_float == (a.is_float or b.is_float)


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        (i32, f16, f16), (i64, f32, f32), (f16, f32, f32), (f32, f64, f64), (i8, i16, i16), (i32, u32, u32),
        (i64, u32, i64),
        (u8, i8, u8), (u1, u1, i32), (u1, i8, i32), (u1, u64, u64), (u1, f16, f16), (u16, u8, u16),
    ],
)  # fmt: skip
def test_floats_then_width_then_unsigned_win(a, b, common):
    assert promote(a, b) is common


def test_handles_compare_by_what_they_hold():
    assert ArrayType(f32, 4) == ArrayType(f32, 4) != ArrayType(f32, 5)
    assert StackType(f32) == StackType(f32) != StackType(f64)
    assert [repr(t) for t in (ArrayType(i8, 3), StackType(u1))] == ["array<i8, 3>", "stack<u1>"]


def test_calling_a_type_converts_a_number():
    assert (u8(257), i8(3.9), f16(0.1), u1(5)) == (1, 3, 0.0999755859375, True)
