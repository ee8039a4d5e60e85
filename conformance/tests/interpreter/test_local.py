"""Local arrays and adstacks in programs: one per lane, masks, capacities, overflow, underflow."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import parallel, run_text, serial

from adstack.errors import AdstackAssertionError, AdstackOutOfBoundsError, AdstackOverflowError

OUT = "place @x : i32[?] field\n place @y : i32[?] field"


def mapped(body: str, x: list[int], **options: object) -> list[int]:
    text = parallel(f"%v = load @x[%i] : i32\n{body}\nstore @y[%i], %r", len(x), OUT)
    y = np.zeros(len(x), np.int32)
    run_text(text, {"x": np.array(x, np.int32), "y": y}, **options)
    values: list[int] = y.tolist()
    return values


ARRAY = """
  %a = array.alloc : array<i32, 3>
  %neg = lt %v, %zero : u1
  if %neg {
    yield
  } else {
    array.store %a, %v, %i
    yield
  }
  %one = const 1 : i32
  %r = array.load %a, %one : i32
"""


def test_each_lane_has_an_array_of_its_own_that_begins_with_zeros():
    assert mapped(ARRAY, [0, 1, -1, 1, 2]) == [0, 1, 0, 3, 0]
    assert mapped(ARRAY, [0, 1, -1, 1, 2], lanes=2) == [0, 1, 0, 3, 0]


@pytest.mark.parametrize("bad", [3, 1000])
def test_an_index_outside_a_local_array_is_an_error(bad):
    with pytest.raises(
        AdstackOutOfBoundsError,
        match=rf"a local array \(a\) at \({bad}\), outside its extents \(3\), in iteration \(2\)",
    ):
        mapped(ARRAY, [0, 1, bad])


def test_a_negative_index_outside_a_local_array_is_an_error():
    with pytest.raises(AdstackOutOfBoundsError, match=r"a local array \(a\) at \(-1\)"):
        mapped("%a = array.alloc : array<i32, 3>\n %r = array.load %a, %v : i32", [-1])


REVERSE = """
  %s = stack.alloca %capacity : stack<i32>
  for %j = %zero to %v {
    %sq = mul %j, %j : i32
    stack.push %s, %sq
    yield
  }
  %r = for %k = %zero to %v carry (%w = %zero) {
    %t = stack.load_top %s : i32
    stack.pop %s
    %ten = const 10 : i32
    %u = mul %w, %ten : i32
    %x = add %u, %t : i32
    yield %x
  }
"""


def reversed_squares(n: int) -> int:
    total = 0
    for j in reversed(range(n)):
        total = 10 * total + j * j
    return total


def test_lanes_push_and_pop_different_numbers_of_times():
    x = [3, 0, 4, 1, 2]
    body = "%capacity = const 4 : i8\n" + REVERSE
    assert mapped(body, x, debug=True) == [reversed_squares(v) for v in x]


def test_a_capacity_may_differ_between_lanes_and_have_any_type():
    x = [3, 0, 4, 1, 2]
    body = "%capacity = cast %v : u64\n" + REVERSE
    assert mapped(body, x) == [reversed_squares(v) for v in x]


OVERFLOWS = """kernel @deep() {
  place @x : i32[?] field
  %zero = const 0 : i32
  %n = const 4 : i32
  %two = const 2 : i32
  parallel_for (%i = %zero to %n) {
    %v = load @x[%i] : i32
    %s = stack.alloca %two : stack<f32> loc("user.py":3:5)
    %one = const 1.0 : f32
    for %j = %zero to %v {
      stack.push %s, %one
      stack.acc_adjoint %s, %one
      yield
    }
    %other = stack.alloca %zero : stack<f32> loc("user.py":9:5)
    for %j2 = %zero to %v {
      stack.push %other, %one
      stack.push %other, %one
      yield
    }
    yield
  }
  parallel_for (%m = %zero to %n) {
    store @x[%m], %two
    yield
  }
  return
}
"""


@pytest.mark.parametrize("lanes", [1, 3, 100])
def test_an_overflow_is_raised_after_the_launch_with_the_depth_that_was_wanted(lanes):
    x = np.array([3, 1, 7, 5], np.int32)
    with pytest.raises(AdstackOverflowError) as caught:
        run_text(OVERFLOWS, {"x": x}, lanes=lanes)
    message = str(caught.value)
    assert message.startswith("user.py:3:5: Adstack overflow in deep: a stack of capacity 2 was pushed 7 deep")
    assert "room for 7" in message
    assert isinstance(caught.value, OverflowError)
    assert x.tolist() == [2, 2, 2, 2]


def test_without_an_overflow_nothing_is_raised():
    run_text(OVERFLOWS.replace("stack.alloca %zero", "stack.alloca %n"), {"x": np.array([2, 0, 1, 2], np.int32)})


@pytest.mark.parametrize("capacity", ["-1 : i32", "0 : u8", "-9223372036854775808 : i64"])
def test_a_stack_without_room_overflows_at_the_first_push(capacity):
    body = f"%c = const {capacity}\n %s = stack.alloca %c : stack<i32>\n stack.push %s, %a\n"
    body += "%t = stack.load_top %s : i32\n return %t"
    with pytest.raises(AdstackOverflowError, match="capacity 0 was pushed 1 deep"):
        run_text(serial(body, "(%a: i32) -> (i32)"), scalars=(5,))


UNDERFLOW = """
  %c = const 18446744073709551615 : u64
  %s = stack.alloca %c : stack<f64>
  %one = const 1.5 : f64
  stack.push %s, %one
  stack.acc_adjoint %s, %one
  stack.pop %s
  stack.pop %s loc("user.py":8:3)
  %p = stack.load_top %s : f64
  %d = stack.load_top_adj %s : f64
  return %p, %d
"""


def test_popping_an_empty_stack_does_nothing_and_is_an_error_in_debug_mode():
    text = serial(UNDERFLOW, "() -> (f64, f64)")
    assert run_text(text) == (1.5, 1.5)
    with pytest.raises(AdstackAssertionError, match=r"^user\.py:8:3: Adstack underflow"):
        run_text(text, debug=True)


def test_the_top_of_a_fresh_stack_is_zero():
    body = "%c = const 3 : i32\n %s = stack.alloca %c : stack<f32>\n %t = stack.load_top %s : f32\n return %t"
    assert run_text(serial(body, "() -> (f32)"), debug=True) == (0.0,)


def test_an_adjoint_is_that_of_the_top_and_a_push_clears_it():
    body = """
      %c = const 2 : i32
      %s = stack.alloca %c : stack<f32>
      %v = const 2.5 : f32
      stack.push %s, %v
      stack.acc_adjoint %s, %v
      stack.push %s, %v
      stack.acc_adjoint %s, %v
      stack.acc_adjoint %s, %v
      %top = stack.load_top_adj %s : f32
      stack.pop %s
      %below = stack.load_top_adj %s : f32
      stack.push %s, %v
      %fresh = stack.load_top_adj %s : f32
      return %top, %below, %fresh
    """
    assert run_text(serial(body, "() -> (f32, f32, f32)")) == (5.0, 2.5, 0.0)
