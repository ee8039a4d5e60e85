"""Functions that ops call: evaluation, text, rules."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from transforms_kit import kernel_of

from adstack.errors import AdstackSyntaxError, InternalError, IRError
from adstack.interpreter import RunOptions, run
from adstack.ir.builder import Builder
from adstack.ir.compare import difference, same
from adstack.ir.functions import builtin, by_library, evaluate
from adstack.ir.ops import CALL
from adstack.ir.scalar_ops import SIN
from adstack.ir.structure import Function, Kernel, Region, Value
from adstack.ir.text.parser import parse_ir
from adstack.ir.text.printer import print_ir
from adstack.ir.types import f32, i32
from adstack.ir.verify.verifier import verify
from adstack.transforms.math import library

TEXT = """\
function @twice(%x: f32) -> (f32) {
  %0 = add %x, %x : f32
  yield %0
}
function @split(%x: f32, %y: f32) -> (f32, f32) {
  %0 = lt %x, %y : u1
  %1, %2 = if %0 -> (f32, f32) {
    %3 = div %x, %y : f32
    yield %3, %x
  } else {
    yield %y, %x
  }
  yield %1, %2
}
kernel @k(%a: f32) -> (f32, f32) {
  %0 = call @twice %a : f32
  %1, %2 = call @split %a, %0 : f32, f32
  %3 = call @sin.f32 %1 : f32
  return %3, %2
}
"""


def test_the_text_of_calls_and_definitions_comes_back_the_same():
    kernel = parse_ir(TEXT)
    verify(kernel)
    assert print_ir(kernel) == TEXT
    assert same(kernel, parse_ir(print_ir(kernel)))


def test_result_types_of_a_call_follow_from_the_function():
    assert same(parse_ir(TEXT), parse_ir(TEXT.replace(" = call @twice %a : f32", " = call @twice %a")))


def test_functions_of_the_library_are_not_written_out():
    text = print_ir(kernel_of("kernel @k(%a: f64) -> (f64) {\n  %0 = call @exp.f64 %a : f64\n  return %0\n}"))
    assert "function" not in text
    assert parse_ir(text).body.ops[0].attrs["function"] is builtin("exp.f64") is library.find("exp.f64")


def test_kernels_that_call_functions_of_another_body_differ():
    other = parse_ir(TEXT.replace("add %x, %x", "mul %x, %x"))
    assert "@twice" in str(difference(parse_ir(TEXT), other))


def test_a_kernel_of_calls_runs():
    assert run(parse_ir(TEXT), {}, [1.0]) == (float(SIN.meaning(f32, np.float32([0.5]))[0]), 1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("call @twice", "call @thrice"), "@thrice is no function"),
        (TEXT.replace("@split(", "@twice("), "@twice is defined already"),
        (TEXT.replace("@split(", "@cos.f32("), "@cos.f32 is defined already"),
        (TEXT.replace("(%x: f32) -> (f32)", "(%x: f32) -> (f64)"), "@twice must yield what it says: f64"),
    ],
)
def test_the_parser_says_what_is_wrong_with_a_function(text, message):
    with pytest.raises(AdstackSyntaxError, match=message):
        parse_ir(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT.replace("@twice %a", "@twice %a, %a"), "expected 1 operands"),
        (TEXT.replace("call @twice %a : f32", "call @twice %a : f64"), "expected results of types"),
        (TEXT.replace("kernel @k(%a: f32)", "kernel @k(%a: f64)"), "operand 0 must be f32, got f64"),
        (TEXT.replace("%0 = add %x, %x : f32", "%0 = random : f32"), "expected pure ops of scalars and if, got random"),
        (TEXT.replace("%0 = add %x, %x : f32", "%0 = call @sin.f32 %x"), "expected pure ops .* got call"),
    ],
)
def test_the_verifier_says_what_is_wrong_with_a_call(text, message):
    with pytest.raises(IRError, match=message):
        verify(parse_ir(text))


def test_a_function_can_use_nothing_from_outside_itself():
    outer = Value(f32)
    region = Region([Value(f32)])
    b = Builder(region)
    b.yield_(b.add(region.args[0], outer))
    body = Region([outer])
    b = Builder(body)
    op = b.append(CALL, [outer], [f32], {"function": Function("bad", region)})
    b.return_(op.result)
    with pytest.raises(IRError, match="operand 1 is used before it is defined"):
        verify(Kernel("k", body, returns=(f32,)))


def test_an_attribute_that_is_no_function_is_refused():
    region = Region()
    b = Builder(region)
    b.append(CALL, [], [], {"function": "sin"})
    b.return_()
    with pytest.raises(IRError, match="attribute 'function' must be a Function"):
        verify(Kernel("k", region))


def counting(calls: list[int]) -> Function:
    """if x > 0: x / 2, else 2 x; `calls` takes how many elements each division sees."""
    kernel = parse_ir(
        "function @f(%x: f32) -> (f32) {\n%z = const 0.0 : f32\n%h = const 2.0 : f32\n%c = gt %x, %z\n"
        "%r = if %c -> (f32) {\n%q = div %x, %h\nyield %q\n} else {\n%q = mul %x, %h\nyield %q\n}\nyield %r\n}\n"
        "kernel @k(%a: f32) -> (f32) {\n%0 = call @f %a\nreturn %0\n}\n"
    )
    function = kernel.body.ops[0].attrs["function"]
    division = next(op for op in function.body.walk() if op.name == "div")
    row = division.opdef

    def meaning(to, a, b):
        calls.append(a.size)
        return row.meaning(to, a, b)

    division.opdef = type(row)("div", row.signature, meaning)
    return function


@pytest.mark.parametrize(
    ("x", "wanted", "seen"),
    [([2, 4], [1, 2], [2]), ([-2, -4], [-4, -8], []), ([2, -4, 6], [1, -8, 3], [2])],
    ids=["all", "none", "some"],
)
def test_a_side_of_a_branch_runs_for_its_own_elements_alone(x, wanted, seen):
    calls: list[int] = []
    (result,) = evaluate(counting(calls), [np.array(x, np.float32)])
    assert (result.tolist(), calls) == (wanted, seen)


def test_one_element_stands_for_all():
    function = parse_ir(TEXT).body.ops[1].attrs["function"]
    got = evaluate(function, [np.float32([1]), np.float32([[2, 4], [0, 8]])])
    assert got[0].tolist() == [[0.5, 0.25], [0, 0.125]]
    assert got[1].shape == (2, 2)


def test_lanes_that_part_call_for_themselves():
    kernel = kernel_of("""
        kernel @k() {
          place @x : f32[8] field
          %0 = const 0 : i32
          %1 = const 8 : i32
          %2 = const 4 : i32
          parallel_for (%i = %0 to %1) {
            %3 = lt %i, %2
            %4 = cast %i : f32
            if %3 {
              %5 = call @exp2.f32 %4
              store @x[%i], %5
              yield
            } else {
              yield
            }
            yield
          }
          return
        }
    """)
    x = np.zeros(8, np.float32)
    run(kernel, {"x": x}, options=RunOptions(lanes=5))
    assert x.tolist() == [1, 2, 4, 8, 0, 0, 0, 0]


def test_an_op_without_a_function_in_the_library_is_a_defect():
    with pytest.raises(InternalError, match="no gamma for i32"):
        by_library("gamma")(i32, np.ones(1))


def test_the_library_is_there_whatever_is_imported_first():
    text = "from adstack.ir.functions import builtin; print(builtin('sin.f32').name)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "sin.f32\n"
