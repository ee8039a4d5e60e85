"""Branches yield only what they compute, and loops carry only what changes; the algebra has tests of its own."""

from __future__ import annotations

from transforms_kit import PLAIN, fuzz, golden

from adstack.transforms.scalar.simplify import simplify

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

CONTROL_BEFORE = """\
%t = const true : u1
%0 = const 0 : i32
%7 = const 7 : i32
%few = and %y, %7 : i32
%r1, %r2, %r3 = if %b -> (i32, u1, i32) {
  %2 = add %x, %y : i32
  yield %2, %t, %x
} else {
  %f1 = const false : u1
  yield %y, %f1, %x
}
%s, %s2 = for %i = %0 to %few carry (%c = %r1, %d = %r3) {
  %z = add %d, %0 : i32
  %3 = add %c, %d : i32
  yield %3, %z
}
%w, %w2 = while (%m = %few, %k = %x) {
  %5 = gt %m, %0 : u1
  yield %5, %m, %k
} do (%m, %k) {
  %1 = const 1 : i32
  %6 = sub %m, %1 : i32
  yield %6, %k
}
%8 = select %r2, %w, %w2 : i32
%9 = add %8, %s2 : i32
%10 = add %9, %s : i32
return %10
"""

CONTROL_AFTER = """\
%t = const true : u1
%0 = const 0 : i32
%1 = const 7 : i32
%few = and %y, %1 : i32
%r1 = if %b -> (i32) {
  %2 = add %x, %y : i32
  yield %2
} else {
  %f1 = const false : u1
  yield %y
}
%3 = const false : u1
%s = for %i = %0 to %few carry (%c = %r1) {
  %4 = add %c, %x : i32
  yield %4
}
%w = while (%m = %few) {
  %5 = gt %m, %0 : u1
  yield %5, %m
} do (%m_1) {
  %6 = const 1 : i32
  %7 = const -1 : i32
  %8 = add %m_1, %7 : i32
  yield %8
}
%9 = select %b, %w, %x : i32
%10 = add %9, %x : i32
%11 = add %10, %s : i32
return %11
"""


def test_what_never_changes_is_neither_yielded_nor_carried():
    golden(simplify, HEAD, CONTROL_BEFORE, CONTROL_AFTER, PLAIN)


def test_random_programs_keep_their_meaning():
    fuzz(simplify, range(40))


CHOSEN = """\
%s = select %b, %x, %y : i32
%r = if %b -> (i32) {
  %0 = add %s, %y : i32
  yield %0
} else {
  %1 = add %s, %x : i32
  yield %1
}
%2 = add %r, %s : i32
return %2
"""

CHOSEN_AFTER = """\
%s = select %b, %x, %y : i32
%r = if %b -> (i32) {
  %0 = add %x, %y : i32
  yield %0
} else {
  %1 = add %y, %x : i32
  yield %1
}
%2 = add %r, %s : i32
return %2
"""


def test_a_choice_by_the_condition_of_a_branch_is_known_in_it():
    golden(simplify, HEAD, CHOSEN, CHOSEN_AFTER)


CHOSEN_INSIDE = """\
%one = const 1 : i32
%r = if %b -> (i32) {
  %0 = mul %x, %one : i32
  %s = select %b, %0, %y : i32
  %1 = add %s, %y : i32
  yield %1
} else {
  %2 = mul %y, %one : i32
  %t = select %b, %x, %2 : i32
  %3 = add %t, %x : i32
  yield %3
}
return %r
"""

CHOSEN_INSIDE_AFTER = """\
%one = const 1 : i32
%r = if %b -> (i32) {
  %s = select %b, %x, %y : i32
  %1 = add %x, %y : i32
  yield %1
} else {
  %t = select %b, %x, %y : i32
  %3 = add %y, %x : i32
  yield %3
}
return %r
"""


def test_what_is_chosen_inside_of_a_branch_may_be_simplified_there_before():
    golden(simplify, HEAD, CHOSEN_INSIDE, CHOSEN_INSIDE_AFTER)
