"""A thread knows what it stored and loaded, until something may have changed it."""

from __future__ import annotations

from transforms_kit import PLAIN, fuzz, golden

from adstack.transforms.forward import forward

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

MEMORY_BEFORE = """\
place @x : i32[8] field
place @v : i32[?] ndarray
place @w : i32[?] ndarray
%0 = const 0 : i32
%1 = const 1 : i32
%2 = const 2 : i32
store @x[%1], %x
%a = load @x[%1] : i32
store @x[%2], %a
%b1 = load @x[%1] : i32
%q = and %y, %2 : i32
store @x[%q], %b1
%c = load @x[%1] : i32
store @x[%1], %c
store @x[%1], %q
%d = load @v[%1] : i32
store @w[%1], %d
%e = load @v[%1] : i32
%g = atomic add @v[%1], %e : i32
%h = load @v[%1] : i32
if %b {
  %i = load @v[%1] : i32
  store @x[%0], %i
  store @x[%0], %h
  yield
} else {
  yield
}
%j = load @v[%1] : i32
%k = load @x[%0] : i32
%n = for %l = %0 to %2 carry (%m = %k) {
  %p = load @x[%2] : i32
  %r = load @w[%1] : i32
  %s = add %l, %1 : i32
  store @x[%l], %p
  store @x[%s], %r
  %t = load @x[%l] : i32
  %u = add %t, %m : i32
  yield %u
}
%z = add %n, %j : i32
return %z
"""

MEMORY_AFTER = """\
place @x : i32[8] field
place @v : i32[?] ndarray
place @w : i32[?] ndarray
%0 = const 0 : i32
%1 = const 1 : i32
%2 = const 2 : i32
store @x[%1], %x
store @x[%2], %x
%q = and %y, %2 : i32
store @x[%q], %x
%c = load @x[%1] : i32
store @x[%1], %q
%d = load @v[%1] : i32
store @w[%1], %d
%e = load @v[%1] : i32
%g = atomic add @v[%1], %e : i32
%h = load @v[%1] : i32
if %b {
  store @x[%0], %h
  yield
} else {
  yield
}
%j = load @v[%1] : i32
%k = load @x[%0] : i32
%n = for %l = %0 to %2 carry (%m = %k) {
  %p = load @x[%2] : i32
  %r = load @w[%1] : i32
  %s = add %l, %1 : i32
  store @x[%l], %p
  store @x[%s], %r
  %u = add %p, %m : i32
  yield %u
}
%z = add %n, %j : i32
return %z
"""


def test_loads_take_known_values_and_unseen_stores_go():
    golden(forward, HEAD, MEMORY_BEFORE, MEMORY_AFTER, PLAIN)


def test_random_programs_keep_their_meaning():
    fuzz(forward, range(40))
