"""What is constant is computed, except where that would hide an error or change a bit."""

from __future__ import annotations

import numpy as np
from transforms_kit import PLAIN, after, fuzz, golden, kernel_of, wrap

from adstack.ir.functions import evaluate
from adstack.ir.types import f64
from adstack.transforms.math.library import function
from adstack.transforms.scalar.fold import fold

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

ARITHMETIC_BEFORE = """\
%0 = const 3 : i32
%1 = const 4 : i32
%2 = mul %0, %1 : i32
%3 = const 0 : i32
%4 = floordiv %2, %3 : i32
%5 = const 0.0 : f32
%6 = div %5, %5 : f32
%8 = const 2143289344 : i32
%9 = bitcast %8 : f32
%10 = cast %6 : i32
%11 = add %10, %2 : i32
return %11
"""

ARITHMETIC_AFTER = """\
%0 = const 3 : i32
%1 = const 4 : i32
%2 = const 12 : i32
%3 = const 0 : i32
%4 = floordiv %2, %3 : i32
%5 = const 0.0 : f32
%6 = const nan : f32
%7 = const 2143289344 : i32
%8 = bitcast %7 : f32
%9 = const 0 : i32
%10 = const 12 : i32
return %10
"""

CONTROL_BEFORE = """\
place @a : i32[3, 5] field
place @v : i32[?] ndarray
%t = const true : u1
%0 = const 0 : i32
%1 = const 1 : i32
%r = if %t -> (i32) {
  %2 = shape @a, 1 : i32
  yield %2
} else {
  store @a[%0, %0], %x
  yield %y
}
%s = for %i = %1 to %0 carry (%c = %r) {
  store @a[%0, %0], %c
  yield %i
}
%u = for %i = %x to %x carry (%c = %s) {
  yield %i
}
%q = for %i = %0 to %1 carry (%c = %u) {
  %4 = add %c, %i : i32
  yield %4
}
%w = while (%m = %q) {
  %5 = lt %0, %0 : u1
  %6 = add %m, %1 : i32
  yield %5, %6
} do (%m) {
  store @a[%0, %0], %m
  yield %m
}
parallel_for (%i = %1 to %1) {
  store @a[%0, %i], %w
  yield
}
%n = shape @v, 0 : i32
%o = add %n, %w : i32
return %o
"""

CONTROL_AFTER = """\
place @a : i32[3, 5] field
place @v : i32[?] ndarray
%t = const true : u1
%0 = const 0 : i32
%1 = const 1 : i32
%2 = const 5 : i32
%3 = const 5 : i32
%4 = const false : u1
%5 = const 6 : i32
%n = shape @v, 0 : i32
%o = add %n, %5 : i32
return %o
"""


def test_numbers_are_computed_but_traps_and_nan_payloads_stay():
    golden(fold, HEAD, ARITHMETIC_BEFORE, ARITHMETIC_AFTER, PLAIN)


def test_branches_and_loops_of_constants_are_decided():
    golden(fold, HEAD, CONTROL_BEFORE, CONTROL_AFTER, PLAIN)


def test_random_programs_keep_their_meaning():
    fuzz(fold, range(40))


def test_transcendentals_fold_to_the_bits_of_the_library():
    kernel = kernel_of(wrap("%0 = const 0.5 : f64\n%1 = exp %0 : f64\nreturn %1", "kernel @k() -> (f64) {"))
    folded = after(fold, kernel)
    assert [op.name for op in folded.body.ops] == ["const", "const", "return"]
    (value,) = evaluate(function("exp", f64), [np.array([0.5])])
    assert folded.body.ops[1].attrs["value"] == value.item()
