"""What nobody needs goes; what may be noticed stays."""

from __future__ import annotations

from transforms_kit import DEBUG, PLAIN, fuzz, golden

from adstack.transforms.scalar.dce import dce

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

DEAD_BEFORE = """\
place @x : i32[8] field
place @y : i32[] field
%0 = const 0 : i32
%1 = const 1 : i32
%3 = const 3 : i32
%a = array.alloc : array<i32, 4>
%dead = array.alloc : array<i32, 4>
array.store %dead, %0, %x
array.store %a, %0, %x
%l = load @y[] : i32
%m = and %y, %3 : i32
%u = load @x[%m] : i32
%v = floordiv %x, %y : i32
%w = floordiv %x, %3 : i32
%f1, %f2, %f3 = for %i = %0 to %3 carry (%c = %x, %d = %y, %e = %l) {
  %n = add %c, %i : i32
  %o = mul %d, %e : i32
  %p = add %e, %d : i32
  array.store %a, %i, %n
  yield %n, %o, %p
}
for %i = %0 to %3 {
  %n = add %x, %i : i32
  yield
}
%g1, %g2 = if %b -> (i32, i32) {
  %q = mul %x, %x : i32
  yield %q, %x
} else {
  yield %x, %f1
}
%h1, %h2 = while (%c = %0, %d = %x) {
  %q = lt %c, %1 : u1
  yield %q, %c, %d
} do (%c, %d) {
  %q = add %c, %1 : i32
  yield %q, %d
}
%r = array.load %a, %1 : i32
assert %b, "b"
parallel_for (%i = %0 to %3) {
  %n = add %x, %i : i32
  yield
}
%s = add %g2, %r : i32
return %s
"""

DEAD_AFTER = """\
place @x : i32[8] field
place @y : i32[] field
%0 = const 0 : i32
%1 = const 1 : i32
%2 = const 3 : i32
%a = array.alloc : array<i32, 4>
array.store %a, %0, %x
%f1 = for %i = %0 to %2 carry (%c = %x) {
  %n = add %c, %i : i32
  array.store %a, %i, %n
  yield %n
}
%g2 = if %b -> (i32) {
  yield %x
} else {
  yield %f1
}
%h1 = while (%c_1 = %0) {
  %q = lt %c_1, %1 : u1
  yield %q, %c_1
} do (%c_2) {
  %q_1 = add %c_2, %1 : i32
  yield %q_1
}
%r = array.load %a, %1 : i32
%s = add %g2, %r : i32
return %s
"""

CHECKED_BEFORE = """\
place @x : i32[8] field
place @y : i32[] field
%0 = const 0 : i32
%1 = const 1 : i32
%3 = const 3 : i32
%a = array.alloc : array<i32, 4>
%dead = array.alloc : array<i32, 4>
array.store %dead, %0, %x
array.store %a, %0, %x
%l = load @y[] : i32
%m = and %y, %3 : i32
%u = load @x[%m] : i32
%v = floordiv %x, %y : i32
%w = floordiv %x, %3 : i32
%f1, %f2, %f3 = for %i = %0 to %3 carry (%c = %x, %d = %y, %e = %l) {
  %n = add %c, %i : i32
  %o = mul %d, %e : i32
  %p = add %e, %d : i32
  array.store %a, %i, %n
  yield %n, %o, %p
}
for %i = %0 to %3 {
  %n = add %x, %i : i32
  yield
}
%g1, %g2 = if %b -> (i32, i32) {
  %q = mul %x, %x : i32
  yield %q, %x
} else {
  yield %x, %f1
}
%h1, %h2 = while (%c = %0, %d = %x) {
  %q = lt %c, %1 : u1
  yield %q, %c, %d
} do (%c, %d) {
  %q = add %c, %1 : i32
  yield %q, %d
}
%k = load @x[%x] : i32
%r = array.load %a, %1 : i32
assert %b, "b"
parallel_for (%i = %0 to %3) {
  %n = add %x, %i : i32
  yield
}
%s = add %g2, %r : i32
return %s
"""

CHECKED_AFTER = """\
place @x : i32[8] field
place @y : i32[] field
%0 = const 0 : i32
%1 = const 1 : i32
%2 = const 3 : i32
%a = array.alloc : array<i32, 4>
array.store %a, %0, %x
%m = and %y, %2 : i32
%u = load @x[%m] : i32
%v = floordiv %x, %y : i32
%f1 = for %i = %0 to %2 carry (%c = %x) {
  %n = add %c, %i : i32
  array.store %a, %i, %n
  yield %n
}
%g2 = if %b -> (i32) {
  yield %x
} else {
  yield %f1
}
%h1 = while (%c_1 = %0) {
  %q = lt %c_1, %1 : u1
  yield %q, %c_1
} do (%c_2) {
  %q_1 = add %c_2, %1 : i32
  yield %q_1
}
%k = load @x[%x] : i32
%r = array.load %a, %1 : i32
assert %b, "b"
%s = add %g2, %r : i32
return %s
"""


def test_only_what_an_effect_needs_is_left():
    golden(dce, HEAD, DEAD_BEFORE, DEAD_AFTER, PLAIN)


def test_in_debug_mode_what_may_raise_stays():
    golden(dce, HEAD, CHECKED_BEFORE, CHECKED_AFTER, DEBUG)


def test_random_programs_keep_their_meaning():
    fuzz(dce, range(40))
