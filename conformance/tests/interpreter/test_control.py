"""`if`, `for`, `while` and `parallel_for`, where lanes agree and where they part."""

from __future__ import annotations

import numpy as np
import pytest
from interpreter_kit import parallel, run_text, serial

from adstack.interpreter import RunOptions, run
from adstack.ir.builder import Builder
from adstack.ir.ops import CALL
from adstack.ir.scalar_ops import FLOORDIV
from adstack.ir.structure import Function, Kernel, Place, Region, Value
from adstack.ir.types import f32, i32

OUT = "place @x : i32[?] ndarray\n place @y : i32[?] ndarray"


def mapped(body: str, x: list[int], places: str = OUT, **options: object) -> list[int]:
    """Run `body` with %v = x[i]; it defines %r, which goes to y[i]."""
    text = parallel(f"%v = load @x[%i] : i32\n{body}\nstore @y[%i], %r", len(x), places)
    y = np.zeros(len(x), np.int32)
    run_text(text, {"x": np.array(x, np.int32), "y": y}, **options)
    values: list[int] = y.tolist()
    return values


SIGN = """
  %c = lt %v, %zero : u1
  %r = if %c -> (i32) {
    %a = neg %v : i32
    yield %a
  } else {
    yield %v
  }
"""


@pytest.mark.parametrize("x", [[1, 2], [-1, -2], [-3, 4, 0, -5], [7], [-7]])
def test_if_takes_the_side_of_each_lane(x):
    assert mapped(SIGN, x) == [abs(v) for v in x]


def test_a_side_not_taken_has_no_effects():
    body = """
      %c = eq %v, %zero : u1
      if %c {
        yield
      } else {
        %q = load @y[%v] : i32
        store @y[%v], %v
        yield
      }
      %r = load @y[%i] : i32
    """
    assert mapped(body, [0, 1, 0, 3]) == [0, 1, 0, 3]


def test_an_index_out_of_bounds_on_the_other_side_is_no_error():
    body = """
      %n1 = const 3 : i32
      %c = lt %v, %n1 : u1
      %r = if %c -> (i32) {
        %q = load @x[%v] : i32
        yield %q
      } else {
        yield %v
      }
    """
    assert mapped(body, [2, 100, 1]) == [1, 100, 100]


def test_a_loop_may_run_a_different_number_of_times_in_each_lane():
    body = """
      %r = for %j = %zero to %v carry (%s = %zero) {
        %t = add %s, %j : i32
        yield %t
      }
    """
    x = [3, 0, 5, -2, 3, 1]
    assert mapped(body, x) == [sum(range(v)) for v in x]
    assert mapped(body, [4, 4, 4]) == [6, 6, 6]


def test_a_loop_may_begin_elsewhere_in_each_lane():
    body = """
      %five = const 5 : i32
      %r = for %j = %v to %five carry (%s = %zero) {
        %t = add %s, %j : i32
        yield %t
      }
    """
    x = [3, 0, 5, -2, 9]
    assert mapped(body, x) == [sum(range(v, 5)) for v in x]


