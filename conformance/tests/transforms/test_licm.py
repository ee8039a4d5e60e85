"""What is the same in every round stands before the loop, if it can do no harm there."""

from __future__ import annotations

from transforms_kit import PLAIN, fuzz, golden

from adstack.transforms.loops.licm import licm

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
