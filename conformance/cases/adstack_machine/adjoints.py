"""Every slot of a stack of floats has an adjoint beside its primal."""

import numpy as np

from adstack.conformance.case import IR, Raises, Run, case

FLOATS = ["f16", "f32", "f64"]

ACCUMULATED = """
kernel @accumulated() -> (TYPE, TYPE, TYPE, TYPE) {
  %room = const 2 : i32
  %s = stack.alloca %room : stack<TYPE>
  %p = const 5.0 : TYPE
  %q = const 7.0 : TYPE
  %d = const 0.25 : TYPE
  %e = const -1.5 : TYPE
  stack.push %s, %p
  stack.acc_adjoint %s, %d
  stack.push %s, %q
  %fresh = stack.load_top_adj %s
  stack.acc_adjoint %s, %e
  stack.acc_adjoint %s, %e
  %upper = stack.load_top_adj %s
  stack.pop %s
  %lower = stack.load_top_adj %s
  %primal = stack.load_top %s
  return %fresh, %upper, %lower, %primal
}
"""


@case(rules=["adstack.adjoint", "adstack.push"], params={"dtype": FLOATS})
def adjoints_add_up_slot_by_slot(qd, dtype):
    """A push gives the adjoint 0; adding touches the top alone, and no primal."""
    return Run(IR(ACCUMULATED.replace("TYPE", dtype)), returns=(0, -3, 0.25, 5), returns_dtype=dtype)


PUSHED_AGAIN = """
kernel @pushed_again() -> (TYPE) {
  %room = const 1 : i32
  %s = stack.alloca %room : stack<TYPE>
  %one = const 1.0 : TYPE
  stack.push %s, %one
  stack.acc_adjoint %s, %one
  stack.pop %s
  stack.push %s, %one
  %adjoint = stack.load_top_adj %s
  return %adjoint
}
"""


@case(rules=["adstack.push", "adstack.adjoint"], params={"dtype": FLOATS})
def a_push_clears_the_adjoint_of_its_slot(qd, dtype):
    return Run(IR(PUSHED_AGAIN.replace("TYPE", dtype)), returns=(0,), returns_dtype=dtype)


ROUNDED = """
kernel @rounded() -> (TYPE) {
  %room = const 1 : i32
  %s = stack.alloca %room : stack<TYPE>
  %big = const BIG : TYPE
  %one = const 1.0 : TYPE
  stack.push %s, %one
  stack.acc_adjoint %s, %big
  stack.acc_adjoint %s, %one
  %adjoint = stack.load_top_adj %s
  return %adjoint
}
"""


@case(rules=["adstack.adjoint"], params={"dtype": FLOATS})
def adjoints_round_in_the_type_of_the_stack(qd, dtype):
    """One more than 2^p, with p bits of precision, is a tie: it goes to the even neighbour, 2^p."""
    big = 2 ** {"f16": 11, "f32": 24, "f64": 53}[dtype]
    text = ROUNDED.replace("TYPE", dtype).replace("BIG", f"{big}.0")
    return Run(IR(text), returns=(big,), returns_dtype=dtype)


OF_INTEGERS = """
kernel @of_integers() -> (i32) {
  %room = const 1 : i32
  %s = stack.alloca %room : stack<i32>
  %adjoint = stack.load_top_adj %s
  return %adjoint
}
"""


@case(rules=["adstack.adjoint"])
def integers_have_no_adjoint(qd):
    return Run(IR(OF_INTEGERS), raises=Raises("InternalError", "stack of floats"))


CHAIN = """
kernel @chain() {
  place @x : f64[4] field
  place @g : f64[4] field
  %zero = const 0 : i32
  %three = const 3 : i32
  %four = const 4 : i32
  %unit = const 1.0 : f64
  parallel_for (%i = %zero to %four) {
    %s = stack.alloca %three : stack<f64>
    %v = load @x[%i]
    %last = for %j = %zero to %three carry (%u = %v) {
      stack.push %s, %u
      %w = mul %u, %u
      yield %w
    }
    %d = for %j = %zero to %three carry (%a = %unit) {
      %t = stack.load_top %s
      stack.pop %s
      %twice = add %t, %t
      %b = mul %a, %twice
      yield %b
    }
    store @x[%i], %last
    store @g[%i], %d
    yield
  }
  return
}
"""


@case(rules=["adstack.state", "adstack.top", "adstack.pop"])
def every_iteration_has_a_stack_of_its_own(qd):
    """x^8 by squaring three times, and its derivative 8 x^7 by walking the stack back."""
    values = [1, -2, 3, 0.5]
    x, g = np.array(values, np.float64), np.zeros(4)
    return Run(IR(CHAIN, {"x": x, "g": g}), expect=[(x, [v**8 for v in values]), (g, [8 * v**7 for v in values])])