def collatz(v: int) -> int:
    steps = 0
    while v > 1:
        v, steps = (v // 2 if v % 2 == 0 else 3 * v + 1), steps + 1
    return steps


COLLATZ = """
  %one = const 1 : i32
  %two = const 2 : i32
  %three = const 3 : i32
  %last, %r = while (%a = %v, %s = %zero) {
    %c = gt %a, %one : u1
    yield %c, %a, %s
  } do (%b, %t) {
    %u = add %t, %one : i32
    %m = mod %b, %two : i32
    %even = eq %m, %zero : u1
    %next = if %even -> (i32) {
      %h = floordiv %b, %two : i32
      yield %h
    } else {
      %p = mul %b, %three : i32
      %q = add %p, %one : i32
      yield %q
    }
    yield %next, %u
  }
"""


@pytest.mark.parametrize("x", [[27], [6, 6, 6], list(range(1, 40)), [1, 1], [1, 97, 2]])
def test_a_while_ends_for_each_lane_on_its_own(x):
    assert mapped(COLLATZ, x) == [collatz(v) for v in x]


def test_the_chunk_size_changes_nothing():
    x = list(range(1, 30))
    assert mapped(COLLATZ, x, lanes=4) == mapped(COLLATZ, x, lanes=1) == mapped(COLLATZ, x)


def test_a_while_whose_condition_is_the_same_for_all_lanes_but_false_gives_the_initial_values():
    body = """
      %no = const false : u1
      %r = while (%a = %v) {
        yield %no, %a
      } do (%b) {
        yield %b
      }
    """
    assert mapped(body, [4, 5]) == [4, 5]


def test_the_values_of_a_while_are_those_that_its_condition_gave():
    body = """
      %one = const 1 : i32
      %r = while (%a = %v) {
        %d = add %a, %one : i32
        %c = lt %d, %n : u1
        yield %c, %d
      } do (%b) {
        yield %b
      }
    """
    assert mapped(body, [0, 2, 7]) == [3, 3, 8]


def test_nests_of_loops_and_branches_part_and_meet_again():
    body = """
      %two = const 2 : i32
      %r = for %j = %zero to %v carry (%s = %zero) {
        %m = mod %j, %two : i32
        %odd = ne %m, %zero : u1
        %t = if %odd -> (i32) {
          %u = for %k = %zero to %j carry (%w = %s) {
            %e = add %w, %i : i32
            yield %e
          }
          yield %u
        } else {
          %f = sub %s, %j : i32
          yield %f
        }
        yield %t
      }
    """
    x = [5, 0, 3, 8, 1]
    expected = []
    for i, v in enumerate(x):
        s = 0
        for j in range(v):
            s = s + i * j if j % 2 else s - j
        expected.append(s)
    assert mapped(body, x) == expected


@pytest.mark.parametrize(("index", "lo", "hi"), [("i8", -128, 127), ("u8", 0, 255), ("u64", 2**64 - 3, 2**64 - 1)])
def test_a_loop_may_span_the_whole_range_of_its_type(index, lo, hi):
    body = f"""
      %lo = const {lo} : {index}
      %hi = const {hi} : {index}
      %zero = const 0 : i32
      %one = const 1 : i32
      %n = for %j = %lo to %hi carry (%s = %zero) {{
        %t = add %s, %one : i32
        yield %t
      }}
      return %n
    """
    assert run_text(serial(body, "() -> (i32)")) == (hi - lo,)


def test_trip_counts_wider_than_the_type_are_counted_where_lanes_differ():
    text = parallel(
        """
        %lo = load @x[%i] : i8
        %hi = const 127 : i8
        %z = const 0 : i32
        %one = const 1 : i32
        %r = for %j = %lo to %hi carry (%s = %z) {
          %t = add %s, %one : i32
          yield %t
        }
        store @y[%i], %r
        """,
        3,
        "place @x : i8[?] ndarray\n place @y : i32[?] ndarray",
    )
    y = np.zeros(3, np.int32)
    run_text(text, {"x": np.array([-128, 127, 0], np.int8), "y": y})
    assert y.tolist() == [255, 0, 127]


BOX = """kernel @k(%a: u8, %b: u8) {
  place @y : i32[?, ?] field
  place @n : i32[] field
  %z = const 2 : i64
  %e = const 5 : i64
  %one = const 1 : i32
  parallel_for (%i = %a to %b, %j = %z to %e) {
    %p = cast %i : i32
    %q = cast %j : i32
    %ten = const 10 : i32
    %s = mul %p, %ten : i32
    %t = add %s, %q : i32
    store @y[%i, %j], %t
    %old = atomic add @n[], %one : i32
    yield
  }
  return
}
"""


@pytest.mark.parametrize("lanes", [1, 4, 100])
def test_a_parallel_loop_visits_each_point_of_its_box_once(lanes):
    y, n = np.zeros((4, 5), np.int32), np.zeros((), np.int32)
    run_text(BOX, {"y": y, "n": n}, (1, 3), lanes=lanes)
    expected = np.zeros((4, 5), np.int32)
    for i in (1, 2):
        for j in (2, 3, 4):
            expected[i, j] = 10 * i + j
    assert (y == expected).all()
    assert n == 6


@pytest.mark.parametrize("last", ["5", "2", "0"])
def test_a_parallel_loop_over_an_empty_box_does_nothing(last):
    y, n = np.zeros((4, 5), np.int32), np.zeros((), np.int32)
    run_text(BOX.replace("const 5", f"const {last}"), {"y": y, "n": n}, (3, 1))
    assert n == 0


def test_a_call_runs_the_functions_body_for_the_lanes_that_make_it():
    place = Place("x", f32, (None,))
    b = Builder()
    with b.into(Region([Value(f32), Value(f32)])) as body:
        a, c = body.args
        sides = []
        for swapped in (False, True):
            with b.into(Region()) as side:
                b.yield_(b.sub(c, a) if swapped else b.sub(a, c))
            sides.append(side)
        b.yield_(*b.if_(b.lt(a, c), sides[1], sides[0]), b.mul(a, c))
    distance = Function("distance", body)
    low, high = b.const(0, i32), b.shape(place, 0)
    with b.into(Region([Value(i32)])) as loop:
        v = b.load(place, loop.args)
        far, area = b.append(CALL, (v, b.const(3.0, f32)), (f32, f32), {"function": distance}).results
        again = b.append(CALL, (far, area), (f32, f32), {"function": distance}).results
        b.store(place, loop.args, b.add(far, again[0]))
        b.yield_()
    b.parallel_for([(low, high)], loop)
    b.return_()
    x = np.array([1, 2, 3, 5, 8], np.float32)
    run(Kernel("k", b.region, {"x": place}), {"x": x})
    assert x.tolist() == [abs(v - 3) + abs(abs(v - 3) - 3 * v) for v in (1, 2, 3, 5, 8)]


def test_a_function_never_traps():
    b = Builder()
    with b.into(Region([Value(i32)])) as body:
        b.yield_(b.emit(FLOORDIV, b.const(1, i32), *body.args))
    zero = b.const(0, i32)
    results = b.append(CALL, (zero,), (i32,), {"function": Function("inverse", body)}).results
    b.return_(*results)
    assert run(Kernel("k", b.region, {}, (i32,)), {}, options=RunOptions(debug=True)) == (0,)
