"""Pure regions as LLVM functions: branches over lanes, constants, types."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adstack.backends.codegen_llvm.text.pure_functions import function_text
from adstack.backends.codegen_llvm.text.writer import Writer, literal, mangled, scalar_type, type_text
from adstack.ir.text.parser import parse_ir
from adstack.ir.types import ALL, f16, f32, f64, i8, i32, u1, u64
from adstack.tools.accuracy.jit import Compiled

NESTED = """\
function @f(%x: i32, %y: i32) -> (i32) {
  %0 = const 0 : i32
  %1 = lt %x, %0 : u1
  %2 = if %1 -> (i32) {
    %3 = lt %y, %0 : u1
    %4 = if %3 -> (i32) {
      %5 = mul %x, %y : i32
      yield %5
    } else {
      %5 = sub %x, %y : i32
      yield %5
    }
    %6 = add %4, %x : i32
    yield %6
  } else {
    yield %y
  }
  %7 = xor %2, %x : i32
  yield %7
}
kernel @k(%a: i32) -> (i32) {
  %0 = call @f %a, %a : i32
  return %0
}
"""


def region(text):
    return parse_ir(text).body.ops[0].attrs["function"].body


def test_lanes_take_the_sides_of_branches_they_want():
    x, y = (a.astype(np.int32) for a in np.random.default_rng(2).integers(-9, 9, (2, 1000)))
    inner = np.where(y < 0, x * y, x - y) + x
    wanted = np.where(x < 0, inner, y) ^ x
    for lanes in (1, 4, 16):
        assert Compiled(region(NESTED), lanes)(x, y).tolist() == wanted.tolist()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_side_that_no_lane_wants_may_hold_anything(sign):
    x = np.full(64, sign * 3, np.int32)
    assert Compiled(region(NESTED), 8)(x, x).tolist() == [(9 - 3) ^ -3 if sign < 0 else 0] * 64


def test_a_branch_jumps_over_the_side_that_nobody_wants():
    text, _ = function_text("f", region(NESTED), 8)
    # two sides of two branches: each entered by a jump that depends on all lanes
    assert text.count("llvm.vector.reduce.or.v8i1") == text.count("br i1") == 4


def test_every_type_has_a_text_for_one_lane_and_for_many():
    assert [scalar_type(t) for t in ALL] == [
        *("i1", "i8", "i16", "i32", "i64", "i8", "i16", "i32", "i64"),
        *("half", "float", "double"),
    ]
    assert type_text(f16, 8) == "<8 x half>"
    assert (mangled(f64, 1), mangled(i8, 16)) == ("f64", "v16i8")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (True, u1, "true"),
        (-1, i32, "-1"),
        (2**64 - 1, u64, "18446744073709551615"),
        (1.0, f16, "0xH3C00"),
        (0.5, f32, "0x3FE0000000000000"),
        (-0.0, f64, "0x8000000000000000"),
        (math.inf, f32, "0x7FF0000000000000"),
    ],
    ids=str,
)
def test_constants_are_written_with_all_their_bits(value, dtype, text):
    assert literal(value, dtype) == text


def test_a_declaration_is_made_once():
    w = Writer()
    for _ in range(2):
        w.intrinsic("llvm.sqrt.f32", "float", [("float", "%x")])
    assert list(w.declarations.values()) == ["declare float @llvm.sqrt.f32(float)"]
    assert w.lines == [f"  %t{k} = call float @llvm.sqrt.f32(float %x)" for k in (1, 2)]
