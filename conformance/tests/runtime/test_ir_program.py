"""IR written by hand runs on the backend in use, with numpy arrays for its places."""

from __future__ import annotations

import numpy as np
import pytest

import adstack as qd
from adstack.runtime.ir_program import IRProgram

SCALED = """
kernel @scaled(%n: i32, %by: f32) -> (i32) {
  place @x : f32[?] ndarray
  %zero = const 0 : i32
  parallel_for (%i = %zero to %n) {
    %v = load @x[%i]
    %w = mul %v, %by
    store @x[%i], %w
    yield
  }
  return %n
}
"""


def test_arrays_change_in_place_and_scalars_come_back():
    qd.init(qd.reference)
    x = np.array([1, 2, 3], np.float32)
    assert IRProgram(SCALED)({"x": x}, (2, 0.5)) == (2,)
    assert x.tolist() == [0.5, 1.0, 3.0]


def test_arrays_of_other_orders_are_copied_in_and_out():
    qd.init(qd.reference)
    array = np.arange(6, dtype=np.float32)
    IRProgram(SCALED)({"x": array[::2]}, (3, 10))
    assert array.tolist() == [0, 1, 20, 3, 40, 5]


def test_a_program_of_tasks_is_taken_as_it_is():
    qd.init(qd.reference)
    text = "program @p {\n place @x : i32[1] field\n task @t serial () {\n  %z = const 0 : i32\n  %v = const 7 : i32\n"
    x = np.zeros(1, np.int32)
    IRProgram(text + "  store @x[%z], %v\n  return\n }\n}")({"x": x})
    assert x[0] == 7


@pytest.mark.parametrize("x", [None, np.zeros(3), np.zeros((3, 1), np.float32), [1.0]])
def test_what_does_not_fit_a_place_is_refused(x):
    qd.init(qd.reference)
    with pytest.raises(ValueError, match="@x takes an array of f32, 1 axes; got"):
        IRProgram(SCALED)({} if x is None else {"x": x}, (3, 2))


def test_a_text_that_breaks_the_rules_is_refused():
    with pytest.raises(qd.InternalError, match="to end with return"):
        IRProgram("kernel @k() {\n}")


def test_what_was_written_before_an_error_is_seen():
    qd.init(qd.reference)
    x = np.ones(2, np.float32)
    with pytest.raises(IndexError):
        IRProgram(SCALED)({"x": x}, (3, 4))
