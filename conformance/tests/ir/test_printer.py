"""The text form of IR: readable, exact, stable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from adstack.conformance.fuzz.programs import kernels, random_kernel
from adstack.ir.builder import Builder
from adstack.ir.compare import difference
from adstack.ir.location import Loc
from adstack.ir.opdef import OpDef
from adstack.ir.ops import FOR, LOAD, RETURN, WHILE
from adstack.ir.scalar_ops import CONST
from adstack.ir.structure import Kernel, Op, Place, Region, Value
from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.types import f16, f32, f64, i32, u1

GOLDEN = """\
kernel @scale(%a: f32, %n: i32, %flag: u1) -> (i32) loc("scale.py":3:1) {
  place @x : f32[?, 3] ndarray label "x of \\"scale\\""
  place @x.grad : f32[?, 3] ndarray grad of @x
  place @"odd name" : i64[] field relaxed
  %0 = const 0 : i32
  %1 = shape @x, 0 : i32
  %s = stack.alloca %n : stack<f32>
  parallel_for (%i = %0 to %1, %j = %0 to %n) loc("scale.py":5:5-9:1) {
    %2 = load @x[%i, %j] : f32
    %3 = mul %2, %a : f32 loc("scale.py":7:9-7:19 at "main.py":1:2)
    store @x[%i, %j], %3
    yield
  }
  %4 = array.alloc : array<f32, 4>
  %5 = array.load %4, %n : f32
  array.store %4, %n, %5
  stack.push %s, %5
  %6 = stack.load_top %s : f32
  %7 = stack.load_top_adj %s : f32
  stack.acc_adjoint %s, %6
  stack.pop %s
  %8, %9 = if %flag -> (f32, i32) {
    yield %a, %n
  } else {
    yield %7, %0
  }
  %10 = for %k = %0 to %n carry (%sum = %a) {
    %11 = add %sum, %8 : f32
    yield %11
  }
  for %k_1 = %0 to %n {
    yield
  }
  %12, %13 = while (%t = %a, %m = %n) {
    %14 = lt %m, %0 : u1
    yield %14, %t, %m
  } do (%t_1, %m_1) {
    yield %t_1, %m_1
  }
  %15 = const 7 : i64
  %16 = atomic add @"odd name"[], %15 : i64
  %17 = cast %n : f64
  %18 = bitcast %n : f32
  %19 = random : f16
  assert %flag, "n is {}\\n", %n
  print "n = ", %n, "\\n"
  print
  return %n
}
"""


def test_the_text_form_holds_every_construct_and_reads_back():
    assert print_ir(parse_ir(GOLDEN)) == GOLDEN


def test_a_program_reads_back():
    text = """\
program @p -> (f32) results (@r) loc("p.py":1:1) {
  place @r : f32[] result
  place @t : i32[3] temp
  task @first serial (%n: i32) {
    %0 = const 1.0 : f32
    store @r[], %0
    return
  }
  task @second parallel (%n: i32) {
    %0 = const 0 : i32
    parallel_for (%i = %0 to %n) {
      yield
    }
    return
  }
}
"""
    program = parse_ir(text)
    assert print_ir(program) == text
    assert difference(program, parse_ir(text)) is None
    assert print_ir(program.tasks[0]).startswith("task @first serial (%n: i32) {\n  %0 = const 1.0 : f32\n")


@given(kernels())
def test_random_kernels_read_back_the_same(kernel):
    text = print_ir(kernel)
    again = parse_ir(text)
    assert difference(kernel, again) is None
    assert print_ir(again) == text


def test_locations_read_back_and_may_be_left_out():
    kernel = random_kernel(1)
    for number, op in enumerate(kernel.body.walk()):
        inlined = Loc("main.py", 1, 2, caller=Loc("a\nb", 3, 4, 5, 6))
        op.loc = Loc('odd "file".py', number + 1, 2, number + 2, 1, inlined if number % 2 else None)
    assert difference(kernel, parse_ir(print_ir(kernel))) is None
    bare = print_ir(kernel, locs=False)
    assert "loc(" not in bare
    assert difference(kernel, parse_ir(bare), locs=False) is None


def printed_const(value, dtype):
    b = Builder()
    b.append(CONST, (), (dtype,), {"to": dtype, "value": value})
    b.return_()
    text = print_ir(Kernel("k", b.region))
    assert difference(Kernel("k", b.region), parse_ir(text)) is None
    return text.splitlines()[1].strip()


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.10000000149011612, f32, "0.1 : f32"),
        (0.1, f64, "0.1 : f64"),
        (0.0999755859375, f16, "0.1 : f16"),
        (-0.0, f32, "-0.0 : f32"),
        (math.inf, f16, "inf : f16"),
        (-math.inf, f64, "-inf : f64"),
        (math.nan, f32, "nan : f32"),
        (5e-324, f64, "5e-324 : f64"),
        (1.401298464324817e-45, f32, "1e-45 : f32"),
        (3.4028234663852886e38, f32, "3.4028235e+38 : f32"),
        (-(2**31), i32, "-2147483648 : i32"),
        (True, u1, "true : u1"),
    ],
)
def test_constants_print_short_and_exact(value, dtype, text):
    assert printed_const(value, dtype) == f"%0 = const {text}"


def test_names_are_made_safe_and_unique():
    names = ["x", "x", "x_1", "a b", "", "7", "é", "1st", "x"]
    kernel = Kernel("k", Region([Value(i32, name) for name in names], [Op(RETURN, [])]))
    first = print_ir(kernel).splitlines()[0]
    shown = [word.split(":")[0] for word in first.split("(")[1].split(", ")]
    assert shown == ["%x", "%x_1", "%x_1_1", "%a_b", "%0", "%1", "%_", "%_1st", "%x_2"]
    assert print_ir(parse_ir(print_ir(kernel))) == print_ir(kernel)


def test_broken_ir_prints_as_far_as_it_goes():
    place = Place("x", f32, (4,))
    ops = [
        Op(CONST, []),
        Op(LOAD, [], {"place": "x"}),
        Op(FOR, [], regions=[Region()]),
        Op(WHILE, []),
        Op(OpDef("warp"), []),
    ]
    ops[-1].operands = (Value(f32, "nowhere"), None)
    text = print_ir(Kernel("k", Region([], ops), {"x": place}))
    assert [line.strip() for line in text.splitlines()[2:]] == [
        "const  {}",
        "load  {'place': 'x'}",
        "for  {} {",
        "}",
        "while  {}",
        "warp %nowhere, %invalid",
        "}",
    ]
