"""What is computed twice is computed once, where the first is visible from the second."""

from __future__ import annotations

from transforms_kit import PLAIN, fuzz, golden

from adstack.transforms.scalar.cse import cse

HEAD = "kernel @k(%x: i32, %y: i32, %f: f32, %b: u1) -> (i32) {"

EQUAL_BEFORE = """\
%0 = const 0.0 : f32
%1 = const -0.0 : f32
%2 = const 0.0 : f64
%3 = const 0.0 : f32
%4 = const nan : f32
%5 = const nan : f32
%6 = add %0, %1 : f32
%7 = add %1, %3 : f32
%8 = sub %0, %1 : f32
%9 = sub %1, %0 : f32
%10 = div %4, %5 : f32
%11 = cast %f : i32
%12 = cast %f : i64
%13 = cast %f : i32
%r = if %b -> (i32) {
  %14 = mul %x, %y : i32
  yield %14
} else {
  %15 = mul %y, %x : i32
  %16 = mul %x, %y : i32
  %17 = cast %f : i32
  %18 = add %15, %17 : i32
  %19 = add %18, %16 : i32
  yield %19
}
%20 = mul %x, %y : i32
%21 = add %20, %11 : i32
%22 = add %21, %13 : i32
%23 = add %22, %r : i32
return %23
"""

EQUAL_AFTER = """\
%0 = const 0.0 : f32
%1 = const -0.0 : f32
%2 = const 0.0 : f64
%3 = const nan : f32
%4 = add %0, %1 : f32
%5 = sub %0, %1 : f32
%6 = sub %1, %0 : f32
%7 = div %3, %3 : f32
%8 = cast %f : i32
%9 = cast %f : i64
%r = if %b -> (i32) {
  %10 = mul %x, %y : i32
  yield %10
} else {
  %11 = mul %y, %x : i32
  %12 = add %11, %8 : i32
  %13 = add %12, %11 : i32
  yield %13
}
%14 = mul %x, %y : i32
%15 = add %14, %8 : i32
%16 = add %15, %8 : i32
%17 = add %16, %r : i32
return %17
"""


def test_equal_ops_merge_but_signed_zeros_types_and_sister_regions_stay_apart():
    golden(cse, HEAD, EQUAL_BEFORE, EQUAL_AFTER, PLAIN)


def test_random_programs_keep_their_meaning():
    fuzz(cse, range(40))
