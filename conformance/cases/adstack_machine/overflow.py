"""Past its capacity a stack leaves memory alone, remembers how much it wanted, and the launch raises."""

import numpy as np

from adstack.conformance.case import IR, Raises, Run, case

PUSHED = """
kernel @pushed(%depth: i32, %room: i32) {
  place @guard : i32[4] field
  place @out : i32[1] field
  %zero = const 0 : i32
  %s = stack.alloca %room : stack<i32>
  for %i = %zero to %depth {
    stack.push %s, %i
    yield
  }
  %t = stack.load_top %s
  store @out[%zero], %t
  return
}
"""


def pushed(depth, room, **asked):
    guard, out = np.array([1, 2, 3, 4], np.int32), np.zeros(1, np.int32)
    seen = [(guard, [1, 2, 3, 4]), *([(out, asked.pop("top"))] if "top" in asked else [])]
    return Run(IR(PUSHED, {"guard": guard, "out": out}), args=(depth, room), expect=seen, **asked)


@case(rules=["adstack.push"])
def a_full_stack_is_no_error(qd):
    return pushed(5, 5, top=[4])


@case(rules=["adstack.push"], params={"room": [0, 1, 4], "caught": ["OverflowError", "AssertionError", "RuntimeError"]})
def one_push_too_many_raises(qd, room, caught):
    return pushed(room + 1, room, raises=Raises(caught, "Adstack overflow"))


@case(rules=["adstack.push"])
def the_error_says_how_deep_the_stack_should_have_been(qd):
    return pushed(11, 3, raises=Raises("AdstackOverflowError", "capacity 3 was pushed 11 deep"))


@case(rules=["adstack.push"])
def a_launch_after_an_overflow_starts_afresh(qd):
    return [pushed(9, 2, raises=Raises("OverflowError")), pushed(2, 2, top=[1])]


CLAMPED = """
kernel @clamped() {
  place @table : i32[2] field
  place @seen : i32[1] field
  %zero = const 0 : i32
  %one = const 1 : i32
  %two = const 2 : i32
  %nine = const 9 : i32
  %s = stack.alloca %two : stack<i32>
  stack.push %s, %zero
  stack.push %s, %one
  stack.push %s, %nine
  stack.push %s, %nine
  %t = stack.load_top %s
  %v = load @table[%t]
  store @seen[%zero], %v
  return
}
"""


@case(rules=["adstack.top", "adstack.push"])
def the_top_of_an_overflown_stack_is_its_last_slot(qd):
    """It is used as an index: past the table if the top were one of the values that found no room."""
    table, seen = np.array([5, 6], np.int32), np.zeros(1, np.int32)
    run = IR(CLAMPED, {"table": table, "seen": seen})
    return Run(run, raises=Raises("OverflowError", "capacity 2 was pushed 4 deep"), expect=[(table, [5, 6])])


LANES = """
kernel @lanes() {
  place @depth : i32[6] field
  %zero = const 0 : i32
  %six = const 6 : i32
  %three = const 3 : i32
  parallel_for (%i = %zero to %six) {
    %s = stack.alloca %three : stack<f32>
    %n = load @depth[%i]
    %v = const 1.0 : f32
    for %j = %zero to %n {
      stack.push %s, %v
      yield
    }
    yield
  }
  return
}
"""


@case(rules=["adstack.push", "adstack.state"])
def the_greatest_depth_of_all_iterations_is_reported(qd):
    depth = np.array([0, 7, 3, 5, 7, 2], np.int32)
    return Run(IR(LANES, {"depth": depth}), raises=Raises("OverflowError", "capacity 3 was pushed 7 deep"))


@case(rules=["adstack.push", "adstack.state"])
def iterations_within_their_room_are_fine(qd):
    depth = np.array([0, 1, 3, 2, 3, 2], np.int32)
    return Run(IR(LANES, {"depth": depth}), expect=[(depth, [0, 1, 3, 2, 3, 2])])
