"""Numbers that machine code takes as arguments, of Python's and numpy's kinds: what Python makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calls_kit import by_machine_code, settled
from hypothesis import given, settings
from hypothesis import strategies as st

import adstack as qd

pytestmark = pytest.mark.usefixtures("on_cpu")


def kept(dtype: Any) -> Any:
    """A kernel that gives a number of a type back, called often enough to be served by machine code."""

    @qd.kernel
    def same(a: dtype) -> dtype:
        return a

    settled(same, 1.0 if dtype.is_float else 1)
    return same


KINDS = {
    qd.f32: (1, -3, 2**53, 0.5, np.float32(0.1), np.float64(0.1)),
    qd.f64: (1, -(2**53), np.float32(0.1), np.float64(0.1)),
    qd.i32: (7, np.int32(-7), np.int64(7)),
    qd.u8: (7, np.int32(7), np.int64(255)),
}


@pytest.mark.parametrize("dtype", KINDS, ids=str)
def test_numbers_of_several_kinds_are_served(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    same = kept(dtype)
    for value in KINDS[dtype]:
        assert by_machine_code(lambda value=value: same(value), monkeypatch) == dtype.numpy.type(value).item()


NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-(2**31), 2**31),
    st.integers(2**53 - 3, 2**53 + 3),
    st.integers(-300, 300),
    st.floats(),
    st.floats(width=32),
    st.booleans(),
)
AS = (lambda value: value, np.float64, np.float32, np.float16, np.int64, np.int32, np.uint64, np.uint8, np.bool_)


@pytest.mark.parametrize("dtype", [qd.f32, qd.f64, qd.i8, qd.i32, qd.u32, qd.i64, qd.u64, qd.u1], ids=str)
def test_every_number_becomes_what_python_makes_of_it(dtype: Any) -> None:
    same = kept(dtype)

    def outcome(call: Any, value: Any) -> Any:
        try:
            result = call(value)
        except (ValueError, TypeError, qd.AdstackError) as error:
            return type(error), str(error)
        return type(result), np.asarray(result, dtype.numpy).tobytes()

    @given(NUMBERS, st.sampled_from(AS))
    @settings(deadline=None, max_examples=150)
    def check(value: Any, kind: Any) -> None:
        try:
            with np.errstate(all="ignore"):
                value = kind(value)
        except (OverflowError, ValueError):
            return
        assert outcome(same, value) == outcome(same.serve, value)

    check()
