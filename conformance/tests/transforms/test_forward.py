"""A thread knows what it stored and loaded, until something may have changed it."""

from __future__ import annotations

from transforms_kit import DEBUG, PLAIN, fuzz, golden

from adstack.transforms.memory.forward import forward

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


LOOP = """\
place @x : i32[4] field
%0 = const 0 : i32
%1 = const 1 : i32
%3 = const 3 : i32
store @x[%0], %x
%r = for %i = %0 to %3 carry (%c = %0) {
  %l = load @x[%0] : i32
  %n = add %l, %1 : i32
  store @x[%0], %n
  %s = add %c, %l : i32
  yield %s
}
%w = while (%c = %0) {
  %l = load @x[%1] : i32
  %n = add %l, %1 : i32
  store @x[%1], %n
  %q = lt %c, %3 : u1
  %d = add %c, %1 : i32
  yield %q, %d
} do (%c) {
  yield %c
}
return %r
"""


def test_what_an_earlier_round_may_have_stored_is_loaded_again():
    golden(forward, HEAD, LOOP, LOOP, PLAIN)


BRANCH = """\
place @x : i32[4] field
%0 = const 0 : i32
store @x[%0], %x
%r = if %b -> (i32) {
  store @x[%0], %y
  yield %0
} else {
  yield %x
}
%l = load @x[%0] : i32
%s = add %l, %r : i32
return %s
"""


def test_what_a_branch_may_have_stored_is_loaded_again():
    golden(forward, HEAD, BRANCH, BRANCH, PLAIN)


TASKS = """\
place @x : i32[4] field
%0 = const 0 : i32
%3 = const 3 : i32
store @x[%0], %x
parallel_for (%i = %0 to %3) {
  %l = load @x[%0] : i32
  %m = add %l, %y : i32
  yield
}
%l = load @x[%0] : i32
return %l
"""


def test_nothing_is_forwarded_into_or_out_of_a_parallel_loop():
    golden(forward, HEAD, TASKS, TASKS, PLAIN)


SAME = """\
place @x : i32[4] field
%0 = const 0 : i32
%l = load @x[%0] : i32
store @x[%0], %l
return %l
"""


def test_a_store_of_what_stands_there_goes_unless_it_may_be_a_race_to_report():
    golden(forward, HEAD, SAME, SAME, DEBUG)
    golden(forward, HEAD, SAME, SAME.replace("store @x[%0], %l\n", ""), PLAIN)
