"""Local arrays with known indices become values."""

from __future__ import annotations

from transforms_kit import PLAIN, fuzz, golden

from adstack.transforms.memory.scalar_replacement import replace_arrays

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

ARRAY_BEFORE = """\
place @x : i32[8] field
%0 = const 0 : i32
%1 = const 1 : i32
%3 = const 3 : i32
%a = array.alloc : array<i32, 2>
array.store %a, %0, %x
if %b {
  array.store %a, %1, %y
  yield
} else {
  %l = array.load %a, %0 : i32
  array.store %a, %0, %l
  yield
}
%n = for %i = %0 to %3 carry (%c = %x) {
  %l = array.load %a, %0 : i32
  %t = array.alloc : array<i32, 1>
  %m = array.load %t, %0 : i32
  %o = add %l, %i : i32
  array.store %t, %0, %o
  array.store %a, %0, %o
  %p = array.load %a, %1 : i32
  %q = add %p, %m : i32
  yield %q
}
%w = while (%c = %0) {
  %g = lt %c, %3 : u1
  array.store %a, %1, %c
  yield %g, %c
} do (%c) {
  %h = array.load %a, %1 : i32
  %k = add %h, %1 : i32
  yield %k
}
%r = array.load %a, %0 : i32
%s = array.load %a, %1 : i32
%t = add %r, %s : i32
%u = add %t, %n : i32
return %u
"""

ARRAY_AFTER = """\
place @x : i32[8] field
%0 = const 0 : i32
%1 = const 1 : i32
%2 = const 3 : i32
%3 = const 0 : i32
%4, %5 = if %b -> (i32, i32) {
  yield %y, %x
} else {
  yield %3, %x
}
%n, %6 = for %i = %0 to %2 carry (%c = %x, %7 = %5) {
  %8 = const 0 : i32
  %o = add %7, %i : i32
  %q = add %4, %8 : i32
  yield %q, %o
}
%w, %9 = while (%c_1 = %0, %10 = %4) {
  %g = lt %c_1, %2 : u1
  yield %g, %c_1, %c_1
} do (%c_2, %11) {
  %k = add %11, %1 : i32
  yield %k, %11
}
%t = add %6, %9 : i32
%u = add %t, %n : i32
return %u
"""


def test_cells_become_yields_and_carried_values():
    golden(replace_arrays, HEAD, ARRAY_BEFORE, ARRAY_AFTER, PLAIN)


def test_random_programs_keep_their_meaning():
    fuzz(replace_arrays, range(40))
