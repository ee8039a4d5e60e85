"""What is pushed comes back in reverse, in its own type; an empty stack stays empty."""

import numpy as np

from adstack.conformance.case import IR, Raises, Run, case

NUMPY = {
    "u1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
EXTREMES = {
    "u1": [True, False, True], "i8": [-128, 127, 3], "i16": [-(2**15), 2**15 - 1, 3],
    "i32": [-(2**31), 2**31 - 1, 3], "i64": [-(2**63), 2**63 - 1, 3], "u8": [255, 0, 3],
    "u16": [2**16 - 1, 0, 3], "u32": [2**32 - 1, 0, 3], "u64": [2**64 - 1, 0, 3],
    "f16": [65504, -0.0, 2.0**-24], "f32": [2.0**127, -0.0, 2.0**-149], "f64": [2.0**1023, -0.0, 2.0**-1074],
}  # fmt: skip

REVERSED = """
kernel @reversed() {
  place @x : TYPE[3] field
  place @y : TYPE[3] field
  %zero = const 0 : i32
  %three = const 3 : i32
  %s = stack.alloca %three : stack<TYPE>
  for %i = %zero to %three {
    %v = load @x[%i]
    stack.push %s, %v
    yield
  }
  for %j = %zero to %three {
    %t = stack.load_top %s
    store @y[%j], %t
    stack.pop %s
    yield
  }
  return
}
"""


@case(rules=["adstack.push", "adstack.pop", "adstack.top", "adstack.state"], params={"dtype": list(NUMPY)})
def a_stack_gives_back_in_reverse(qd, dtype):
    x, y = np.array(EXTREMES[dtype], NUMPY[dtype]), np.zeros(3, NUMPY[dtype])
    text = REVERSED.replace("TYPE", dtype)
    return Run(IR(text, {"x": x, "y": y}), expect=[(x, EXTREMES[dtype]), (y, EXTREMES[dtype][::-1])])


FRESH = """
kernel @fresh() -> (TYPE) {
  %room = const 4 : i32
  %s = stack.alloca %room : stack<TYPE>
  %t = stack.load_top %s
  return %t
}
"""


@case(rules=["adstack.top", "adstack.state"], params={"dtype": list(NUMPY)})
def the_top_of_a_fresh_stack_is_zero(qd, dtype):
    return Run(IR(FRESH.replace("TYPE", dtype)), returns=(0,), returns_dtype=dtype if dtype[0] == "f" else "f64")


DRAINED = """
kernel @drained() -> (i32, i32) {
  %room = const 4 : i32
  %s = stack.alloca %room : stack<i32>
  %seven = const 7 : i32
  %nine = const 9 : i32
  stack.push %s, %seven
  stack.pop %s
  stack.pop %s
  stack.pop %s
  %empty = stack.load_top %s
  stack.push %s, %nine
  %full = stack.load_top %s
  return %empty, %full
}
"""


@case(rules=["adstack.pop", "adstack.top"])
def an_empty_stack_stays_empty(qd):
    """Its top is slot 0, which still holds 7; one push later the stack has one element, not minus one."""
    return Run(IR(DRAINED), returns=(7, 9))


@case(rules=["adstack.pop"], options={"debug": True})
def popping_an_empty_stack_is_an_error_in_debug_mode(qd):
    return Run(IR(DRAINED), raises=Raises("AssertionError", "empty"))


REWRITTEN = """
kernel @rewritten() -> (i32, i32) {
  %room = const 2 : i32
  %s = stack.alloca %room : stack<i32>
  %one = const 1 : i32
  %two = const 2 : i32
  %three = const 3 : i32
  stack.push %s, %one
  stack.push %s, %two
  stack.pop %s
  stack.push %s, %three
  %top = stack.load_top %s
  stack.pop %s
  %below = stack.load_top %s
  return %top, %below
}
"""


@case(rules=["adstack.push", "adstack.pop"])
def a_push_after_a_pop_replaces_the_slot(qd):
    return Run(IR(REWRITTEN), returns=(3, 1))


LOADED = """
kernel @loaded() -> (i32, i32, i32) {
  %room = const 2 : i32
  %s = stack.alloca %room : stack<i32>
  %r = stack.alloca %room : stack<i32>
  %one = const 1 : i32
  %two = const 2 : i32
  stack.push %s, %one
  stack.push %r, %two
  %a = stack.load_top %s
  %b = stack.load_top %s
  %c = stack.load_top %r
  return %a, %b, %c
}
"""


@case(rules=["adstack.top", "adstack.state"])
def looking_at_the_top_leaves_it_and_stacks_are_apart(qd):
    return Run(IR(LOADED), returns=(1, 1, 2))
