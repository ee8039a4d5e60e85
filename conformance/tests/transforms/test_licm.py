"""What is the same in every round stands before the loop, if it can do no harm there."""

from __future__ import annotations

import pytest
from interpreter_kit import read
from transforms_kit import PLAIN, fuzz, golden

from adstack.ir.structure import Kernel
from adstack.transforms.loops.licm import licm
from adstack.transforms.rewriting.options import DEFAULT, Options

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

LOOPS_BEFORE = """\
place @x : i32[8] field
place @s : f32[] field
place @o : f32[8] field
%0 = const 0 : i32
%3 = const 3 : i32
parallel_for (%i = %0 to %3) {
  %one = const 1.0 : f32
  %p = add %f, %one : f32
  %q = add %p, %f : f32
  %r = div %f, %q : f32
  %seven = const 7 : i32
  %few = and %x, %seven : i32
  %t = for %j = %0 to %few carry (%c = %r) {
    %u = mul %few, %x : i32
    %v = mul %u, %j : i32
    %l = load @s[] : f32
    %z = floordiv %x, %y : i32
    %e = if %b -> (f32) {
      %m = mul %p, %p : f32
      %n = sqrt %m : f32
      yield %n
    } else {
      yield %l
    }
    %g = cast %v : f32
    %h = add %g, %e : f32
    %k = add %h, %c : f32
    yield %k
  }
  %t2 = for %j = %0 to %3 carry (%c = %t) {
    %l = load @x[%x] : i32
    %m = load @o[%i] : f32
    store @o[%i], %c
    %l2 = load @x[%y] : i32
    %g = add %l, %l2 : i32
    %h = cast %g : f32
    %k = add %h, %m : f32
    yield %k
  }
  store @o[%i], %t2
  yield
}
return %0
"""

LOOPS_AFTER = """\
place @x : i32[8] field
place @s : f32[] field
place @o : f32[8] field
%0 = const 0 : i32
%1 = const 3 : i32
%one = const 1.0 : f32
%p = add %f, %one : f32
%q = add %p, %f : f32
%r = div %f, %q : f32
parallel_for (%i = %0 to %1) {
  %seven = const 7 : i32
  %few = and %x, %seven : i32
  %u = mul %few, %x : i32
  %l = load @s[] : f32
  %m = mul %p, %p : f32
  %t = for %j = %0 to %few carry (%c = %r) {
    %v = mul %u, %j : i32
    %z = floordiv %x, %y : i32
    %e = if %b -> (f32) {
      %n = sqrt %m : f32
      yield %n
    } else {
      yield %l
    }
    %g = cast %v : f32
    %h = add %g, %e : f32
    %k = add %h, %c : f32
    yield %k
  }
  %l_1 = load @x[%x] : i32
  %t2 = for %j_1 = %0 to %1 carry (%c_1 = %t) {
    %m_1 = load @o[%i] : f32
    store @o[%i], %c_1
    %l2 = load @x[%y] : i32
    %g_1 = add %l_1, %l2 : i32
    %h_1 = cast %g_1 : f32
    %k_1 = add %h_1, %m_1 : f32
    yield %k_1
  }
  store @o[%i], %t2
  yield
}
return %0
"""


def test_invariant_ops_and_safe_loads_move_out_as_far_as_they_pay():
    golden(licm, HEAD, LOOPS_BEFORE, LOOPS_AFTER, PLAIN)


def test_random_programs_keep_their_meaning():
    fuzz(licm, range(40))


LOAD_INSIDE = """
kernel @k(%x: i32) {{
  place @x : f32[8] field
  place @a : f32[?] ndarray
  %zero = const 0 : i32
  %end = const {end} : i32
  %n = shape @a, 0 : i32
  parallel_for (%i = %zero to {bound}) {{
    for %j = %zero to %x {{
      %one = const 1 : i32
      %k = {index}
      {inner}
      yield
    }}
    yield
  }}
  return
}}
"""
LOAD = "%l = load {}[%k] : f32"
BRANCH = "%c = lt %k, %end : u1\nif %c {\n%l = load @x[%k] : f32\nyield\n} else {\nyield\n}"
PLAIN_INDEX, NEXT = "add %i, %zero : i32", "add %i, %one : i32"


@pytest.mark.parametrize(
    ("end", "bound", "index", "inner", "options", "moves"),
    [
        (8, "%end", PLAIN_INDEX, LOAD.format("@x"), DEFAULT, True),
        (7, "%end", NEXT, LOAD.format("@x"), DEFAULT, True),
        (8, "%end", NEXT, LOAD.format("@x"), DEFAULT, False),
        (8, "%n", PLAIN_INDEX, LOAD.format("@a"), DEFAULT, True),
        (8, "%n", NEXT, LOAD.format("@a"), DEFAULT, False),
        (8, "%x", PLAIN_INDEX, BRANCH, DEFAULT, False),
        (8, "%end", PLAIN_INDEX, LOAD.format("@x"), Options(keep_accesses=True), False),
        (8, "%end", PLAIN_INDEX, LOAD.format("@x") + "\nstore @x[%i], %l", DEFAULT, False),
    ],
    ids=["inside", "next", "behind", "extent", "behind extent", "under a condition", "as they are", "written"],
)
def test_loads_whose_indices_stay_between_the_bounds_of_loops_move_out(end, bound, index, inner, options, moves):
    kernel = read(LOAD_INSIDE.format(end=end, bound=bound, index=index, inner=inner))
    assert isinstance(kernel, Kernel)
    licm(kernel.body, options)
    (parallel,) = (op for op in kernel.body.walk() if op.name == "parallel_for")
    assert any(op.name == "load" for op in parallel.regions[0].ops) == moves
